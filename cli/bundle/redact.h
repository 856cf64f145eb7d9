// SPDX-License-Identifier: Apache-2.0
// What a bundle omits: addresses, serial numbers, names of hosts and people, kernel arguments; of
// logs all that jetmem does not decode (reduce_log.h). Faults stay identifiable: physical
// addresses, IOVAs, stream IDs and process names stay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace jetmem {

struct Redacted {
  std::uint64_t addresses = 0;  // IP and MAC
  std::uint64_t ids = 0;        // UUIDs, serial numbers, keys and passwords
  std::uint64_t names = 0;      // of hosts, of people and their folders
  std::uint64_t arguments = 0;  // of the kernel
  std::uint64_t lines = 0;      // of logs
  std::uint64_t line_bytes = 0;

  void add(const Redacted& more) {
    addresses += more.addresses;
    ids += more.ids;
    names += more.names;
    arguments += more.arguments;
    lines += more.lines;
    line_bytes += more.line_bytes;
  }
};

// Lines of a log, or of notes. `ids`: UUIDs as well; not where a boot's ID is what joins two files.
std::string redact_text(std::string_view text, Redacted& counts, bool ids = true);

// A kernel command line with the words about memory, the IOMMU, the console log and power; of the
// others "NAME=<omitted>", or only their number where they are no more than a word.
std::string redact_command_line(std::string_view text, Redacted& counts);

// The same for the texts in JSON: the line rules must not eat a quote or a brace.

// Redacts every string except values of keys that end in "boot_id", which joins files; keys stay.
// `indent` as in nlohmann's dump: -1 is one line. Invalid JSON is treated as text.
std::string redact_json(std::string_view json, Redacted& counts, int indent);

}  // namespace jetmem
