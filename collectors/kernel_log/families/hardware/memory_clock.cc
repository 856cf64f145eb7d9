// SPDX-License-Identifier: Apache-2.0
// The memory's clock and bandwidth: the external memory controller (EMC), NVIDIA's bandwidth
// manager and isochronous memory manager, interconnects, devfreq of memory.
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 15> kMemoryClockAnchors{"bwmgr",
                                                               "isomgr",
                                                               "-emc ",
                                                               "external-memory-controller",
                                                               "icc_write",
                                                               "icc_read",
                                                               "-ddrc",
                                                               "emc clock",
                                                               "emc_freq",
                                                               "EMC DVFS",
                                                               "-devfreq ",
                                                               "dmcfreq",
                                                               "memory timing",
                                                               "iso bandwidth",
                                                               "timing rate mismatch"};

bool is_memory_clock(const DriverLine& line, const Words& words) {
  if (is_driver(line, {"bwmgr", "isomgr", "tegra-bwmgr"}) || contains(line.driver, "-emc") ||
      contains(line.function, "isomgr") || contains(line.function, "bwmgr")) {
    return true;
  }
  if (contains(line.dev, "external-memory-controller")) return true;
  if (contains(line.driver, "ddrc") || contains(line.driver, "dmcfreq") ||
      contains(line.driver, "dmc-devfreq")) {
    return true;
  }
  return words.has_any({"icc_write", "icc_read", "emc clock", "emc_freq", "memory timing",
                        "iso bandwidth", "timing rate mismatch"});
}

Piece decode_memory_clock(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  DriverLine line = driver_line(text);
  if (!line.has_head) return {};
  const Words words(line.text);
  if (!is_memory_clock(line, words)) return {};
  const bool fails = reports_failure(words) || reports_timeout(words) ||
                     words.has_any({"couldn't", "deadlock", "error ", "no timing for", "invalid",
                                    "no memory timing", "is not available", "mismatch"});
  if (!fails || words.has_any({"-517", "defer", "debugfs", "ram code"})) return {};
  event.reset(EventKind::kMemoryClock);
  set_if(event, "dev", line.dev);
  if (line.dev.empty()) set_if(event, "driver", line.driver);
  set_if(event, "function", line.function);
  event.set_text("error", line.text);
  if (!contains_any(text, kMemoryClockAnchors)) return {};
  return {.role = Role::kWhole, .by_words = true};
}

void describe_memory_clock(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kMemoryClock) return;
  out += "the memory clock or bandwidth could not be set";
  add_name(out, event, "dev", " by ");
  add_name(out, event, "driver", " by ");
  add_quote(out, event, "error", ", \"", "\"", 120);
}

}  // namespace

const Family kMemoryClock{.name = "memory_clock",
                          .anchors = kMemoryClockAnchors,
                          .decode = decode_memory_clock,
                          .describe = describe_memory_clock};

}  // namespace jetmem::kernel_log
