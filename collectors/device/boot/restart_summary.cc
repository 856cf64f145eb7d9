// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/restart_summary.h"

#include <array>
#include <ctime>

#include "collectors/device/boot/reset_reason.h"

namespace jetmem::boot {

std::string_view end_text(const Boot& boot) {
  switch (boot.end) {
    case DeviceEnd::kNotYet:
      return "it runs";
    case DeviceEnd::kClean:
      return "clean: a shutdown stopped jetmem";
    case DeviceEnd::kUnclean:
      return "not clean: nothing stopped jetmem before the device went down";
    case DeviceEnd::kUnknown:
      break;
  }
  if (boot.run == RunEnd::kNotReported) {
    return "unknown: jetmem was stopped, and systemd did not report whether by a shutdown";
  }
  return "not known: jetmem had been stopped before";
}

std::string reset_text(std::string_view reason) {
  if (reason.empty()) return {};
  std::string text = "reset reason " + std::string(reason) + " (";
  return text.append(reset_cause_meaning(cause_of_reset(reason))).append(")");
}

std::string change_text(const Change& change) {
  std::string text = "the " + std::string(what_text(change.what)) + " changed";
  // A digest says nothing to anybody.
  if (change.what == What::kCommandLine || change.what == What::kSettings) return text;
  return text.append(" from ").append(change.from).append(" to ").append(change.to);
}

RestartSummary restart_summary(const History& history, std::chrono::seconds kept) {
  RestartSummary summary;
  if (history.boots.empty()) {
    summary.text = "no boot is known";
    return summary;
  }
  const Boot& now = history.boots.back();
  const Boot* before = history.before();
  if (before == nullptr) {
    summary.text =
        "this is the first boot that jetmem sees here: how the one before ended is not known";
  } else {
    summary.text = "the device restarted (boot " + std::to_string(now.number) +
                   " that jetmem sees here); how the last boot that jetmem saw ended: ";
    summary.text += end_text(*before);
    summary.worrying = before->end == DeviceEnd::kUnclean;
    summary.text += "; last seen alive " + moment_text(before->last);
    if (const auto down = seconds_down(history)) {
      summary.text += ", " + duration_text(*down) + " before this boot";
      if (before->end != DeviceEnd::kClean) {
        summary.text += " (jetmem writes it every " + duration_text(kept.count()) + ")";
      }
    }
  }
  if (!now.reset_reason.empty()) {
    summary.text += "; " + reset_text(now.reset_reason);
    summary.worrying = summary.worrying || !is_ordinary(cause_of_reset(now.reset_reason));
  }
  if (!now.crash.empty()) {
    summary.text += "; the kernel crashed and left a record in pstore: " + now.crash;
    summary.worrying = true;
  }
  return summary;
}

std::string moment_text(const Moment& moment) {
  if (!moment.plausible()) {
    return duration_text(static_cast<std::int64_t>(moment.uptime)) + " after boot (clock not set)";
  }
  const auto seconds = static_cast<std::time_t>(moment.wall);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 32> text;
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return {text.data(), n};
}

std::string duration_text(std::int64_t seconds) {
  struct Unit {
    const char* name;
    std::int64_t seconds;
  };
  constexpr std::array<Unit, 4> kUnits{{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}}};
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (seconds < kUnits[i].seconds) continue;
    std::string text = std::to_string(seconds / kUnits[i].seconds) + kUnits[i].name;
    const std::int64_t rest = seconds % kUnits[i].seconds;
    // Beside minutes seconds say nothing.
    if (i < 2 && rest >= kUnits[i + 1].seconds) {
      text += " " + std::to_string(rest / kUnits[i + 1].seconds) + kUnits[i + 1].name;
    }
    return text;
  }
  return "0s";
}

}  // namespace jetmem::boot
