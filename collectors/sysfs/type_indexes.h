// SPDX-License-Identifier: Apache-2.0
// Labels for things that the kernel numbers anew at each boot and that may come and go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace jetmem {

// Tells things of one type apart for as long as the process lives. By their place among those
// present now, a zone that vanishes would hand its series to the one behind it.
class TypeIndexes {
 public:
  // Of more things than `bound` the one not seen for longest is forgotten. So that none is that
  // was there a reading ago, `bound` is more than twice what a reading can hold.
  explicit TypeIndexes(std::size_t bound) : bound_(bound) {}

  void next_reading() { ++reading_; }
  // The index that this type and number had before; else the next that its type has not used.
  std::uint32_t of(std::string_view type, std::uint32_t number);

 private:
  struct Entry {
    std::string type;
    std::uint32_t number = 0;
    std::uint32_t index = 0;
    std::uint64_t seen = 0;
  };
  std::size_t bound_;
  std::uint64_t reading_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace jetmem
