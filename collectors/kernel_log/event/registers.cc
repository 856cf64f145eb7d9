// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/registers.h"

#include <algorithm>
#include <span>

namespace jetmem::kernel_log {
namespace {

struct Bit {
  unsigned bit;
  std::string_view name;
};

constexpr Bit kFsr[] = {{1, "translation"},        {2, "access flag"},
                        {3, "permission"},         {4, "external"},
                        {5, "TLB match conflict"}, {6, "TLB lock"},
                        {7, "address size"},       {8, "unsupported upstream transaction"},
                        {31, "multiple"}};

constexpr Bit kGfsr[] = {{0, "invalid context"},
                         {1, "unidentified stream"},
                         {2, "stream match conflict"},
                         {3, "unimplemented context bank"},
                         {4, "unimplemented context interrupt"},
                         {5, "configuration access"},
                         {6, "external"},
                         {7, "permission"},
                         {8, "unsupported upstream transaction"},
                         {31, "multiple"}};

constexpr Bit kGerror[] = {{0, "command queue"},
                           {2, "event queue abort"},
                           {3, "page request queue abort"},
                           {4, "command queue MSI abort"},
                           {5, "event queue MSI abort"},
                           {6, "page request queue MSI abort"},
                           {7, "global error MSI abort"},
                           {8, "service failure mode"}};

BitNames names_of(std::span<const Bit> bits, std::uint32_t value) {
  BitNames names;
  for (const Bit& bit : bits) {
    if ((value >> bit.bit & 1U) != 0) names.add(bit.name);
  }
  return names;
}

}  // namespace

void BitNames::add(std::string_view name) {
  const std::string_view comma = size_ == 0 ? "" : ", ";
  if (bytes_.size() - size_ < comma.size() + name.size()) return;
  char* end = std::copy(comma.begin(), comma.end(), bytes_.data() + size_);
  end = std::copy(name.begin(), name.end(), end);
  size_ = static_cast<std::size_t>(end - bytes_.data());
}

BitNames fsr_faults(std::uint32_t fsr) { return names_of(kFsr, fsr); }
BitNames gfsr_faults(std::uint32_t gfsr) { return names_of(kGfsr, gfsr); }
BitNames gerror_faults(std::uint32_t gerror) { return names_of(kGerror, gerror); }

Fsynr0 fsynr0_of(std::uint32_t fsynr0) {
  return {.level = fsynr0 & 3U,
          .write = (fsynr0 >> 4 & 1U) != 0,
          .privileged = (fsynr0 >> 5 & 1U) != 0};
}

}  // namespace jetmem::kernel_log
