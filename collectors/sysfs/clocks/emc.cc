// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/clocks/emc.h"

#include <algorithm>

#include "collectors/sysfs/one_value.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem::clocks {

bool EmcParser::take(const FileText& file, Record record) {
  const auto is_it = [&](const EmcFile& emc) { return emc.path == file.path; };
  const auto* found = std::find_if(kEmcFiles.begin(), kEmcFiles.end(), is_it);
  if (found == kEmcFiles.end()) found = &kFirmwareActivity;
  if (!is_it(*found)) return false;
  if (found->value == EmcValue::kCap) is_tegra_ = true;
  Raw& raw = raw_[static_cast<std::size_t>(found->value)];
  if (raw.value) return true;
  raw.record = record;
  if (file.ok()) raw.value = one_u64(file.text);
  return true;
}

std::optional<std::uint64_t> EmcParser::value(EmcValue which, bool is_expected) {
  const Raw& raw = raw_[static_cast<std::size_t>(which)];
  if (raw.value && *raw.value <= kNoClock) {
    values_.found();
    return raw.value;
  }
  if (raw.value) {
    values_.missing("placeholder");
  } else if (raw.record == kNone) {
    if (is_expected && is_tegra_) values_.missing("debugfs_absent");
  } else if (const FileText file = values_.file(raw.record); file.ok()) {
    values_.missing(raw.record);
  } else if (is_tegra_) {
    const bool denied_debugfs =
        is_denied(file.error) && file.path.starts_with("/sys/kernel/debug/");
    if (!denied_debugfs) {
      values_.missing(raw.record);
    } else if (is_expected) {
      // Where it is not, nobody knows whether it is there.
      values_.missing("debugfs_denied", raw.record);
    }
  }
  return std::nullopt;
}

EmcParser::Rates EmcParser::finish(bool clock_expected) {
  const Rates rates{value(EmcValue::kRate, clock_expected), value(EmcValue::kMin, clock_expected),
                    value(EmcValue::kMax, clock_expected)};
  const auto locked = value(EmcValue::kLocked, false);
  const auto cap = value(EmcValue::kCap, false);
  out_.raw[0] = value(EmcValue::kRaw0, false);
  out_.raw[1] = value(EmcValue::kRaw1, false);
  const auto activity = value(EmcValue::kActivity, !out_.raw[0] && !out_.raw[1]);

  if (locked && *locked <= 1) {
    out_.locked = *locked == 1;
  } else if (locked) {
    values_.missing("malformed");
  }
  if (cap && *cap > 0) out_.cap = cap;
  if (activity) finish_activity(*activity, rates.now);
  return rates;
}

void EmcParser::finish_activity(std::uint64_t kilohertz, const std::optional<std::uint64_t>& rate) {
  if (kilohertz > kNoClock / 1000) {
    values_.missing("placeholder");
    return;
  }
  const std::uint64_t hertz = kilohertz * 1000;
  out_.activity = hertz;
  if (!rate) return;
  // An average against the clock of this moment: after a step down it may exceed it.
  if (hertz <= *rate && *rate > 0) {
    out_.utilization = static_cast<double>(hertz) / static_cast<double>(*rate);
  } else {
    values_.missing("inconsistent");
  }
}

}  // namespace jetmem::clocks
