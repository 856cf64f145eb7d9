// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/published_sources.h"

#include <algorithm>

#include "collectors/device/boot/marks.h"

namespace jetmem {
namespace {

constexpr std::string_view kBoot = "boot";

bool set(std::string& to, std::string_view text) {
  if (to == text) return false;
  to = text;
  return true;
}

template <class T>
bool set(T& to, T value) {
  if (to == value) return false;
  to = value;
  return true;
}

bool set_absent(std::vector<std::pair<std::string, std::uint64_t>>& to,
                const AbsentValues& absent) {
  bool changed = false;
  std::size_t used = 0;
  for (const AbsentValues::Count& count : absent.counts()) {
    if (count.count == 0) continue;
    if (used == to.size()) to.emplace_back();
    changed |= set(to[used].first, count.reason);
    changed |= set(to[used].second, count.count);
    ++used;
  }
  if (used == to.size()) return changed;
  to.resize(used);
  return true;
}

bool take(SourceNow& to, const SourceInfo& info, const SourceStatus& status,
          const AbsentValues& absent) {
  bool changed = set(to.name, info.name);
  changed |= set(to.what, info.what);
  changed |= set(to.state, state_name(status.state));
  changed |= set(to.reason, std::string_view(status.reason));
  const bool is_denied = status.state == SourceState::kDenied;
  changed |= set(to.grant, is_denied ? info.grant : std::string_view());
  changed |= set(to.skipped, std::string_view(status.skipped));
  changed |= set(to.stale, status.stale);
  changed |= set(to.interval_seconds, static_cast<double>(status.interval.count()) / 1000);
  changed |= set_absent(to.absent_values, absent);
  return changed;
}

}  // namespace

void SourceStatesBuffer::notify(const Sampler& sampler) {
  bool changed = now_.sources.size() != sampler.size();
  now_.sources.resize(sampler.size());
  for (std::size_t i = 0; i < sampler.size(); ++i) {
    changed |= take(now_.sources[i], sampler.info(i), sampler.status(i), sampler.absent(i));
  }
  static const std::vector<Processes::Newcomer> kNone;
  const auto* processes = sampler.readings().get<Processes>();
  const auto& newcomers =
      processes == nullptr || processes->newcomers == nullptr ? kNone : *processes->newcomers;
  if (now_.newcomers != newcomers) {
    now_.newcomers = newcomers;
    changed = true;
  }
  if (!changed) return;
  ++now_.changes;
  buffer_.back() = now_;
  buffer_.publish();
}

ProgramTextsBuffer::ProgramTextsBuffer(const Sampler& sampler) {
  const auto is_reported = [&](std::size_t i) {
    return sampler.info(i).access == Access::kProgram || sampler.info(i).name == kBoot;
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < sampler.size(); ++i) count += is_reported(i) ? 1U : 0U;
  sources_ = std::vector<Source>(count);
  count = 0;
  for (std::size_t i = 0; i < sampler.size(); ++i) {
    if (is_reported(i)) sources_[count++].name = sampler.info(i).name;
  }
}

void ProgramTextsBuffer::notify(std::string_view source, const Snapshot* snapshot) {
  const auto at = std::find_if(sources_.begin(), sources_.end(),
                               [&](const Source& each) { return each.name == source; });
  if (at == sources_.end()) return;
  PublishedText& out = at->buffer.back();
  out.used = 0;
  out.left_out = 0;
  std::size_t left = kMaxBytes / sources_.size();
  for (std::size_t i = 0; snapshot != nullptr && i < snapshot->size(); ++i) {
    const FileText file = (*snapshot)[i];
    // Half a text says something else than the whole.
    if (!file.ok()) continue;
    if (source == kBoot && !file.path.starts_with(boot::kStateDirectory)) continue;
    if (file.text.size() > left) {
      ++out.left_out;
      continue;
    }
    left -= file.text.size();
    if (out.used == out.files.size()) out.files.emplace_back();
    out.files[out.used].path = file.path;
    out.files[out.used].text = file.text;
    ++out.used;
  }
  at->buffer.publish();
}

}  // namespace jetmem
