// SPDX-License-Identifier: Apache-2.0
#include "cli/probe/probe_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <iterator>
#include <map>
#include <string_view>

#include "base/text/text.h"
#include "cli/draw/number_text.h"
#include "cli/draw/since.h"
#include "cli/draw/table.h"
#include "cli/text/events/event_text.h"

namespace jetmem {
namespace {

using Probe = ProbeRun::Probe;
using SizeStep = ProbeRun::SizeStep;
using Conditions = ProbeRun::Conditions;

constexpr std::size_t kNameWidth = 20;  // with more, 80 columns would not do
constexpr std::size_t kMostGroups = 64;

struct Column {
  const char* title;
  std::string_view step;
};
constexpr std::array kColumns{
    Column{"ALLOC", "allocate"},    Column{"TOUCH", "first_touch"},
    Column{"WRITE", "cpu_write"},   Column{"GPU", "gpu_read_modify_write"},
    Column{"VERIFY", "cpu_verify"}, Column{"FREE", "free"},
};

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* pattern, ...) {
  std::array<char, 256> text{};
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text.data(), text.size(), pattern, arguments);
  va_end(arguments);
  return text.data();
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string name_of(const Probe& probe) {
  return probe.target.empty() ? probe.kind : probe.kind + " " + probe.target;
}

// Underscores are for programs.
std::string spelled(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// The largest that was tried; where not even the first round went well, that.
const SizeStep* last_size_step(const Probe& probe) {
  if (!probe.size_steps.empty()) return &probe.size_steps.back();
  return probe.warm_up ? &*probe.warm_up : nullptr;
}

const ProbeRun::Step* find_step(const SizeStep& size_step, std::string_view name) {
  for (const ProbeRun::Step& step : size_step.steps) {
    if (step.step == name) return &step;
  }
  return nullptr;
}

// Empty where there are no lines.
std::string section(std::string_view title, const std::string& lines) {
  return lines.empty() ? lines : "\n" + std::string(title) + ":\n" + lines;
}

std::string table(const std::vector<const Probe*>& probes) {
  std::size_t width = std::string_view("KIND TARGET").size();
  for (const Probe* probe : probes) {
    const std::size_t size = name_of(*probe).size();
    if (size <= kNameWidth) width = std::max(width, size);
  }
  std::string out = padded("KIND TARGET", width) + format(" %-8s %8s", "STATE", "SIZE");
  for (const Column& column : kColumns) out += format(" %6s", column.title);
  out += "\n";
  std::string others;
  for (const Probe* probe : probes) {
    const SizeStep* const size_step = last_size_step(*probe);
    const std::string name = name_of(*probe);
    if (name.size() > width) out += name + "\n";
    out += padded(name.size() > width ? "" : name, width) + " ";
    out += padded(std::string(probe_state_name(probe->state)), 8);
    if (size_step != nullptr) {
      out += format(" %8s", bytes_text(size_step->bytes).c_str());
      for (const Column& column : kColumns) {
        const auto* step = find_step(*size_step, column.step);
        out += format(" %6s", step == nullptr ? "-" : latency_text(step->seconds).c_str());
      }
      std::string line;
      for (const ProbeRun::Step& step : size_step->steps) {
        const bool shown = std::any_of(kColumns.begin(), kColumns.end(), [&](const Column& column) {
          return column.step == step.step;
        });
        if (shown) continue;
        line += (line.empty() ? "" : ", ") + spelled(step.step) + " " + latency_text(step.seconds);
      }
      if (!line.empty()) others += wrapped(name + ": " + line, 2);
    }
    // No blanks at the end of a line.
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  return out + section("other steps", others);
}

// Failures with the driver's message, and what could not be obtained.
std::string problems(const std::vector<const Probe*>& probes, ProbeState state) {
  std::string out;
  for (const Probe* probe : probes) {
    if (probe->state != state) continue;
    std::string text = name_of(*probe) + ":";
    if (!probe->failed_step.empty()) {
      text += " " + spelled(probe->failed_step);
      if (probe->failed_bytes > 0) text += " of " + bytes_text(probe->failed_bytes);
      text += ":";
    }
    text += " " + (probe->reason.empty() ? std::string("no reason given") : probe->reason);
    if (!probe->error.empty() && state == ProbeState::kFailed &&
        probe->reason.find(probe->error) == std::string::npos) {
      text += " (" + probe->error + ")";
    }
    out += wrapped(text, 2);
  }
  return section(probe_state_name(state), out);
}

// Of those that `reason_of` has a reason of; kinds that share it are listed together.
template <class ReasonOf>
std::string by_reason(const std::vector<const Probe*>& probes, const ReasonOf& reason_of) {
  std::vector<std::pair<std::string, std::string>> groups;
  for (const Probe* probe : probes) {
    const std::string reason = reason_of(*probe);
    if (reason.empty()) continue;
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.first == reason; });
    if (same != groups.end()) {
      same->second += ", " + name_of(*probe);
    } else if (groups.size() < kMostGroups) {
      groups.emplace_back(reason, name_of(*probe));
    }
  }
  std::string out;
  for (const auto& [reason, names] : groups) out += wrapped(names + ": " + reason, 2);
  return out;
}

std::string left_alone(const std::vector<const Probe*>& probes, ProbeState state,
                       const std::string& grant) {
  std::string out = by_reason(probes, [&](const Probe& probe) {
    if (probe.state != state) return std::string();
    return probe.reason.empty() ? "no reason given" : probe.reason;
  });
  if (!out.empty() && !grant.empty()) out += wrapped("to allow it: " + grant, 2);
  return section(probe_state_name(state), out);
}

std::string ratios(const std::vector<const Probe*>& probes) {
  std::string out;
  for (const Probe* probe : probes) {
    for (const ProbeRun::Ratio& ratio : probe->ratios) {
      std::string text = name_of(*probe) + ": " + spelled(ratio.ratio) + " ";
      text += ratio.value ? format("%.3g", *ratio.value) : "not measured";
      if (!ratio.judgement.empty()) text += ", " + spelled(ratio.judgement);
      if (!ratio.expected.empty()) text += " (expected: " + ratio.expected + ")";
      out += wrapped(text, 2);
    }
  }
  return section("ratios", out);
}

std::string pools(const std::vector<const Probe*>& probes) {
  std::string out;
  for (const Probe* probe : probes) {
    if (!probe->pool) continue;
    std::string text;
    const auto add = [&](const std::optional<ProbeRun::PoolUse>& use, const char* when) {
      if (!use) return;
      text += std::string(text.empty() ? "" : "; ") + when + " " + bytes_text(use->reserved_bytes) +
              " reserved, " + bytes_text(use->used_bytes) + " used";
    };
    add(probe->pool->allocated, "allocated");
    add(probe->pool->freed, "freed");
    add(probe->pool->trimmed, "trimmed");
    if (text.empty()) text = "the driver does not report its size";
    out += wrapped(name_of(*probe) + ": " + text, 2);
  }
  return section("memory pool", out);
}

std::string bisections(const std::vector<const Probe*>& probes) {
  std::string out;
  for (const Probe* probe : probes) {
    if (!probe->bisection) continue;
    const ProbeRun::Bisection& found = *probe->bisection;
    std::string text = name_of(*probe) + ": ";
    if (found.largest_bytes == 0) {
      text += "not even the smallest size could be allocated";
    } else {
      text += bytes_text(found.largest_bytes) + " could be allocated";
    }
    text += ", maximum tried " + bytes_text(found.limit_bytes) + ", " +
            (found.tries == 1 ? "1 try" : std::to_string(found.tries) + " tries");
    if (found.error == "ETIMEDOUT") {
      text += "; ran out of time";
    } else if (!found.error.empty()) {
      text += "; larger failed: " + found.error;
    }
    out += wrapped(text, 2);
  }
  return section("largest size", out);
}

std::string megahertz(const std::optional<double>& hertz) {
  return hertz ? format("%.0f", *hertz / 1e6) : "-";
}

bool is_known(const Conditions& now) {
  return now.cpu_min_hertz || now.cpu_max_hertz || now.gpu_hertz || now.emc_hertz ||
         now.temperature_celsius || now.power_mode;
}

void add_conditions(Table& table, const std::string& when, const Conditions& now) {
  std::string cpu = megahertz(now.cpu_min_hertz);
  if (megahertz(now.cpu_max_hertz) != cpu) cpu += " to " + megahertz(now.cpu_max_hertz);
  const std::string heat = now.temperature_celsius ? format("%.1f", *now.temperature_celsius) : "-";
  const std::string mode = now.power_mode ? std::to_string(*now.power_mode) : "-";
  table.row({when, cpu, megahertz(now.gpu_hertz), megahertz(now.emc_hertz), heat, mode,
             now.hottest_zone.empty() ? "-" : now.hottest_zone});
}

std::string conditions(const std::vector<ProbeRun>& runs) {
  constexpr auto kRight = Table::Align::kRight;
  Table table{{"CONDITIONS"},    {"CPU MHz"}, {"GPU MHz", kRight}, {"EMC MHz", kRight},
              {"deg C", kRight}, {"MODE"},    {"HOTTEST ZONE"}};
  std::map<std::string, std::string> absent;
  for (const ProbeRun& run : runs) {
    const std::string group(run.group());
    if (is_known(run.before) || is_known(run.after)) {
      add_conditions(table, group + " before", run.before);
      add_conditions(table, group + " after", run.after);
    }
    for (const Conditions* now : {&run.before, &run.after}) {
      absent.insert(now->absent.begin(), now->absent.end());
    }
  }
  std::string out = "\n" + (table.rows() > 0 ? table.text() : "conditions: unknown\n");
  std::map<std::string, std::string> by_reason;
  for (const auto& [what, why] : absent) {
    std::string& names = by_reason[why];
    names += (names.empty() ? "" : ", ") + spelled(what);
  }
  for (const auto& [why, names] : by_reason) out += wrapped("no " + names + ": " + why, 2);
  return out;
}

// Which runs these were: those of a captured tree may be old.
std::string moments(const std::vector<ProbeRun>& runs) {
  std::string out = "\n";
  for (const ProbeRun& run : runs) {
    out += wrapped(std::string(run.group()) + ": " + local_time(run.started_wall) + ", took " +
                       latency_text(run.seconds) + ", jetmem-probe " + run.version,
                   0);
  }
  return out;
}

// What loading the kernels took is not what memory costs.
std::string kernels_text(const ProbeRun::Kernels& kernels) {
  if (kernels.state != ProbeState::kOk) return "kernels not loaded: " + kernels.reason;
  std::string text =
      kernels.code == "cubin" ? "kernels loaded as machine code in " : "kernels compiled in ";
  text += latency_text(kernels.seconds);
  const char* separator = "; memory ";
  const auto add = [&](const std::optional<std::uint64_t>& bytes, const char* what) {
    if (!bytes) return;
    text += separator + bytes_text(*bytes) + " " + what;
    separator = ", ";
  };
  add(kernels.peak_bytes, "at peak");
  add(kernels.resident_bytes, "kept");
  if (kernels.gpu_bytes.value_or(0) > 0) add(kernels.gpu_bytes, "on the GPU");
  return text;
}

std::string gpu_line(const std::string& name, const ProbeRun::Gpu& gpu) {
  std::string text = name + ": ";
  if (!gpu.name.empty()) {
    text += gpu.name;
    if (!gpu.compute_capability.empty()) text += ", compute capability " + gpu.compute_capability;
    if (gpu.integrated) text += *gpu.integrated ? ", integrated" : ", with memory of its own";
    text += "; ";
  }
  text += gpu.driver.empty() ? "no driver" : "driver for CUDA " + gpu.driver;
  if (gpu.kernels) text += "; " + kernels_text(*gpu.kernels);
  std::string start;
  for (const ProbeRun::Step& step : gpu.start) {
    start += (start.empty() ? "" : ", ") + spelled(step.step) + " " + latency_text(step.seconds);
  }
  if (!start.empty()) text += "; start: " + start;
  if (gpu.state != ProbeState::kOk && text.find(gpu.reason) == std::string::npos) {
    text += "; " + std::string(probe_state_name(gpu.state)) + ": " + gpu.reason;
  }
  return "\n" + wrapped(text, 0);
}

}  // namespace

