#include "history/column.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "history/bytes.h"
#include "history/deflate.h"

namespace jetmem {
namespace {

// Byte 0: one of these, and the two flags.
enum Coding : unsigned {
  kNothing = 0,
  kSameBits = 1,    // one double for all
  kSameNumber = 2,  // one whole or decimal number for all
  kNumbers = 3,     // whole or decimal numbers: differences
  kBits = 4,        // each xor the one before, byte planes
  kCodingMask = 0x0f,
  kSparse = 0x10,    // a bit for each step comes first
  kDeflated = 0x20,  // what is behind byte 0 is compressed
};

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
// Whole numbers up to here are exact as doubles, and so are their differences as int64.
constexpr double kMostExact = 9007199254740992.0;  // 2^53
// What the kernel prints with decimals: percents, milli-degrees, pressure.
constexpr std::array<double, 7> kScales{1, 10, 100, 1000, 10'000, 100'000, 1'000'000};

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

std::optional<std::int64_t> scaled(double value, double scale) {
  const double wanted = std::round(value * scale);
  if (!(std::fabs(wanted) < kMostExact)) return std::nullopt;
  const auto number = static_cast<std::int64_t>(wanted);
  // Only what comes back bit by bit: not -0, not what merely looks round.
  if (bits_of(static_cast<double>(number) / scale) != bits_of(value)) return std::nullopt;
  return number;
}

// The smallest scale under which all are whole; empty: there is none.
std::optional<std::size_t> scale_of(std::span<const double> values,
                                    std::vector<std::int64_t>& numbers) {
  std::size_t scale = 0;
  numbers.clear();
  while (numbers.size() < values.size()) {
    const auto number = scaled(values[numbers.size()], kScales[scale]);
    if (number) {
      numbers.push_back(*number);
      continue;
    }
    if (++scale == kScales.size()) return std::nullopt;
    numbers.clear();
  }
  return scale;
}

void put_numbers(std::span<const std::int64_t> numbers, std::size_t scale, bool same,
                 std::string& out) {
  std::uint64_t all = 0;
  for (const std::int64_t number : numbers) all |= static_cast<std::uint64_t>(number);
  // Bytes counted in pages or KiB: the zeros below are said once.
  const int shift = all == 0 ? 0 : std::min(std::countr_zero(all), 31);
  out.push_back(static_cast<char>((scale << 5) | static_cast<unsigned>(shift)));
  std::int64_t before = 0;
  for (const std::int64_t number : numbers) {
    const std::int64_t small = number >> shift;
    put_varint(zigzag(small - before), out);
    before = small;
    if (same) return;
  }
}

bool take_numbers(std::string_view& bytes, bool same, std::span<double> values) {
  if (bytes.empty()) return false;
  const auto head = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  const std::size_t scale = head >> 5;
  const unsigned shift = head & 31U;
  if (scale >= kScales.size()) return false;
  std::int64_t before = 0;
  for (double& value : values) {
    if (!same || &value == &values.front()) {
      std::uint64_t coded = 0;
      if (!take_varint(bytes, coded)) return false;
      // Damaged bytes may add up to anything: without sign they may.
      before = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) +
                                         static_cast<std::uint64_t>(unzigzag(coded)));
    }
    const auto number = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) << shift);
    value = static_cast<double>(number) / kScales[scale];
  }
  return true;
}

void put_bits(std::span<const double> values, std::string& out) {
  for (unsigned plane = 0; plane < 8; ++plane) {
    std::uint64_t before = 0;
    for (const double value : values) {
      const std::uint64_t bits = bits_of(value);
      out.push_back(static_cast<char>((bits ^ before) >> (8 * (7 - plane))));
      before = bits;
    }
  }
}

bool take_bits(std::string_view& bytes, std::span<double> values) {
  const std::size_t count = values.size();
  if (bytes.size() < 8 * count) return false;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    for (std::size_t plane = 0; plane < 8; ++plane) {
      bits = (bits << 8) | static_cast<unsigned char>(bytes[plane * count + i]);
    }
    before ^= bits;
    values[i] = std::bit_cast<double>(before);
  }
  bytes.remove_prefix(8 * count);
  return true;
}

std::uint32_t check_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
                                          static_cast<uInt>(bytes.size()))) &
         0xffffU;
}

// Two bytes: SQLite notices when its pages are torn, not when a bit of a value has changed.
void put_check(std::string_view bytes, std::string& out) {
  const std::uint32_t check = check_of(bytes);
  out.push_back(static_cast<char>(check));
  out.push_back(static_cast<char>(check >> 8));
}

