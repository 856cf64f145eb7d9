// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/kernel_log/families/common/line_parts.h"
#include "collectors/kernel_log/families/common/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

// Looked for in every line of every service: few, and words of no other program.
constexpr std::array<std::string_view, 6> kUserSpaceNvmapAnchors{
    "NvMapMem",  "nvbufsurface: ",   "nvbuf_utils: ",
    "NvBufSurf", "NvEGLImageFromFd", "NvBufferCreate"};

std::string_view take_name(Scan& scan) {
  const std::string_view rest = scan.rest();
  std::size_t n = 0;
  while (n < rest.size() && is_name_char(rest[n])) ++n;
  scan = Scan(rest.substr(n));
  return rest.substr(0, n);
}

// The libraries print only what went wrong; but other programs name them too.
bool reports_failure(std::string_view text) {
  constexpr std::array<std::string_view, 14> kPhrases{
      "ailed",  "ailure",   "rror",       "nvalid", "ismatch",  "NOT found",  "not found",
      "No EGL", "ould not", "an not get", "annot ", "nable to", "nsupported", "ot supported"};
  return contains_any(text, kPhrases);
}

Piece whole(Event& event, EventKind kind, std::string_view function) {
  event.reset(kind);
  set_if(event, "function", function);
  return {.role = Role::kWhole};
}

// "NvMapMemAllocInternalTagged: 99 error 12", "NvMapMemHandleAlloc: error 4"
Piece nvmap(std::string_view text, Event& event) {
  Scan scan(text);
  const std::string_view function = take_name(scan);
  const bool failed = scan.literal(" failed");
  if (!scan.literal(": ")) return {};
  const auto tag = scan.number();
  if (tag) scan.blanks();
  if (scan.literal("error ")) {
    const auto number = scan.number();
    if (!number) return {};
    whole(event, EventKind::kNvmap, function);
    if (tag) event.set_number("tag", *tag);
    // The tagged ones print an errno, the others a code of the library's.
    const bool is_errno = tag || function.find("Tagged") != std::string_view::npos;
    event.set_number(is_errno ? "errno" : "code", *number);
    return {.role = Role::kWhole};
  }
  if (!failed && scan.rest().find("failed") == std::string_view::npos) return {};
  return whole(event, EventKind::kNvmap, function);
}

// "nvbufsurface: NvBufSurfaceMap: text", "nvbuf_utils: text"
Piece library(Scan scan, Event& event) {
  const std::string_view message = scan.rest();
  const std::string_view name = take_name(scan);
  const bool function = name.substr(0, 2) == "Nv" && scan.literal(": ") && !scan.at_end();
  if (!function && !reports_failure(message)) return {};
  return whole(event, EventKind::kNvbufsurface, function ? name : std::string_view());
}

// "NvEGLImageFromFd: text", "NvBufSurfaceFromFd Failed." at the end of a line
Piece call(std::string_view text, Event& event) {
  Scan scan(text);
  const std::string_view function = take_name(scan);
  bool says = false;
  if (scan.literal(": ")) {
    says = reports_failure(scan.rest());
  } else if (scan.literal(" failed") || scan.literal(" Failed")) {
    scan.literal(".");
    says = trim(scan.rest()).empty();
  }
  return says ? whole(event, EventKind::kNvbufsurface, function) : Piece{};
}

Piece decode_at(std::size_t anchor, std::string_view text, Event& event) {
  switch (anchor) {
    case 0:
      return nvmap(text, event);
    case 1:
    case 2:
      return library(Scan(text.substr(kUserSpaceNvmapAnchors[anchor].size())), event);
    default:
      return call(text, event);
  }
}

// Strings that a device gives itself, and the kernel prints: not what a program says.
bool quotes_a_device(std::string_view before) {
  constexpr std::array<std::string_view, 4> kQuotes{
      "Product: ", "Manufacturer: ", "SerialNumber: ", "input: "};
  return contains_any(before, kQuotes);
}

// Where nvmap's own error lines stand: at the line's start, or behind the name of a program,
// "NAME: ", "NAME[PID]: ", with its machine's before it.
bool ends_a_program(std::string_view before) {
  if (trim(before).empty()) return true;
  const std::size_t head = before.find(": ");
  if (head == std::string_view::npos || head + 2 != before.size()) return false;
  const std::string_view name = before.substr(0, head);
  return name.find_first_of("=\"") == std::string_view::npos;
}

Piece decode_user_space_nvmap(std::string_view text, Event& event) {
  for (std::size_t i = 0; i < kUserSpaceNvmapAnchors.size(); ++i) {
    std::size_t at = 0;
    while ((at = text.find(kUserSpaceNvmapAnchors[i], at)) != std::string_view::npos) {
      const bool begins = at == 0 || !is_name_char(text[at - 1]);
      const std::string_view before = text.substr(0, at);
      const bool may = i == 0 ? ends_a_program(before) : !quotes_a_device(before);
      if (begins && may) {
        const Piece piece = decode_at(i, text.substr(at), event);
        if (piece.role != Role::kNothing) return piece;
      }
      at += kUserSpaceNvmapAnchors[i].size();
    }
  }
  return {};
}

void describe_user_space_nvmap(const Event& event, std::string& out) {
  if (event.kind() == EventKind::kNvmap) {
    out += "a program was refused a buffer by NvMap";
    const auto number = event.number("errno");
    if (number) out += ", errno " + std::to_string(*number);
    if (number == 12) out += " (out of memory)";
    add_number(out, event, "code", ", code ");
    add_name(out, event, "function", ", in ", {}, 60);
  }
  if (event.kind() == EventKind::kNvbufsurface) {
    out += "a program could not use a multimedia buffer";
    add_name(out, event, "function", ", in ", {}, 60);
  }
}

}  // namespace

const Family kUserSpaceNvmap{.name = "user_space_nvmap",
                             .anchors = kUserSpaceNvmapAnchors,
                             .decode = decode_user_space_nvmap,
                             .describe = describe_user_space_nvmap,
                             .user_space = true};

}  // namespace jetmem::kernel_log
