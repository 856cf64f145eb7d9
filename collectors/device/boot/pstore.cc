// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/pstore.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace jetmem {
namespace {

struct Phrase {
  std::string_view text;
  int weight;
};
// The larger says more; of equal ones the last line counts. Of kSurvived the kernel goes on.
constexpr int kSurvived = 1;
constexpr std::array kPhrases{
    Phrase{"Kernel panic - not syncing", 4},
    Phrase{"Unable to handle kernel", 3},
    Phrase{"kernel BUG at", 3},
    Phrase{"BUG: ", 3},
    Phrase{"Internal error: ", 2},
    Phrase{"SError Interrupt on CPU", 2},
    Phrase{"Bad mode in ", 2},
    Phrase{"blocked for more than", kSurvived},
    Phrase{"detected stall", kSurvived},
    Phrase{"self-detected stall", kSurvived},
};
// With which a line of the kernel's end begins. Only these tell of a crash where the record does
// not say that it was written for one: BUG: stands before many a thing that was survived, and
// programs write into the kernel's log too.
constexpr std::array<std::string_view, 3> kEnds{"Kernel panic - not syncing",
                                                "Internal error:", "Unable to handle kernel"};

bool is_end(std::string_view message) {
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [&](std::string_view phrase) { return message.starts_with(phrase); });
}

struct Best {
  std::string_view line;
  int weight = 0;

  void take(std::string_view message, int of) {
    if (of > 0 && of >= weight) *this = {message, of};
  }
};

struct Found {
  Best best;
  Best end;  // of those that tell of a crash by themselves
  std::string_view last;
};

void scan_through(std::string_view text, Found& found) {
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) {
    const std::string_view message = message_of_crash_line(line);
    if (message.empty()) continue;
    const int weight = crash_weight(message);
    found.best.take(message, weight);
    if (is_end(message)) found.end.take(message, weight);
    found.last = message;
  }
}

// "Panic#1 Part1"
bool take_header(std::string_view text, PstoreRecord& out) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.size() == text.size()) return false;  // no newline: cut
  const std::size_t hash = line.find('#');
  if (hash == 0 || hash > 16 || hash == std::string_view::npos) return false;
  std::string_view rest = line.substr(hash + 1);
  const auto count = take_u64(rest);
  if (!count || *count > UINT32_MAX || !take_prefix(rest, " Part")) return false;
  const auto part = take_u64(rest);
  if (!part || *part > UINT32_MAX || !trim(rest).empty()) return false;
  const std::string_view why = line.substr(0, hash);
  out.kind = PstoreKind::kDmesg;
  if (why == "Panic") out.kind = PstoreKind::kPanic;
  if (why == "Oops") out.kind = PstoreKind::kOops;
  out.part = static_cast<std::uint32_t>(*part);
  return true;
}

// printable() without a string of its own: a record is read again every few minutes.
void set_printable(std::string& out, std::string_view text, std::size_t most) {
  out.clear();
  for (const char c : text.substr(0, most)) out += c >= ' ' && c < 0x7f ? c : '?';
}

}  // namespace

std::string_view pstore_kind_name(PstoreKind kind) {
  constexpr std::array<std::string_view, kPstoreKinds> kNames{"panic",   "oops", "dmesg",
                                                              "console", "pmsg", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

// "<0>[   12.345678][    C2] text" without what stands before the text.
std::string_view message_of_crash_line(std::string_view line) {
  if (!line.empty() && line[0] == '<') {
    const std::size_t end = line.find('>');
    if (end < 6) line.remove_prefix(end + 1);
  }
  while (!line.empty() && line[0] == '[') {
    const std::size_t end = line.find(']');
    if (end > 24) break;
    line.remove_prefix(end + 1);
    while (!line.empty() && is_blank(line[0])) line.remove_prefix(1);
  }
  return trim(line);
}

namespace {

const Phrase* phrase_in(std::string_view line) {
  if (line.substr(0, 4) == "---[") return nullptr;  // the frame around it, which says it again
  const Phrase* best = nullptr;
  for (const Phrase& phrase : kPhrases) {
    if ((best == nullptr || phrase.weight > best->weight) && contains(line, phrase.text)) {
      best = &phrase;
    }
  }
  return best;
}

}  // namespace

std::string_view crash_phrase(std::string_view line) {
  const Phrase* const phrase = phrase_in(line);
  return phrase == nullptr ? std::string_view() : phrase->text;
}

int crash_weight(std::string_view line) {
  const Phrase* const phrase = phrase_in(line);
  return phrase == nullptr ? 0 : phrase->weight;
}

void parse_pstore_record(std::string_view name, std::string_view head, std::string_view tail,
                         PstoreRecord& out) {
  set_printable(out.name, name, PstoreRecord::kMaxName);
  out.digest = static_cast<std::uint32_t>(fnv1a(tail, fnv1a(head)));
  const std::string_view leaf = name.substr(name.rfind('/') + 1);
  std::string_view body = head;
  if (leaf.starts_with("dmesg")) {
    out.kind = PstoreKind::kDmesg;
    if (take_header(head, out)) body.remove_prefix(head.find('\n') + 1);
  } else if (leaf.starts_with("console")) {
    out.kind = PstoreKind::kConsole;
  } else {
    // What programs wrote (pmsg, the console of user space) tells nothing of the kernel's end.
    out.kind = leaf.starts_with("pmsg") ? PstoreKind::kPmsg : PstoreKind::kOther;
    return;
  }
  if (leaf.find(".enc.z") != std::string_view::npos) return;  // compressed: the kernel could not
  Found found;
  scan_through(body, found);
  scan_through(tail, found);
  std::string_view line = found.best.weight > 0 ? found.best.line : found.last;
  if (out.kind == PstoreKind::kPanic || out.kind == PstoreKind::kOops) {
    out.is_crash = found.best.weight > kSurvived;
  } else if (out.kind == PstoreKind::kConsole && found.end.weight > 0) {
    out.is_crash = true;
    line = found.end.line;
  }
  set_printable(out.line, line, PstoreRecord::kMaxLine);
}

}  // namespace jetmem
