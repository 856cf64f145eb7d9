// What the families have in common: parts of lines, and wording.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectors/kernel_log/event.h"
#include "collectors/kernel_log/scan.h"

namespace jetmem::kernel_log {

// Without the "[2:   Binder:711_1:  740] " that some vendors' kernels print before each message.
std::string_view without_vendor_prefix(std::string_view text);

// The device of what dev_err() printed before its message: "21c4000.csi" of
// "imx7-csi 21c4000.csi: ". Empty when it names none.
std::string_view device_before(std::string_view prefix);

// Sets `name` to the number behind `key` ("anon-rss:"), if it is there and `unit` follows it: a
// line that was cut off in the middle of a number does not tell that number.
void set_sized(Event& event, std::string_view name, std::string_view text, std::string_view key,
               std::string_view unit);

// An untrusted name as a sentence bears it: cut short, and with '_' for blanks, so that the
// sentence cannot be read as a message of its own.
std::string short_name(std::string_view name);

// "2.1 GiB"
std::string size_in_words(std::int64_t kib);
// "python3 (PID 2700)", "python3", "PID 2700" or "a process".
std::string process_in_words(const Event& event);
// "order 3: 8 pages in a row", "order 0: a single page"
std::string order_in_words(std::int64_t order);

}  // namespace jetmem::kernel_log
