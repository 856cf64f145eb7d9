// SPDX-License-Identifier: Apache-2.0
#include "history/format/column.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "history/format/bytes.h"

namespace jetmem {
namespace {

// Byte 0 of a blob.
constexpr char kStored = 0;
constexpr char kCompressed = 1;
// Level 9 takes 64 KiB of memory and 8 us for a column; higher levels save less than 1 %.
constexpr int kLevel = 9;
constexpr std::size_t kMagicBytes = 4;

// The first byte of a column: the index of its scale or kBits, and flags.
constexpr unsigned kScaleMask = 0x07;
constexpr unsigned kBits = 7;
constexpr unsigned kSparse = 0x08;  // a bit for each step comes first
constexpr unsigned kSame = 0x10;    // one value for all steps
constexpr unsigned kKnownBits = 0x1f;
// The kernel prints percents, milli-degrees and pressure with decimals.
constexpr std::array<double, kBits> kScales{1, 10, 100, 1000, 10'000, 100'000, 1'000'000};

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
// Whole numbers up to here are exact as doubles, and so are their differences as int64.
constexpr double kMaxExact = 9007199254740992.0;  // 2^53
constexpr unsigned kMaxShift = 52;

enum RollUpKind : char { kFlat = 0, kSums = 1, kMeans = 2 };

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

tl::unexpected<Error> damaged(std::string_view why) {
  return fail(Errc::kMalformed, "column: " + std::string(why));
}

std::size_t max_column_bytes(std::size_t steps) { return 16 + 9 * steps; }

// Appends body, compressed if that is shorter, between byte 0 and the checksum.
void pack(std::string_view body, std::string& out) {
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd(ZSTD_createCCtx(),
                                                                               &ZSTD_freeCCtx);
  const std::size_t begin = out.size();
  if (zstd != nullptr) {
    ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_contentSizeFlag, 0);
    // kCompressed takes the place of the magic number's last byte.
    out.resize(begin + kMagicBytes + body.size());
    const std::size_t size = ZSTD_compress2(zstd.get(), out.data() + begin, out.size() - begin,
                                            body.data(), body.size());
    if (ZSTD_isError(size) == 0 && size < kMagicBytes + body.size()) {
      out.resize(begin + size);
      out.erase(begin, kMagicBytes - 1);
      out[begin] = kCompressed;
    } else {
      out.resize(begin);
    }
  }
  if (out.size() == begin) {
    out.push_back(kStored);
    out += body;
  }
  // SQLite notices torn pages, but not a changed bit of a value.
  const std::uint16_t check = column_checksum(std::string_view(out).substr(begin));
  out.push_back(static_cast<char>(check));
  out.push_back(static_cast<char>(check >> 8));
}

// Allocates at most `max_bytes`, whatever the blob claims to hold.
Result<std::string> unpack(std::string_view bytes, std::size_t max_bytes) {
  if (bytes.size() < 3) return damaged("too short");
  const std::string_view check = bytes.substr(bytes.size() - 2);
  bytes.remove_suffix(2);
  if (column_checksum(bytes) !=
      (static_cast<unsigned char>(check[0]) | static_cast<unsigned char>(check[1]) << 8)) {
    return damaged("checksum mismatch");
  }
  const char coding = bytes.front();
  bytes.remove_prefix(1);
  if (coding == kStored) return std::string(bytes);
  if (coding != kCompressed) return damaged("unknown coding");
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> zstd(ZSTD_createDCtx(),
                                                                               &ZSTD_freeDCtx);
  if (zstd == nullptr) return fail(Errc::kIo, "no memory for zstd");
  constexpr std::uint32_t kMagic = ZSTD_MAGICNUMBER;
  std::string frame;
  for (unsigned i = 0; i < kMagicBytes; ++i) frame.push_back(static_cast<char>(kMagic >> (8 * i)));
  frame += bytes;
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) {
    return damaged("not one zstd frame");
  }
  std::string body(max_bytes, '\0');
  const std::size_t size =
      ZSTD_decompressDCtx(zstd.get(), body.data(), body.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0) return damaged(ZSTD_getErrorName(size));
  body.resize(size);
  return body;
}

// value * scale, if dividing it again restores the value bit by bit: not for -0.
std::optional<std::int64_t> scaled(double value, double scale) {
  const double whole = std::round(value * scale);
  if (!(std::fabs(whole) < kMaxExact)) return std::nullopt;
  const auto number = static_cast<std::int64_t>(whole);
  if (bits_of(static_cast<double>(number) / scale) != bits_of(value)) return std::nullopt;
  return number;
}