std::string latency_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto scaled = [](double value, const char* unit) {
    return format("%.*f%s", value < 9.995 ? 2 : (value < 99.95 ? 1 : 0), value, unit);
  };
  // Of a microsecond no parts: they are the clock's.
  if (seconds < 999.5e-6) return format("%.0fus", seconds * 1e6);
  if (seconds < 999.5e-3) return scaled(seconds * 1e3, "ms");
  return scaled(std::min(seconds, 9999.0), "s");
}

std::string probe_text(const std::vector<ProbeRun>& runs, const std::string& grant) {
  if (runs.empty()) return {};
  std::vector<const Probe*> all;
  for (const ProbeRun& run : runs) {
    for (const Probe& probe : run.probes) all.push_back(&probe);
  }
  // What was not even tried has its reasons below, and no place among the figures.
  std::vector<const Probe*> tried;
  std::copy_if(all.begin(), all.end(), std::back_inserter(tried), [](const Probe* probe) {
    return probe->state == ProbeState::kOk || probe->state == ProbeState::kFailed ||
           probe->state == ProbeState::kMismatch;
  });
  std::string out = tried.empty() ? "nothing was tried\n" : table(tried);
  out += problems(all, ProbeState::kMismatch) + problems(all, ProbeState::kFailed);
  out += bisections(all);
  const auto unchecked = [](const Probe& probe) { return probe.not_checked; };
  out += section("not checked", by_reason(tried, unchecked)) + pools(tried);
  out += left_alone(all, ProbeState::kDenied, grant);
  out += left_alone(all, ProbeState::kUnsupported, {}) + left_alone(all, ProbeState::kSkipped, {});
  out += ratios(all);
  for (const ProbeRun& run : runs) {
    if (run.gpu) out += gpu_line("GPU", *run.gpu);
    for (std::size_t i = 0; i < run.more_gpus.size(); ++i) {
      out += gpu_line("gpu" + std::to_string(i + 1), run.more_gpus[i]);
    }
    if (run.omitted_gpus > 0) {
      out += wrapped("not probed: " + counted(run.omitted_gpus, "more GPU"), 0);
    }
  }
  out += conditions(runs) + moments(runs);
  std::uint64_t unknown = 0;
  for (const ProbeRun& run : runs) unknown += run.unknown_states + run.repeated;
  if (unknown > 0) {
    out += wrapped(
        "not shown: " + counted(unknown, "kind") + " reported twice, or with an unknown state", 0);
  }
  return out;
}

}  // namespace jetmem
