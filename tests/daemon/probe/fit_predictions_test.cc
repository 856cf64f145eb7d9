// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/fit_predictions.h"

#include <gtest/gtest.h>

#include "report/device/sample_set.h"

namespace jetmem {
namespace {

ProbeRun::Probe probe(const char* kind, ProbeState state, const char* error = "",
                      const char* target = "") {
  ProbeRun::Probe out;
  out.kind = kind;
  out.target = target;
  out.state = state;
  out.error = error;
  return out;
}

TEST(FitPredictions, AreHeldAgainstWhatHappened) {
  DeviceNow now;
  const std::vector<std::pair<std::string, double>> series{
      {"jetmem_meminfo_MemAvailable_bytes", 1 << 30},
      {"jetmem_meminfo_MemFree_bytes", 1 << 20},
      {"jetmem_gpu_free_hidden_ratio", 0.5}};
  now.samples = SampleSet::of(series);
  FitPredictions predictions;
  predictions.predict(now, 64 << 20);
  predictions.happened(probe("pinned", ProbeState::kOk));
  predictions.happened(probe("pinned", ProbeState::kFailed, "CUDA_ERROR_OUT_OF_MEMORY"));
  predictions.happened(probe("device", ProbeState::kMismatch));
  predictions.happened(probe("dmabuf", ProbeState::kFailed, "ENOMEM", "system"));
  predictions.happened(probe("dmabuf", ProbeState::kOk, "", "linux,cma"));
  // Memory decided nothing.
  predictions.happened(probe("pinned", ProbeState::kFailed, "CUDA_ERROR_NO_DEVICE"));
  predictions.happened(probe("pinned", ProbeState::kSkipped));
  predictions.happened(probe("managed", ProbeState::kOk));
  predictions.happened(probe("dmabuf", ProbeState::kOk, "", "udmabuf"));
  predictions.happened(probe("device", ProbeState::kOk, "", "gpu1"));
  SampleTable table;
  SampleWriter out(table, table.add_section("self"), std::chrono::seconds(1));
  predictions.write(out);
  out.finish();
  const auto value = [&](const std::string& predicted, const std::string& happened) {
    return table.value_of("jetmem_fits_predictions_total{happened=\"" + happened +
                          "\",predicted=\"" + predicted + "\"}");
  };
  EXPECT_EQ(value("now", "allocated"), 1);
  EXPECT_EQ(value("now", "refused"), 2);
  EXPECT_EQ(value("after_making_room", "allocated"), 1);
  EXPECT_EQ(value("unknown", "allocated"), 1);
  EXPECT_EQ(value("no", "refused"), 0);
}

}  // namespace
}  // namespace jetmem