// Leaves what was checked, one byte at least.
bool take_check(std::string_view& bytes) {
  if (bytes.size() < 3) return false;
  const std::string_view check = bytes.substr(bytes.size() - 2);
  bytes.remove_suffix(2);
  return check_of(bytes) == (static_cast<unsigned char>(check[0]) |
                             static_cast<std::uint32_t>(static_cast<unsigned char>(check[1])) << 8);
}

tl::unexpected<Error> damaged(std::string_view what) {
  return fail(Errc::kMalformed, "column: " + std::string(what));
}

}  // namespace

void encode_column(std::span<const double> values, std::string& out) {
  std::vector<double> present;
  present.reserve(values.size());
  for (const double value : values) {
    if (!std::isnan(value)) present.push_back(value);
  }
  if (present.empty()) {
    const char head = static_cast<char>(kNothing);
    out.push_back(head);
    put_check({&head, 1}, out);
    return;
  }
  std::string body;
  unsigned head = 0;
  if (present.size() < values.size()) {
    head |= kSparse;
    std::string map((values.size() + 7) / 8, '\0');
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) continue;
      map[i / 8] = static_cast<char>(static_cast<unsigned char>(map[i / 8]) | (1U << (i % 8)));
    }
    body += map;
  }
  const bool same = std::all_of(present.begin(), present.end(), [&](double value) {
    return bits_of(value) == bits_of(present.front());
  });
  std::vector<std::int64_t> numbers;
  if (const auto scale = scale_of(present, numbers)) {
    head |= same ? kSameNumber : kNumbers;
    put_numbers(numbers, *scale, same, body);
  } else if (same) {
    head |= kSameBits;
    const std::uint64_t bits = bits_of(present.front());
    for (unsigned i = 0; i < 8; ++i) body.push_back(static_cast<char>(bits >> (8 * i)));
  } else {
    head |= kBits;
    put_bits(present, body);
  }
  const std::size_t at = out.size();
  out.push_back('\0');
  if (deflate_bytes(body, out)) {
    head |= kDeflated;
  } else {
    out += body;
  }
  out[at] = static_cast<char>(head);
  put_check(std::string_view(out).substr(at), out);
}

Result<std::vector<double>> decode_column(std::string_view bytes, std::size_t steps) {
  if (!take_check(bytes)) return damaged("its check sum is wrong");
  const auto head = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  std::string inflated;
  if ((head & kDeflated) != 0) {
    auto body = inflate_bytes(bytes, steps * 11 + 64);
    if (!body) return tl::unexpected(std::move(body.error()).within("column"));
    inflated = std::move(*body);
    bytes = inflated;
  }
  std::string_view map;
  std::size_t count = steps;
  if ((head & kSparse) != 0) {
    if (bytes.size() < (steps + 7) / 8) return damaged("ends in the steps' bits");
    map = bytes.substr(0, (steps + 7) / 8);
    bytes.remove_prefix(map.size());
    count = 0;
    for (std::size_t i = 0; i < steps; ++i)
      count += (static_cast<unsigned char>(map[i / 8]) >> (i % 8)) & 1U;
  }
  std::vector<double> present(count);
  bool good = true;
  switch (head & kCodingMask) {
    case kNothing:
      if (!map.empty()) return damaged("steps without values");
      if (!bytes.empty()) return damaged("values where there are none");
      return std::vector<double>(steps, kAbsent);
    case kSameBits: {
      good = bytes.size() == 8;
      if (!good) break;
      std::uint64_t bits = 0;
      for (unsigned i = 0; i < 8; ++i) {
        bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
      }
      std::fill(present.begin(), present.end(), std::bit_cast<double>(bits));
      bytes = {};
      break;
    }
    case kSameNumber:
      good = take_numbers(bytes, true, present);
      break;
    case kNumbers:
      good = take_numbers(bytes, false, present);
      break;
    case kBits:
      good = take_bits(bytes, present);
      break;
    default:
      return damaged("unknown coding");
  }
  if (!good) return damaged("ends in the values");
  if (!bytes.empty()) return damaged("bytes behind the values");
  if (map.empty()) return present;
  std::vector<double> values(steps, kAbsent);
  std::size_t next = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    if (((static_cast<unsigned char>(map[i / 8]) >> (i % 8)) & 1U) != 0)
      values[i] = present[next++];
  }
  return values;
}

}  // namespace jetmem