// The smallest scale under which all values are whole, or kBits.
unsigned scale_of(std::span<const double> values, std::vector<std::int64_t>& numbers) {
  unsigned scale = 0;
  while (numbers.size() < values.size()) {
    const auto number = scaled(values[numbers.size()], kScales[scale]);
    if (number) {
      numbers.push_back(*number);
      continue;
    }
    numbers.clear();
    if (++scale == kBits) break;
  }
  return scale;
}

// A word for each value: what turns the value before into it.
std::vector<std::uint64_t> words_of(std::span<const double> values, unsigned& head, int& shift) {
  std::vector<std::uint64_t> words;
  std::vector<std::int64_t> numbers;
  const unsigned scale = scale_of(values, numbers);
  head |= scale;
  if (scale == kBits) {
    std::uint64_t before = 0;
    for (const double value : values)
      words.push_back(bits_of(value) ^ std::exchange(before, bits_of(value)));
  } else {
    std::uint64_t all = 0;
    for (const std::int64_t number : numbers) all |= static_cast<std::uint64_t>(number);
    shift = all == 0 ? 0 : std::countr_zero(all);  // sizes in pages or KiB
    std::int64_t before = 0;
    for (const std::int64_t number : numbers) {
      words.push_back(zigzag((number >> shift) - std::exchange(before, number >> shift)));
    }
  }
  const bool is_same = std::all_of(values.begin(), values.end(), [&](double value) {
    return bits_of(value) == bits_of(values.front());
  });
  if (is_same) {
    head |= kSame;
    words.resize(1);
  }
  return words;
}

void put_column(std::span<const double> values, std::string& out) {
  std::vector<double> present;
  std::string map((values.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    present.push_back(values[i]);
    map[i / 8] = static_cast<char>(static_cast<unsigned char>(map[i / 8]) | (1U << (i % 8)));
  }
  unsigned head = present.size() < values.size() ? kSparse : 0;
  int shift = 0;
  const auto words = words_of(present, head, shift);
  out.push_back(static_cast<char>(head));
  out.push_back(static_cast<char>(shift));
  if ((head & kSparse) != 0) out += map;
  if ((head & kSame) != 0) {
    put_varint(words.front(), out);
    return;
  }
  for (int plane = 7; plane >= 0; --plane) {
    for (const std::uint64_t word : words) out.push_back(static_cast<char>(word >> (8 * plane)));
  }
}

// The word of value i, from its byte planes.
std::uint64_t word_at(std::string_view planes, std::size_t count, std::size_t i) {
  std::uint64_t word = 0;
  for (std::size_t plane = 0; plane < 8; ++plane) {
    word = (word << 8) | static_cast<unsigned char>(planes[plane * count + i]);
  }
  return word;
}

Result<std::vector<double>> take_column(std::string_view& bytes, std::size_t steps) {
  if (bytes.size() < 2) return damaged("too short");
  const auto head = static_cast<unsigned char>(bytes[0]);
  const auto shift = static_cast<unsigned char>(bytes[1]);
  bytes.remove_prefix(2);
  if ((head & ~kKnownBits) != 0 || shift > kMaxShift) return damaged("unknown coding");
  const bool is_sparse = (head & kSparse) != 0;
  const std::string_view map = bytes.substr(0, is_sparse ? (steps + 7) / 8 : 0);
  if (is_sparse && map.size() < (steps + 7) / 8) return damaged("too short");
  bytes.remove_prefix(map.size());
  const auto is_present = [&](std::size_t i) {
    return !is_sparse || ((static_cast<unsigned char>(map[i / 8]) >> (i % 8)) & 1U) != 0;
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < steps; ++i) count += is_present(i) ? 1U : 0U;

  const bool is_same = (head & kSame) != 0;
  std::uint64_t same = 0;
  std::string_view planes;
  if (is_same) {
    if (!take_varint(bytes, same)) return damaged("too short");
  } else {
    if (bytes.size() / 8 < count) return damaged("too short");
    planes = bytes.substr(0, 8 * count);
    bytes.remove_prefix(planes.size());
  }
  const unsigned scale = head & kScaleMask;
  std::vector<double> values(steps, kAbsent);
  std::uint64_t now = 0;  // unsigned: a damaged column may overflow
  std::size_t next = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    if (!is_present(i)) continue;
    if (next == 0 || !is_same) {
      const std::uint64_t word = is_same ? same : word_at(planes, count, next);
      now = scale == kBits ? now ^ word : now + static_cast<std::uint64_t>(unzigzag(word));
    }
    ++next;
    values[i] = scale == kBits
                    ? std::bit_cast<double>(now)
                    : static_cast<double>(static_cast<std::int64_t>(now << shift)) / kScales[scale];
  }
  return values;
}

