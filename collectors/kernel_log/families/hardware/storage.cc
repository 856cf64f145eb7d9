// SPDX-License-Identifier: Apache-2.0
// Storage that fails or hangs: block I/O errors, SD and eMMC controllers, NVMe, file systems.
#include <algorithm>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 22> kStorageAnchors{"I/O error",
                                                           "medium error, dev",
                                                           "timeout error, dev",
                                                           "transport error, dev",
                                                           "protection error, dev",
                                                           "offline error, dev",
                                                           "ADMA error",
                                                           "waiting for hardware",
                                                           "for hardware interrupt",
                                                           "timeout, abort",
                                                           "timeout, reset",
                                                           "completion polled",
                                                           "controller is down",
                                                           "fs error (device ",
                                                           "error -110 sending",
                                                           "error -110 requesting",
                                                           "error -84 transferring",
                                                           "imeout",
                                                           "timed out",
                                                           "not ready",
                                                           "nvalidation failure on direct I/O",
                                                           "Card stuck"};

Piece event_of(std::string_view dev, std::string_view error, Event& event) {
  event.reset(EventKind::kStorageError);
  set_if(event, "dev", dev);
  event.set_text("error", error);
  return {.role = Role::kWhole};
}

// A drive without a medium in it and a file that is gone: nothing is stored there.
bool is_removable(std::string_view dev) {
  for (const std::string_view name : {"sr", "fd", "loop"}) {
    if (dev.starts_with(name) && dev.size() > name.size() && is_digit(dev[name.size()]))
      return true;
  }
  return false;
}

// The kernel's words for a request that failed (blk_errors[] in block/blk-core.c). Not "operation
// not supported" and "critical target error": discards that a device does not know give them.
constexpr std::array<std::string_view, 6> kBlockErrors{
    "I/O error",        "critical medium error", "timeout error", "recoverable transport error",
    "protection error", "device offline error"};

// "blk_update_request: I/O error, dev mmcblk0, sector 1234 op 0x0", "critical medium error, dev
// nvme0n1, sector 1234 op 0x0:(READ)", "Buffer I/O error on dev sda1, logical block 0"
Piece block(std::string_view text, Event& event) {
  const auto error = std::find_if(kBlockErrors.begin(), kBlockErrors.end(),
                                  [&](std::string_view words) { return contains(text, words); });
  if (error == kBlockErrors.end()) return {};
  Scan scan(text);
  const auto before = scan.until(*error);
  // The kernel's function, on old kernels, or "Buffer"; other words quote such a line.
  const bool named = before->ends_with(": ") && is_c_name(before->substr(0, before->size() - 2));
  if (!before->empty() && *before != "Buffer " && !named) return {};
  if (!scan.literal(", dev ") && !scan.literal(" on dev ") && !scan.literal(" on device ")) {
    return {};
  }
  const std::string_view dev = scan.up_to(", ");
  if (!is_kernel_name(dev) || is_removable(dev)) return {};
  event_of(dev, *error, event);
  if (scan.literal(", sector ")) take_natural(scan, event, "sector");
  return {.role = Role::kWhole};
}

// "EXT4-fs error (device mmcblk0p1): ext4_find_entry:1455: inode #2: ..."
Piece file_system(std::string_view text, Event& event) {
  Scan scan(text);
  const auto name = scan.until("-fs error (device ");
  if (!name || !is_c_name(*name)) return {};
  const std::string_view dev = scan.up_to(")");
  if (!is_kernel_name(dev)) return {};
  return event_of(dev, "file system error", event);
}

// "mmc0: Timeout waiting for hardware interrupt.", "nvme nvme0: I/O 12 QID 3 timeout, aborting",
// "nvme nvme0: controller is down; will reset: CSTS=0xffffffff", "mmcblk0: error -110 sending
// status command"
Piece controller(std::string_view text, Event& event) {
  const DriverLine line = driver_line(text);
  if (line.dev.empty()) return {};
  const bool storage =
      line.dev.substr(0, 3) == "mmc" ||
      is_driver(line, {"nvme", "mmc", "sdhci", "ata", "sd", "usb-storage", "ufs", "ufshcd"});
  if (!storage) return {};
  constexpr std::array kErrors{
      std::pair{std::string_view("ADMA error"), std::string_view("ADMA error")},
      std::pair{std::string_view("waiting for hardware"), std::string_view("timeout")},
      std::pair{std::string_view("timeout, abort"), std::string_view("timeout")},
      std::pair{std::string_view("timeout, reset"), std::string_view("timeout")},
      std::pair{std::string_view("Card stuck being busy"), std::string_view("timeout")},
      std::pair{std::string_view("completion polled"), std::string_view("completion polled")},
      std::pair{std::string_view("controller is down"), std::string_view("controller is down")},
      std::pair{std::string_view("error -110 sending"), std::string_view("timeout")},
      std::pair{std::string_view("error -110 requesting"), std::string_view("timeout")},
      std::pair{std::string_view("error -84 transferring"), std::string_view("transfer error")}};
  for (const auto& [words, error] : kErrors) {
    if (!contains(line.text, words)) continue;
    if (contains(line.text, "Fw activation")) return {};
    event_of(line.dev, error, event);
    return {.role = Role::kWhole};
  }
  // In other words: "I/O tag 1 (0402) opcode 0x2 QID 7 timeout", "Unexpected data timeout, state
  // 3".
  const Words words(line.text);
  const bool waits =
      reports_timeout(words) && !words.has_any({"whilst initialising", "activation", "ticks",
                                                "timeout:", "_timeout", "triggered", "draining"});
  const bool absent = words.begins("device not ready");
  if (!waits && !absent) return {};
  Piece piece = event_of(line.dev, waits ? "timeout" : "not ready", event);
  piece.by_words = true;
  return piece;
}

// A page of the cache that could not be dropped after a write beside it.
Piece stale_cache(std::string_view text, Event& event) {
  if (!text.starts_with("Page cache invalidation failure on direct I/O")) return {};
  return event_of({}, "stale page cache", event);
}

Piece decode_storage(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  const Piece piece = first_piece({block, file_system, controller, stale_cache}, text, event);
  if (piece.role == Role::kNothing || !contains_any(text, kStorageAnchors)) return {};
  return piece;
}

void describe_storage(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kStorageError) return;
  out += "the storage device";
  add_name(out, event, "dev", " ");
  // The drive had finished: its interrupt was lost, and no data.
  if (event.text("error") == "completion polled") {
    out += " completed a command, but its interrupt was lost";
    return;
  }
  out += " failed";
  add_quote(out, event, "error", " (", ")");
}

}  // namespace

const Family kStorage{.name = "storage",
                      .anchors = kStorageAnchors,
                      .decode = decode_storage,
                      .describe = describe_storage};

}  // namespace jetmem::kernel_log
