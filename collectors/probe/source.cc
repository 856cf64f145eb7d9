#include "collectors/probe/source.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kPaths{"/jetmem/probe"};

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_probe_success",
               .type = MetricType::kGauge,
               .help = "1 when memory of this kind could be had and used.",
               .labels = {"kind", "target"},
               .max_series = 32},
};

}  // namespace

std::string_view probe_state_name(ProbeState state) {
  static constexpr std::array<std::string_view, kProbeStates> kNames{
      "ok", "failed", "mismatch", "unsupported", "denied", "skipped"};
  return kNames[static_cast<std::size_t>(state)];
}

const SourceInfo ProbeSource::kInfo{
    .name = "probe",
    .what = "what jetmem-probe found when it last took memory of each kind",
    .paths = kPaths,
    .access = Access::kProgram,
    .interval = std::chrono::minutes(5),
    .shortest_interval = std::chrono::minutes(1),
    .grant = "enable the unit jetmem-probe.socket, whose program may open the GPU's devices",
    .metrics = kMetrics,
};

Result<void> ProbeSource::parse(const Snapshot& /*snapshot*/, Nanoseconds /*read_time*/) {
  return fail(Errc::kAbsent, "not written yet");
}

void ProbeSource::write(SampleWriter& /*out*/, WriteContext& /*context*/) const {}

}  // namespace jetmem
