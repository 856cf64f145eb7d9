// SPDX-License-Identifier: Apache-2.0
// The first screen: what is wrong, who is behind it, since when, and what to type next.
//
// At most kScreenLines lines on a terminal of whatever width, none wider than that, and no word
// cut: a field that does not fit is omitted, and where lines are too many, the least important
// parts. `jetmem --all` has the rest.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/draw/terminal.h"
#include "report/status/status_answer.h"

namespace jetmem {

inline constexpr std::size_t kScreenLines = 24;

// "jetmem alerts" as the command that looks at the same device as the screen.
using CommandFor = std::function<std::string(std::string command)>;

std::string status_screen(const StatusAnswer& answer, const ScreenStyle& style,
                          const CommandFor& command_for = std::identity());

// Its parts, which `status --all` and `jetmem watch` have too. `lines`: how many a part may take;
// 0: all fields with their reasons.

// `of`: with the address or path that was looked at.
std::string device_line(const StatusAnswer& answer, const ScreenStyle& style, std::size_t lines,
                        bool of);
// The bar of the memory with its legend; not `all`: of that the largest parts, on one line.
std::string budget_text(const MemoryBudget& budget, const ScreenStyle& style, bool all);
std::string memory_line(const StatusAnswer& answer, const ScreenStyle& style,
                        std::string_view label, std::size_t lines);
// The tightest area; 0: the areas, each with a bar.
std::string cma_line(const CmaAnswer& cma, const ScreenStyle& style, std::size_t lines,
                     const CommandFor& command_for);
std::string gpu_line(const StatusAnswer& answer, const ScreenStyle& style, std::size_t lines);
std::string thermal_line(const ThermalAnswer& thermal, const ScreenStyle& style, std::size_t lines);
std::string fault_lines(const StatusAnswer& answer, const ScreenStyle& style, std::size_t lines,
                        const CommandFor& command_for);
// How many there are, and each in so many lines; 0: those behind the verdict with what to do.
std::string alerts_list(const StatusAnswer& answer, const ScreenStyle& style, std::size_t lines,
                        const CommandFor& command_for);

struct ScreenPart {
  int rank = 0;  // the largest is dropped first; 0: never
  std::string text;
};
// Those that fit into so many lines.
std::string fitted(std::vector<ScreenPart> parts, std::size_t most);

// "smmu_context_fault: 71,943 since boot, of these 71,781 not printed by the kernel; last 3s ago".
std::string fault_text(const StatusAnswer::Fault& fault);
// "3s ago: GPU MMU fault ... (x3 over 10s)".
std::string event_sentence(const StatusEvent& event);
// The area that a frame fits least into, else the fullest; null where there is none.
const CmaAnswer::Area* tightest_area(const CmaAnswer& cma);
// "3s ago", "before this boot, 2026-11-25 02:11:47"; empty: nobody knows.
std::string last_seen_text(const std::optional<double>& age, const std::optional<double>& wall,
                           bool before_this_boot);

}  // namespace jetmem
