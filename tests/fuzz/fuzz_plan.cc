// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"
#include "tests/fuzz/target.h"

// Whatever the text is: no crash, each mistake has a text, and what is taken can be counted with.
FUZZ(input) {
  const std::string text(input);
  for (const char* begin :
       {"", "cameras: [{name: a, width: 1920, height: 1080}]\n", "models:\n- name: m\n  "}) {
    const plan::ReadPlan read = plan::parse_plan("fuzz.yaml", begin + text);
    for (const ConfigError& error : read.errors) {
      check(!error.message.empty() && !describe(error).empty());
    }
    if (!read.errors.empty()) continue;
    const plan::Plan& plan = read.plan;
    check(plan.reserve >= 0 && plan.cuda_context >= 0);
    check(plan.bandwidth_share > 0 && plan.bandwidth_share <= 1);
    for (const plan::Camera& camera : plan.cameras) {
      check(camera.count != 0 && camera.width != 0 && camera.height != 0);
    }
    for (const plan::LanguageModel& model : plan.language_models) check(model.kv_cache() >= 0);
  }
}
