// SPDX-License-Identifier: Apache-2.0
// The contiguous memory allocator (mm/cma.c), and the page allocator's part in it.
#include <algorithm>
#include <array>
#include <charconv>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 6> kCmaAnchors{
    "alloc failed, req-size: ",    " free of ",   "Console: switching to colour frame buffer",
    "number of available pages: ", "cma: range ", "alloc_contig_range"};

// Of each range of an area, until the event is complete.
constexpr std::string_view kRangeLargest = "range_largest";
constexpr std::string_view kRangeFree = "range_free";

// Of the numbers that allocators and the drivers below them return.
std::string_view errno_name(std::int64_t ret) {
  struct Name {
    int number;
    std::string_view name;
  };
  constexpr std::array kNames{
      Name{1, "EPERM"},       Name{2, "ENOENT"},     Name{4, "EINTR"},       Name{5, "EIO"},
      Name{6, "ENXIO"},       Name{7, "E2BIG"},      Name{11, "EAGAIN"},     Name{12, "ENOMEM"},
      Name{13, "EACCES"},     Name{14, "EFAULT"},    Name{16, "EBUSY"},      Name{17, "EEXIST"},
      Name{19, "ENODEV"},     Name{22, "EINVAL"},    Name{27, "EFBIG"},      Name{28, "ENOSPC"},
      Name{33, "EDOM"},       Name{34, "ERANGE"},    Name{38, "ENOSYS"},     Name{62, "ETIME"},
      Name{71, "EPROTO"},     Name{75, "EOVERFLOW"}, Name{95, "EOPNOTSUPP"}, Name{105, "ENOBUFS"},
      Name{110, "ETIMEDOUT"}, Name{125, "ECANCELED"}};
  for (const Name& known : kNames) {
    if (known.number == -ret) return known.name;
  }
  return {};
}

// "cma: cma_alloc: linux,cma: alloc failed, req-size: 2048 pages, ret: -12"; no area before 5.12,
// __cma_alloc in new kernels.
Piece failure(std::string_view text, Event& event) {
  Scan scan(text);
  const auto before = scan.until(": alloc failed, req-size: ");
  if (!before) return {};
  Scan who(*before);
  who.literal("cma: ");
  const std::string_view function = who.up_to(":");
  if (function.find("cma_alloc") == std::string_view::npos) return {};
  if (function.find(' ') != std::string_view::npos) return {};
  const Scan count = scan;
  event.reset(EventKind::kCmaAllocFailure);
  if (!take_count(scan, event, "pages") || !scan.literal(" pages, ret: ")) return {};
  const auto ret = scan.number();
  // -EINTR: whoever asked was killed meanwhile. That is no shortage.
  if (!ret || *ret == -4) return {};
  event.reset(EventKind::kCmaAllocFailure);
  if (who.literal(": ") && !who.at_end()) {
    event.set_text("area", who.rest());
  } else {
    event.set_null("area");
  }
  Scan again = count;
  take_count(again, event, "pages");
  // No allocator returns these: they are "-12", "-16" or "-22", cut off.
  if (scan.at_end() && (*ret == -1 || *ret == -2)) return {.role = Role::kOpens};
  event.set_number("ret", *ret);
  if (const std::string_view name = errno_name(*ret); !name.empty()) {
    event.set_text("errno", name);
  }
  return {.role = Role::kOpens};
}

struct Runs {
  std::int64_t largest = 0;
  std::uint64_t free = 0;
};

// "6@8314+9@8343", or "6+9" without the places. Nothing for anything else.
std::optional<Runs> take_runs(std::string_view text) {
  Scan scan(text);
  Runs runs;
  do {
    const auto length = scan.number();
    if (!length || *length < 0) return std::nullopt;
    if (scan.literal("@") && !scan.number()) return std::nullopt;
    runs.largest = std::max(runs.largest, *length);
    runs.free += static_cast<std::uint64_t>(*length);
  } while (scan.literal("+"));
  if (!scan.at_end()) return std::nullopt;
  return runs;
}

