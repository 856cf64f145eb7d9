// SPDX-License-Identifier: Apache-2.0
// What the forms of drivers' messages cannot say (messages/driver-memory.yaml, storage.yaml,
// thermal.yaml).
#include <algorithm>
#include <array>
#include <string>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/hooks.h"
#include "collectors/kernel_log/event/attention.h"
#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log::hooks {

// An error, and none of a register window, which has the same number where its addresses are taken,
// of a mapping or CMA, which have entries of their own, or of USB, which is short of endpoints; nor
// what a device calls itself.
bool is_refused_memory(Event& event) {
  constexpr std::array<std::string_view, 7> kErrors{"ail",   "rror",     "nable",  "annot",
                                                    "can't", "ould not", "ouldn't"};
  constexpr std::array<std::string_view, 15> kOthers{
      "map",  "egister",   "esource",        "egion",          "IRQ",
      "irq",  "nterrupt",  "set config",     "ndpoint",        "BAR",
      "[drm", "Product: ", "Manufacturer: ", "SerialNumber: ", "req-size: "};
  const std::string_view text = event.text("text");
  return contains_any(text, kErrors) && !contains_any(text, kOthers);
}

// Nor raw flash, which has messages of its own, or an eMMC's replay-protected memory: who looks for
// file systems on all block devices reads it in vain at each boot.
bool is_of_a_disk(Event& event) {
  const std::string_view dev = event.text("dev");
  return has_a_fixed_drive(event) && !dev.starts_with("mtdblock") && !dev.ends_with("rpmb");
}

bool is_raw_flash(Event& event) { return event.text("dev").starts_with("mtdblock"); }

// Drivers of other devices print such lines, too.
bool is_of_mmc(Event& event) { return is_of_a_disk(event) && event.text("dev").starts_with("mmc"); }

// Not a drive without a medium in it, or a file that is gone: nothing is stored there.
bool has_a_fixed_drive(Event& event) {
  // A journal is named by its device and its inode, which is 8 (fs/jbd2/journal.c): "sda1-8",
  // "dm-0-8". The device "dm-8" is not.
  std::string_view dev = event.text("dev");
  if (dev.ends_with('.') || dev.ends_with(':')) dev.remove_suffix(1);
  if (dev.ends_with("-8") && dev != "dm-8") dev.remove_suffix(2);
  if (dev != event.text("dev")) event.set_text("dev", std::string(dev));
  return !is_removable_or_image(event.text("dev"));
}

// A block that could not be read or written, of a request that the block layer reported before.
bool is_of_failed_request(const Event& open, const Event& part) {
  return is_of_disk(part.text("dev"), open.text("dev"));
}

void add_lost_page(Event& open, const Event& part) {
  if (part.has("lost")) open.set_text("lost", part.text("lost"));
}

bool of_same_errno(const Event& open, const Event& part) {
  return !open.has("errno") || open.number("errno") == part.number("errno");
}

// What failed worked at the next attempt.
void came_to_nothing(Event& open, const Event& /*part*/) { open.reset(EventKind::kNone); }

// The register has eight digits; of a line that was cut off it is absent.
bool has_whole_oc_status(Event& event) {
  if (!is_whole_register(event.text("oc_status"))) event.remove("oc_status");
  return true;
}

}  // namespace jetmem::kernel_log::hooks
