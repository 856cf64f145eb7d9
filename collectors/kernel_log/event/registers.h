// SPDX-License-Identifier: Apache-2.0
// Fault registers of ARM SMMUs, in words.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace jetmem::kernel_log {

// "translation, multiple": the names of the bits that are set, without an allocation.
class BitNames {
 public:
  void add(std::string_view name);
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 256> bytes_;
  std::size_t size_ = 0;
};

// SMMUv2, of a context bank. What is no fault (format, stalled) has no name.
BitNames fsr_faults(std::uint32_t fsr);
// SMMUv2, of the whole unit.
BitNames gfsr_faults(std::uint32_t gfsr);
// SMMUv3: errors of the unit itself.
BitNames gerror_faults(std::uint32_t gerror);

struct Fsynr0 {
  unsigned level = 0;  // of the page table
  bool write = false;
  bool privileged = false;
};
Fsynr0 fsynr0_of(std::uint32_t fsynr0);

}  // namespace jetmem::kernel_log
