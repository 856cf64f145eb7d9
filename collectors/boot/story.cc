#include "collectors/boot/story.h"

#include <array>
#include <ctime>

#include "collectors/boot/reset_reason.h"

namespace jetmem::boot {

std::string_view end_words(const Boot& boot) {
  switch (boot.end) {
    case DeviceEnd::kNotYet:
      return "it runs";
    case DeviceEnd::kClean:
      return "clean: jetmem was told to stop by a shutdown";
    case DeviceEnd::kUnclean:
      return "not clean: jetmem ran and was never told to stop";
    case DeviceEnd::kUnknown:
      break;
  }
  if (boot.run == RunEnd::kNotTold) {
    return "not known: jetmem was told to stop, and systemd did not say whether by a shutdown";
  }
  return "not known: jetmem had been stopped before";
}

std::string reset_words(std::string_view reason) {
  if (reason.empty()) return {};
  std::string text = "reset reason " + std::string(reason) + " (";
  return text.append(reset_cause_meaning(cause_of_reset(reason))).append(")");
}

std::string change_words(const Change& change) {
  std::string text = "the " + std::string(what_words(change.what)) + " changed";
  // A digest says nothing to anybody.
  if (change.what == What::kCommandLine || change.what == What::kSettings) return text;
  return text.append(" from ").append(change.from).append(" to ").append(change.to);
}

Story why_restarted(const History& history, std::chrono::seconds kept) {
  Story story;
  if (history.boots.empty()) {
    story.text = "no boot is known";
    return story;
  }
  const Boot& now = history.boots.back();
  const Boot* before = history.before();
  if (before == nullptr) {
    story.text =
        "this is the first boot that jetmem sees here: how the one before ended is not known";
  } else {
    story.text = "the device restarted (boot " + std::to_string(now.number) +
                 " that jetmem sees here); how the last boot that jetmem saw ended: ";
    story.text += end_words(*before);
    story.worrying = before->end == DeviceEnd::kUnclean;
    story.text += "; last seen alive " + moment_text(before->last);
    if (const auto down = seconds_down(history)) {
      story.text += ", " + duration_text(*down) + " before this boot";
      if (before->end != DeviceEnd::kClean) {
        story.text += " (jetmem writes it every " + duration_text(kept.count()) + ")";
      }
    }
  }
  if (!now.reset_reason.empty()) {
    story.text += "; " + reset_words(now.reset_reason);
    story.worrying = story.worrying || !is_ordinary(cause_of_reset(now.reset_reason));
  }
  if (!now.crash.empty()) {
    story.text += "; the kernel crashed and left a record in pstore: " + now.crash;
    story.worrying = true;
  }
  return story;
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