void add_item(Event& event, std::string_view name, std::uint64_t value) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  event.add_item(name, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

// Since 6.15 an area may have several ranges, each in a line of its own between the first and the
// sums: "cma: range 1: 5@11+20@100".
Piece range(Scan scan, Event& event) {
  const auto number = scan.number();
  if (!number || *number < 0 || !scan.literal(":")) return {};
  scan.blanks();
  scan.literal("+");  // the range before had some too
  const std::string_view text = trim(scan.rest());
  const auto runs = text.empty() ? Runs() : take_runs(text);
  if (!runs) return {};
  event.reset(EventKind::kCmaAllocFailure);
  add_item(event, kRangeLargest, static_cast<std::uint64_t>(runs->largest));
  add_item(event, kRangeFree, runs->free);
  return {.role = Role::kFollows, .step = 1, .repeats = true};
}

// "number of available pages: 6@8314+9@8343=> 15 free of 4096 total pages". A long list is spread
// over several records, and then the last has the sums.
Piece pages(std::string_view text, Event& event) {
  Scan scan(text);
  if (scan.literal("cma: range ")) return range(scan, event);
  scan.literal("cma: ");
  const bool whole = scan.literal("number of available pages: ");
  const auto runs = scan.until("=>");
  if (!runs) return {};
  const auto listed = take_runs(trim(*runs));
  scan.blanks();
  event.reset(EventKind::kCmaAllocFailure);
  if (!take_natural(scan, event, "free")) return {};
  if (!scan.literal(" free of ")) {
    // A vendor's form: "=>357 pages, total: 2048 pages".
    if (!whole || !scan.literal(" pages, total: ")) return {};
  }
  if (!take_natural(scan, event, "total")) return {};
  if (!scan.literal(" total pages") && !scan.literal(" pages")) return {};
  const bool list = runs->find_first_not_of("0123456789@+ ") == std::string_view::npos;
  if (!whole && !list) return {};
  if (whole && listed) event.set_number("largest", listed->largest);
  return {.role = Role::kFollows, .step = 2, .last = true};
}

// "alloc_contig_range: [2f100, 2f20a) PFNs busy"; up to 4.3 "alloc_contig_range
// test_pages_isolated(2f100, 2f20a) failed".
Piece busy(std::string_view text, Event& event) {
  Scan scan(text);
  scan.literal("cma: ");
  scan.literal("__");
  if (!scan.literal("alloc_contig_range")) return {};
  scan.literal("_noprof");
  scan.literal(":");
  scan.blanks();
  const bool old = scan.literal("test_pages_isolated(");
  if (!old && !scan.literal("[")) return {};
  const auto start = scan.hex();
  if (!start || !scan.literal(", ")) return {};
  const auto end = scan.hex();
  if (!end || !scan.literal(old ? ") failed" : ") PFNs busy")) return {};
  event.reset(EventKind::kCmaBusy);
  event.set_hex("pfn_start", parse_hex(*start).value_or(0));
  event.set_hex("pfn_end", parse_hex(*end).value_or(0));
  return {.role = Role::kWhole};
}

// "Console: switching to colour frame buffer device 240x67": the console's characters are 8 by 16
// pixels. A Raspberry Pi asks CMA for its frame buffer first and takes the GPU's memory when it is
// refused: when the console comes up, nothing is missing.
constexpr std::string_view kFramePixels = "frame_pixels";

Piece frame_buffer(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("Console: switching to colour frame buffer device ")) return {};
  const auto columns = scan.number();
  if (!columns || !scan.literal("x")) return {};
  const auto rows = scan.number();
  constexpr std::int64_t kMost = 4096;
  if (!rows || *columns <= 0 || *rows <= 0 || *columns > kMost || *rows > kMost) return {};
  event.reset(EventKind::kCmaAllocFailure);
  event.set_number(kFramePixels, *columns * 8 * *rows * 16);
  event.set_bool("harmless", true);
  return {.role = Role::kFollows, .step = 3, .last = true};
}

// The refused pages are those of a frame of 2 or 4 bytes a pixel; the last rows of the screen have
// no characters.
bool joins_cma(const Event& open, const Event& part) {
  const auto pixels = part.number(kFramePixels);
  if (!pixels) return true;
  const auto pages = open.number("pages");
  if (!pages) return false;
  for (const std::int64_t bytes : {2, 4}) {
    const std::int64_t frame = *pixels * bytes / 4096;
    if (*pages >= frame && *pages <= frame + frame / 16 + 1) return true;
  }
  return false;
}

Piece decode_cma(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  return first_piece({failure, pages, busy, frame_buffer}, text, event);
}

// The longest run of all ranges, unless one was lost or cut off: then they do not add up.
void complete_cma(Event& event, Soc /*soc*/) {
  event.remove(kFramePixels);
  if (!event.has(kRangeLargest)) return;
  event.remove(Event::kListCut);  // of a list that nobody gets to see
  std::uint64_t largest = 0;
  std::uint64_t free = 0;
  for (std::size_t i = 0; i < event.size(); ++i) {
    const std::uint64_t value = parse_u64(event.text_of(event[i])).value_or(0);
    if (event[i].name == kRangeLargest) largest = std::max(largest, value);
    if (event[i].name == kRangeFree) free += value;
  }
  event.remove(kRangeLargest);
  event.remove(kRangeFree);
  const auto sum = event.number("free");
  if (sum && static_cast<std::uint64_t>(*sum) == free) {
    event.set_number("largest", static_cast<std::int64_t>(largest));
  }
}

void describe_failure(const Event& event, std::string& out) {
  const std::string_view area = event.text("area");
  const auto pages = event.number("pages");
  const auto free = event.number("free");
  const auto largest = event.number("largest");
  out += area.empty() ? "a CMA area" : "CMA area " + name_in_words(area);
  out += " could not supply " + (pages ? std::to_string(*pages) + " " : "") + "contiguous pages";
  if (event.text("errno") == "EBUSY") out += ", pages in the way could not be moved";
  if (free) {
    out += "; " + std::to_string(*free) + " were free";
    if (largest) out += ", the longest run " + std::to_string(*largest);
  }
  if (event.has("harmless")) out += "; the frame buffer came up without them";
}

void describe_cma(const Event& event, std::string& out) {
  if (event.kind() == EventKind::kCmaAllocFailure) describe_failure(event, out);
  if (event.kind() == EventKind::kCmaBusy) {
    out += "pages could not be moved out of a contiguous area";
  }
}

}  // namespace

const Family kCma{.name = "cma",
                  .anchors = kCmaAnchors,
                  .decode = decode_cma,
                  .describe = describe_cma,
                  .complete = complete_cma,
                  .joins = joins_cma};

}  // namespace jetmem::kernel_log
