// SPDX-License-Identifier: Apache-2.0
// One fuzz target for each family of kernel-log messages: built once per family, with JETMEM_FAMILY
// naming it (see CMakeLists.txt).
#include <cstring>
#include <string>

#include "base/text/text.h"
#include "collectors/kernel_log/decode/assembler.h"
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/line/pasted.h"

namespace jetmem::kernel_log {
namespace {

bool same(const Event& a, const Event& b) {
  if (a.kind() != b.kind() || a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].type != b[i].type || a[i].number != b[i].number ||
        a.text_of(a[i]) != b.text_of(b[i])) {
      return false;
    }
  }
  return true;
}

bool has_anchor(std::string_view line, const Family& family) {
  for (const std::string_view anchor : family.anchors) {
    if (line.find(anchor) != std::string_view::npos) return true;
  }
  return false;
}

void check_line(std::string_view line, const Family& family) {
  static Event reused;
  Event fresh;
  const Piece piece = family.decode(line, fresh);
  if (family.decode(line, reused).role != piece.role) __builtin_trap();
  if (piece.role == Role::kNothing) return;
  if (!same(fresh, reused)) __builtin_trap();
  if (fresh.kind() == EventKind::kNone) __builtin_trap();
  // The filter must not hide what the decoder knows.
  if (!has_anchor(line, family)) __builtin_trap();
}

}  // namespace
}  // namespace jetmem::kernel_log

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace jetmem::kernel_log;
  if (size == 0) return 0;
  const Family& family = JETMEM_FAMILY;
  // The first byte says which SoC.
  const auto soc = static_cast<Soc>(data[0] % 6);
  jetmem::Lines lines({reinterpret_cast<const char*>(data) + 1, size - 1});
  Assembler assembler(soc, [](const Event& event) {
    const std::string text = describe(event);
    if (text.find_first_of("\n\r\x1b") != std::string::npos) __builtin_trap();
    // What jetmem says of an event must not be taken for one of the kernel. Programs' words count
    // wherever they stand, so what names the program in front of them must exclude jetmem.
    Event again;
    if (decode_line(text, Voice::kKernel, again).piece.role != Role::kNothing) __builtin_trap();
    PastedLine ours;
    Pasted pasted;
    const std::string entry = "Nov 26 02:17:00 orin jetmemd[812]: " + text;
    if (!pasted.strip(entry, ours)) return;
    if (decode_line(ours.line.text, ours.line.voice, again).piece.role != Role::kNothing) {
      __builtin_trap();
    }
  });
  LogLine line;
  while (lines.next(line.text)) {
    check_line(line.text, family);
    assembler.line(line);
  }
  assembler.flush();
  return 0;
}
