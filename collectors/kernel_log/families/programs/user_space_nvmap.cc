// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

// Looked for in every line of every service: few, and words of no other program.
constexpr std::array<std::string_view, 9> kUserSpaceNvmapAnchors{
    "NvMapMem",  "nvbufsurface: ",   "nvbuf_utils: ",
    "NvBufSurf", "NvEGLImageFromFd", "NvBufferCreate",
    "NvRmMem",   "NvRmStream: ",     "Memory Manager Not supported"};

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

// Why, where the text tells: a program that may not open the device lacks no memory.
void set_reason(Event& event, std::string_view text) {
  constexpr std::array<std::string_view, 4> kPermission{"ermission denied", "ot permitted",
                                                        "EACCES", "EPERM"};
  constexpr std::array<std::string_view, 5> kShortage{"annot allocate", "ut of memory", "ENOMEM",
                                                      "nsufficient memory", "nsufficientMemory"};
  const std::int64_t number = event.number("errno").value_or(0);
  if (number == 1 || number == 13 || contains_any(text, kPermission)) {
    event.set_text("reason", "permission");
  } else if (number == 12 || contains_any(text, kShortage)) {
    event.set_text("reason", "shortage");
  } else if (number == 2 || text.find("No such file") != std::string_view::npos) {
    event.set_text("reason", "missing");
  }
}

Piece whole(Event& event, EventKind kind, std::string_view function, std::string_view text) {
  event.reset(kind);
  set_if(event, "function", function);
  set_reason(event, text);
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
    event.reset(EventKind::kNvmap);
    event.set_text("function", function);
    if (tag) event.set_number("tag", *tag);
    // The tagged ones print an errno, the others a code of the library's.
    const bool is_errno = tag || function.find("Tagged") != std::string_view::npos;
    event.set_number(is_errno ? "errno" : "code", *number);
    set_reason(event, {});
    return {.role = Role::kWhole};
  }
  if (!failed && scan.rest().find("failed") == std::string_view::npos) return {};
  return whole(event, EventKind::kNvmap, function, scan.rest());
}

// NvRmMem cannot open nvmap's device, in four lines: "NvRmMemInitNvmap failed with Permission denied",
// "549: Memory Manager Not supported", "****NvRmMemInit failed**** error type: 196626" and
// "*** NvRmMemInit failed NvRmMemConstructor". Other functions: "NvRmMemMap: failed, ...".
Piece nvrm_mem(std::string_view text, Event& event) {
  Scan scan(text);
  const std::string_view function = take_name(scan);
  if (scan.literal(" failed with ")) {
    whole(event, EventKind::kNvmap, function, scan.rest());
    return {.role = Role::kOpens};
  }
  if (scan.literal(" failed**** error type: ")) {
    event.reset(EventKind::kNvmap);
    if (!take_count(scan, event, "code")) return {};
    return {.role = Role::kFollowsOrOpens, .step = 2};
  }
  if (scan.rest() == " failed NvRmMemConstructor") {
    event.reset(EventKind::kNvmap);
    return {.role = Role::kFollowsOrOpens, .step = 3, .last = true};
  }
  if (!scan.literal(": ") && !scan.literal(" ")) return {};
  if (!reports_failure(scan.rest())) return {};
  return whole(event, EventKind::kNvmap, function, scan.rest());
}

// "NvRmStream: Buffer allocation failed (err=6)"
Piece nvrm_stream(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.past("uffer allocation failed")) return {};
  whole(event, EventKind::kNvmap, "NvRmStream", text);
  event.set_text("reason", "shortage");
  if (scan.literal(" (err=")) take_count(scan, event, "code");
  return {.role = Role::kWhole};
}

Piece memory_manager(Event& event) {
  event.reset(EventKind::kNvmap);
  return {.role = Role::kFollowsOrOpens, .step = 1};
}

// "nvbufsurface: NvBufSurfaceMap: text", "nvbuf_utils: text"
Piece library(Scan scan, Event& event) {
  const std::string_view message = scan.rest();
  const std::string_view name = take_name(scan);
  bool function = name.substr(0, 2) == "Nv" && scan.literal(": ") && !scan.at_end();
  // "NvReleaseFd Failed... Exiting..."
  const bool ends = name.substr(0, 2) == "Nv" && scan.literal(" Failed");
  function = function || ends;
  if (!function && !reports_failure(message)) return {};
  const Piece piece =
      whole(event, EventKind::kNvbufsurface, function ? name : std::string_view(), message);
  // Which buffer comes in a line of its own, before the function.
  if (Scan fd(message); fd.literal("dmabuf_fd ")) {
    take_count(fd, event, "fd");
    return {.role = Role::kOpens};
  }
  if (ends) return {.role = Role::kFollowsOrOpens, .step = 1, .last = true};
  return piece;
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
  return says ? whole(event, EventKind::kNvbufsurface, function, text) : Piece{};
}

Piece decode_at(std::size_t anchor, std::string_view text, Event& event) {
  switch (anchor) {
    case 0:
      return nvmap(text, event);
    case 1:
    case 2:
      return library(Scan(text.substr(kUserSpaceNvmapAnchors[anchor].size())), event);
    case 6:
      return nvrm_mem(text, event);
    case 7:
      return nvrm_stream(text, event);
    case 8:
      return memory_manager(event);
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
    const std::string_view reason = event.text("reason");
    if (reason == "permission") {
      out += "a program was denied access to NvMap";
    } else if (reason == "missing") {
      out += "a program did not find the NvMap device";
    } else if (event.has("function") || event.has("errno")) {
      out += "a program was refused a buffer by NvMap";
    } else {
      out += "a program could not start NvMap";
    }
    const auto number = event.number("errno");
    if (number) out += ", errno " + std::to_string(*number);
    if (number == 12) out += " (out of memory)";
    add_number(out, event, "code", ", code ");
    add_name(out, event, "function", ", in ", {}, 60);
  }
  if (event.kind() == EventKind::kNvbufsurface) {
    out += "a program could not use a multimedia buffer";
    const std::string_view reason = event.text("reason");
    if (reason == "permission") out += ", permission denied";
    if (reason == "shortage") out += ", out of memory";
    add_number(out, event, "fd", ", descriptor ");
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
