// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/published_sources.h"

#include "collectors/device/boot/marks.h"

namespace jetmem {
namespace {

constexpr std::string_view kBoot = "boot";

SourceNow source_now(const SourceInfo& info, const SourceStatus& status,
                     const AbsentValues& absent) {
  SourceNow out;
  out.name = info.name;
  out.what = info.what;
  out.state = state_name(status.state);
  out.reason = status.reason;
  if (status.state == SourceState::kDenied) out.grant = info.grant;
  out.skipped = status.skipped;
  out.stale = status.stale;
  out.interval_seconds = static_cast<double>(status.real_interval().count()) / 1000;
  for (const AbsentValues::Count& each : absent.counts()) {
    if (each.count > 0) out.absent_values.emplace_back(each.reason, each.count);
  }
  return out;
}

}  // namespace

PublishedSources sources_now(const Sampler& sampler) {
  PublishedSources out;
  for (std::size_t i = 0; i < sampler.size(); ++i) {
    out.sources.push_back(source_now(sampler.info(i), sampler.status(i), sampler.absent(i)));
  }
  const auto* const processes = sampler.readings().get<Processes>();
  if (processes != nullptr && processes->newcomers != nullptr) {
    out.newcomers = *processes->newcomers;
  }
  out.cma_map = cma_map_of(sampler.readings());
  return out;
}

ProgramTexts::ProgramTexts(const Sampler& sampler) {
  for (std::size_t i = 0; i < sampler.size(); ++i) {
    const SourceInfo& info = sampler.info(i);
    if (info.access == Access::kProgram || info.name == kBoot) sources_.try_emplace(info.name);
  }
}

void ProgramTexts::take(std::string_view source, const Snapshot* snapshot) {
  const auto at = sources_.find(source);
  if (at == sources_.end()) return;
  auto out = std::make_shared<ProgramText>();
  std::size_t left = kMaxBytes / sources_.size();
  for (std::size_t i = 0; snapshot != nullptr && i < snapshot->size(); ++i) {
    const FileText file = (*snapshot)[i];
    // Half a text says something else than the whole.
    if (!file.ok()) continue;
    if (source == kBoot && !file.path.starts_with(boot::kStateDirectory)) continue;
    if (file.text.size() > left) {
      ++out->left_out;
      continue;
    }
    left -= file.text.size();
    out->files.emplace_back(file.path, file.text);
  }
  at->second.publish(std::move(out));
}

std::vector<std::shared_ptr<const ProgramText>> ProgramTexts::newest() const {
  std::vector<std::shared_ptr<const ProgramText>> out;
  for (const auto& [name, text] : sources_) out.push_back(text.newest());
  return out;
}

}  // namespace jetmem
