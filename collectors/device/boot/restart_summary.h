// SPDX-License-Identifier: Apache-2.0
// The history in words: why the device restarted, for the journal and for `jetmem boots`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "collectors/device/boot/history.h"

namespace jetmem::boot {

struct RestartSummary {
  bool worrying = false;  // nobody asked for it, or the kernel crashed
  std::string text;       // one line, printable
};

// Why the last boot ended and this one began. `kept` is how often jetmem writes that it runs.
RestartSummary restart_summary(const History& history, std::chrono::seconds kept);
// How a boot ended: "not clean: ...".
std::string_view end_text(const Boot& boot);
// "reset reason BCCPLEXWDT (a watchdog was not fed: the system hung)"; empty without one.
std::string reset_text(std::string_view reason);
// "the kernel changed from 5.15.136-tegra to 5.15.148-tegra"
std::string change_text(const Change& change);

// "2026-11-20 02:11:40", local time; of a clock that was not set "3m after boot".
std::string moment_text(const Moment& moment);
// "2d 3h", "9m", "40s": two units at most.
std::string duration_text(std::int64_t seconds);

}  // namespace jetmem::boot