// Drops the last bits of a mean of fractions: they are noise that no compression removes, and the
// extremes, which are exact, bound the mean.
double shortened(double mean) {
  if (!std::isfinite(mean)) return mean;
  constexpr std::uint64_t kDropped = (std::uint64_t{1} << 22) - 1;
  return std::bit_cast<double>(bits_of(mean) & ~kDropped);
}

// True if every mean is restored exactly from its count and a whole sum.
bool sums_of(const RollUp& roll_up, std::vector<double>& sums) {
  for (std::size_t i = 0; i < roll_up.count.size(); ++i) {
    const double count = roll_up.count[i];
    double sum = kAbsent;
    if (count != 0) {
      sum = std::round(roll_up.average[i] * count);
      if (!(std::fabs(sum) < kMaxExact) || sum / count != roll_up.average[i]) return false;
    }
    sums.push_back(sum);
  }
  return true;
}

// Of steps that have values, each has one only.
bool is_flat(const RollUp& roll_up) {
  for (std::size_t i = 0; i < roll_up.count.size(); ++i) {
    if (roll_up.count[i] != 0 && bits_of(roll_up.min[i]) != bits_of(roll_up.max[i])) return false;
  }
  return true;
}

}  // namespace

std::uint16_t column_checksum(std::string_view bytes) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<std::uint16_t>(hash ^ (hash >> 16));
}

void encode_column(std::span<const double> values, std::string& out) {
  std::string body;
  put_column(values, body);
  pack(body, out);
}

Result<std::vector<double>> decode_column(std::string_view bytes, std::size_t steps) {
  const auto body = unpack(bytes, max_column_bytes(steps));
  if (!body) return tl::unexpected(body.error());
  std::string_view rest = *body;
  auto values = take_column(rest, steps);
  if (values && !rest.empty()) return damaged("trailing bytes");
  return values;
}

void encode_roll_up(const RollUp& roll_up, std::string& out) {
  std::vector<double> means;
  RollUpKind kind = kFlat;
  if (!is_flat(roll_up)) kind = sums_of(roll_up, means) ? kSums : kMeans;
  std::string body(1, kind);
  put_column(std::vector<double>(roll_up.count.begin(), roll_up.count.end()), body);
  put_column(roll_up.min, body);
  if (kind != kFlat) {
    put_column(roll_up.max, body);
    if (kind == kMeans) {
      means.resize(roll_up.count.size());
      std::transform(roll_up.average.begin(), roll_up.average.end(), means.begin(), shortened);
    }
    put_column(means, body);
  }
  pack(body, out);
}

Result<RollUp> decode_roll_up(std::string_view bytes, std::size_t steps) {
  const auto body = unpack(bytes, 1 + 4 * max_column_bytes(steps));
  if (!body) return tl::unexpected(body.error());
  std::string_view rest = *body;
  if (rest.empty() || rest.front() < kFlat || rest.front() > kMeans) {
    return damaged("unknown kind of roll-up");
  }
  const char kind = rest.front();
  rest.remove_prefix(1);
  std::array<std::vector<double>, 4> columns;  // count, min, max, average
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 1 && kind == kFlat) {
      columns[i] = columns[1];
      continue;
    }
    auto column = take_column(rest, steps);
    if (!column) return tl::unexpected(column.error());
    columns[i] = std::move(*column);
  }
  if (!rest.empty()) return damaged("trailing bytes");
  RollUp roll_up{std::move(columns[1]), std::move(columns[3]), std::move(columns[2]), {}};
  roll_up.count.resize(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    const double count = columns[0][i];
    if (!(count >= 0 && count <= std::numeric_limits<std::uint32_t>::max())) {
      return damaged("count of a roll-up out of range");
    }
    roll_up.count[i] = static_cast<std::uint32_t>(count);
    const bool none = roll_up.count[i] == 0;
    double& average = roll_up.average[i];
    if (none != std::isnan(roll_up.min[i]) || none != std::isnan(roll_up.max[i]) ||
        none != std::isnan(average)) {
      return damaged("values and counts of a roll-up disagree");
    }
    if (none) continue;
    if (kind == kSums) average /= count;
    if (roll_up.min[i] <= roll_up.max[i]) {
      average = std::clamp(average, roll_up.min[i], roll_up.max[i]);
    }
  }
  return roll_up;
}

}  // namespace jetmem
