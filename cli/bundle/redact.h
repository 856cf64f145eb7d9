// What a bundle does not carry away: addresses, serial numbers, names of hosts and of people, the
// arguments of the kernel. What a fault is told by (physical addresses, IOVAs, stream IDs, names of
// processes) stays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace jetmem {

struct Redacted {
  std::uint64_t addresses = 0;  // IP and MAC
  std::uint64_t ids = 0;        // UUIDs, serial numbers
  std::uint64_t names = 0;      // of hosts, of people's folders
  std::uint64_t arguments = 0;  // of the kernel

  std::uint64_t all() const { return addresses + ids + names + arguments; }
};

// Lines of a log, or of notes. `ids`: UUIDs as well; not where a boot's ID is what joins two files.
std::string redact_text(std::string_view text, Redacted& counts, bool ids = true);

// A kernel command line with the words that say how memory, the IOMMU, the console's log and the
// power are set up; of the others only how many there were.
std::string redact_command_line(std::string_view text, Redacted& counts);

}  // namespace jetmem
