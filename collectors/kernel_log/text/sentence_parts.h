// SPDX-License-Identifier: Apache-2.0
// Wording for describe(): what an event holds, as parts of a sentence.
//
// What a log printed is untrusted, and jetmem's own sentences may stand in a log again. So that
// none of them is read as a message: no ": " comes out of an event but in quotation marks, where
// describe() replaces it if it has to; a sentence begins with no text of one but a task's name, and
// ends with none that has blanks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collectors/kernel_log/event/event.h"

namespace jetmem::kernel_log {

// A name, cut short and made one word: '_' for blanks.
std::string name_in_words(std::string_view name, std::size_t max_bytes = 40);
// Text for quotation marks: as printed, so that it is found in the log, and "..." where it was cut.
std::string quote_as_printed(std::string_view text, std::size_t max_bytes = 40);
// Text that may have several words; the sentence has words or marks of its own behind it.
std::string quote_in_words(std::string_view text, std::size_t max_bytes = 40);

// Each: `before`, the field, `after`; nothing when the event lacks the field. A `before` that ends
// with a quotation mark quotes the field as printed.
void add_name(std::string& out, const Event& event, std::string_view field, std::string_view before,
              std::string_view after = {}, std::size_t max_bytes = 40);

// "2.1 GiB"
std::string size_in_words(std::int64_t kib);
// "python3 (PID 2700)", "python3", "PID 2700" or "a process".
std::string process_in_words(const Event& event);
// "8 contiguous pages, 32 KiB with pages of 4 KiB", "a single page"
std::string order_in_words(std::int64_t order);

}  // namespace jetmem::kernel_log
