// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/attention.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace jetmem::kernel_log {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_about_a_shortage(const Event& event) {
  const std::string_view reason = event.text("reason");
  if (is_one_of(reason, {"permission", "missing", "misuse"})) return false;
  // The kernel's own numbers are negative.
  const std::int64_t number = event.number("errno").value_or(0);
  if (number == 1 || number == 13 || number == -1 || number == -13) return false;
  // "Memory Manager Not supported" and its like: nvmap could not be opened.
  return event.kind() != EventKind::kNvmap || !reason.empty() || event.has("function") ||
         event.has("errno") || event.has("dev") || event.has("error");
}

}  // namespace

std::string_view error_severity_name(ErrorSeverity severity) {
  constexpr std::array<std::string_view, 3> kNames{"unknown", "corrected", "uncorrected"};
  return kNames[static_cast<std::size_t>(severity)];
}

ErrorSeverity error_severity(std::string_view severity) {
  // APEI's "recoverable" is an error that was not corrected but need not stop the machine.
  if (is_one_of(severity, {"UE", "UC", "Uncorrectable", "uncorrectable", "Uncorrected",
                           "uncorrected", "recoverable", "unrecoverable", "fatal", "Fatal"})) {
    return ErrorSeverity::kUncorrected;
  }
  if (is_one_of(severity, {"CE", "Correctable", "correctable", "Corrected", "corrected", "info"})) {
    return ErrorSeverity::kCorrected;
  }
  return ErrorSeverity::kUnknown;
}

ErrorSeverity error_severity(std::string_view severity, std::string_view outcome) {
  return outcome.empty() ? error_severity(severity) : ErrorSeverity::kUncorrected;
}

bool is_gpu_library(std::string_view library) {
  return is_one_of(library, {"ggml", "ollama", "tensorrt", "argus", "libcamera", "mmal", "rknn",
                             "hailo", "vulkan", "opengl"});
}

bool may_not_sleep(std::uint64_t mode) {
  constexpr std::uint64_t kHigh = 0x20;
  constexpr std::uint64_t kWaits = 0x10 | 0x40 | 0x80 | 0x400000;  // also __GFP_IO and __GFP_FS
  // Of 4.15 and later: it wakes kswapd (0x800) and reclaims itself.
  const bool reclaims = (mode & 0xc00) == 0xc00;
  return (mode & kHigh) != 0 && (mode & kWaits) == 0 && !reclaims;
}

bool is_removable_or_image(std::string_view device) {
  for (const std::string_view kind : {"sr", "fd", "loop"}) {
    if (device.starts_with(kind) && device.size() > kind.size() && is_digit(device[kind.size()])) {
      return true;
    }
  }
  return false;
}

bool is_of_disk(std::string_view device, std::string_view disk) {
  if (disk.empty() || !take_prefix(device, disk)) return false;
  if (device.empty()) return true;
  return is_digit(disk.back()) ? !is_digit(device[0]) : !(device[0] >= 'a' && device[0] <= 'z');
}

bool needs_attention(const Event& event) {
  if (event.boolean("harmless").value_or(false) || event.boolean("fallback").value_or(false)) {
    return false;
  }
  switch (event.kind()) {
    case EventKind::kMemoryError:
      // What follows from corrected errors, which are counted themselves, and what was before.
      return !event.has("soft_offline") && !event.has("happened");
    case EventKind::kNvmap:
    case EventKind::kNvbufsurface:
      return is_about_a_shortage(event);
    case EventKind::kProgramAllocFailure:
      return is_gpu_library(event.text("library"));
    case EventKind::kSwapError:
      return event.text("op") != "swapon";
    case EventKind::kStorageError:
      if (event.has("raw_flash") && event.text("op") != "write") return false;
      return event.text("error") != "completion polled" &&
             !is_removable_or_image(event.text("dev"));
    default:
      return true;
  }
}

}  // namespace jetmem::kernel_log
