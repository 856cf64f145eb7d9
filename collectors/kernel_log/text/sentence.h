// SPDX-License-Identifier: Apache-2.0
// A sentence about an event, from a pattern of the catalogue.
//
//   {dev}            a field: a number, or a text as one word; in quotation marks as it was printed
//   {size:bytes} {anon_rss_kb:kib} "2.1 GiB"; of bytes that the program rounded, size_text as printed
//   {order:order}    "8 contiguous pages, 32 KiB with pages of 4 KiB"
//   {process}        "python3 (PID 2700)", of the fields comm and pid
//   {dma_client}     "vic (stream ID 0x34)", of the fields client, sid and cbfrsynra
//   {access}         "wrote to", "read from", "accessed", by the field rw
//   {fault:words}    as several words, where the sentence goes on behind it
//   {?, frame {n}}   omitted where a field in it is absent
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collectors/kernel_log/event/event.h"

namespace jetmem::kernel_log {

// Appends the sentence. False, and nothing appended, where a field that is not in a {?} is absent.
bool say(std::string_view pattern, const Event& event, std::string& out);

struct PatternReport {
  std::string error;                     // and how to correct it; empty: nothing is wrong
  std::vector<std::string_view> fields;  // that it names
};
PatternReport examine_pattern(std::string_view pattern);

}  // namespace jetmem::kernel_log
