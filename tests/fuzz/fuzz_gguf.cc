// SPDX-License-Identifier: Apache-2.0
#include "plan/model/gguf.h"
#include "tests/fuzz/target.h"
#include "tests/plan/model/bytes_of.h"

// Whatever the bytes are: no crash, an error names its byte, and what is taken can be counted with.
FUZZ(input) {
  const std::string text(input);
  for (const std::string& bytes : {text, "GGUF\3" + std::string(3, '\0') + text}) {
    const auto read = plan::read_gguf(plan::bytes_of(bytes));
    if (!read) {
      check(read.error().message.starts_with("byte "));
      continue;
    }
    const plan::ModelFile& model = read->model;
    check(model.weights ? *model.weights > 0 : !model.no_weights_reason.empty());
    check(!model.weights_per_token || *model.weights_per_token >= 0);
    check(model.cache || !model.no_cache_reason.empty());
    const plan::LanguageModel use = plan::language_model_of(model, {8192, nullptr, 1});
    check(!use.cache || (*use.least_cache >= 0 && *use.least_cache <= *use.cache));
  }
}
