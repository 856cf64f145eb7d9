// Memory that errs, as the hardware reports it (EDAC, GHES, Tegra's RAS, SError) and as the kernel
// deals with it (mm/memory-failure.c); damaged bookkeeping (mm, lib/list_debug.c); kmemleak.
#include "collectors/kernel_log/families/families.h"
#include "collectors/kernel_log/families/shared.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 21> kAnchors{
    "EDAC MC",
    "EDAC DEVICE",
    "[Hardware Error]: ",
    "Memory failure: ",
    "MCE 0x",
    "oft offline: ",
    "RAS Error in ",
    "Status = 0x",
    "IERR = ",
    "SERR = ",
    "Uncorrectable (this is fatal)",
    "Correctable Error",
    "ADDR = 0x",
    "SError Interrupt on CPU",
    "BUG: Bad page ",
    "BUG: Bad rss-counter ",
    "BUG: non-zero ",
    "list_del corruption",
    "list_add corruption",
    "list_add double add",
    " new suspected memory leaks",
};

void set_hex_after(Event& event, std::string_view name, std::string_view text,
                   std::string_view key) {
  Scan scan(text);
  if (!scan.past(key)) return;
  if (const auto digits = scan.hex()) event.set_text(name, *digits);
}

// "mc#0csrow#1 (csrow:1 page:0x1a2b offset:0x80 grain:8 syndrome:0x4)", and the form of 3.4 and
// older with ", " between and a blank instead of the colon.
void set_place(Event& event, std::string_view text, std::string_view separator) {
  std::array<char, 16> key{};
  for (const std::string_view name : {"page", "offset", "grain", "syndrome"}) {
    const std::size_t length = name.copy(key.data(), key.size());
    key[length] = separator.front();
    set_hex_after(event, name, text, {key.data(), length + 1});
  }
}

Piece edac_controller(Scan scan, Event& event) {
  const auto mc = scan.number();
  if (!mc || *mc < 0 || !scan.literal(": ")) return {};
  event.set_number("mc", *mc);
  const auto count = scan.number();
  if (count && !scan.literal(" ")) return {};
  const std::string_view severity = scan.rest().substr(0, 2);
  if (severity != "CE" && severity != "UE") return {};
  scan = Scan(scan.rest().substr(2));
  if (!scan.literal(" ")) return {};
  if (!count) {
    if (scan.rest().substr(0, 7) != "page 0x" && scan.rest().substr(0, 2) != "- " &&
        scan.rest().substr(0, 4) != "row ") {
      return {};
    }
    event.set_text("severity", severity);
    set_place(event, scan.rest(), " ");
    if (scan.past("label \"") || scan.past("labels \"")) {
      if (const auto label = scan.until("\"")) event.set_text("label", *label);
    }
    return {.role = Role::kWhole};
  }
  if (*count < 0) return {};
  event.set_number("count", *count);
  event.set_text("severity", severity);
  const std::string_view rest = scan.rest();
  const std::size_t place = std::min(rest.find(" ("), rest.size());
  Scan body(rest.substr(0, place));
  if (body.literal("on ")) {
    event.set_text("label", body.rest());
  } else if (const auto error = body.until_last(" on ")) {
    event.set_text("error", *error);
    event.set_text("label", body.rest());
  } else {
    return {};
  }
  set_place(event, rest.substr(place), ":");
  return {.role = Role::kWhole};
}

// "EDAC DEVICE0: CE: l2_cache instance: cpu0 block: L2 count: 1 'single-bit'": caches.
Piece edac_device(Scan scan, Event& event) {
  const auto device = scan.number();
  if (!device || *device < 0 || !scan.literal(": ")) return {};
  const std::string_view severity = scan.rest().substr(0, 2);
  if (severity != "CE" && severity != "UE") return {};
  scan = Scan(scan.rest().substr(2));
  if (!scan.literal(": ")) return {};
  const auto name = scan.until(" instance: ");
  if (!name) return {};
  event.set_number("device", *device);
  event.set_text("severity", severity);
  event.set_text("name", *name);
  if (const auto instance = scan.until(" block")) event.set_text("instance", *instance);
  scan.literal(":");
  scan.blanks();
  if (const auto block = scan.until(" count: ")) {
    event.set_text("block", *block);
    if (const auto count = scan.number(); count && *count >= 0 && scan.literal(" ")) {
      event.set_number("count", *count);
    }
  }
  return {.role = Role::kWhole};
}

Piece edac(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("EDAC ")) return {};
  event.reset(EventKind::kMemoryError);
  if (scan.literal("MC")) return edac_controller(scan, event);
  if (scan.literal("DEVICE")) return edac_device(scan, event);
  return {};
}

// Lines "{7}[Hardware Error]: ..." of one report have one number. Of several sections only the
// first is taken: steps rise, so the second one's lines do not join.
Piece ghes(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("{")) return {};
  const auto number = scan.number();
  if (!number || !scan.literal("}[Hardware Error]: ")) return {};
  scan.blanks();
  event.reset(EventKind::kMemoryError);
  event.set_number("ghes", *number);
  if (scan.literal("Hardware error from APEI Generic Hardware Error Source: ")) {
    const auto source = scan.number();
    if (!source || *source < 0) return {};
    event.set_number("source", *source);
    return {.role = Role::kOpens, .join = "ghes"};
  }
  if (scan.literal("event severity: ")) {
    event.set_text("severity", trim(scan.rest()));
    return {.role = Role::kFollowsOrOpens, .step = 1, .join = "ghes"};
  }
  constexpr std::array<std::string_view, 4> kDetails{"fru_text", "section_type", "physical_address",
                                                     "error_type"};
  for (std::size_t i = 0; i < kDetails.size(); ++i) {
    if (!scan.literal(kDetails[i])) continue;
    if (!scan.literal(": ")) return {};
    event.set_text(kDetails[i], trim(scan.rest()));
    return {.role = Role::kFollows, .step = static_cast<std::uint8_t>(i + 2), .join = "ghes"};
  }
  return {};
}

// Behind "Memory failure: 0x12345: "; the older form is "MCE 0x12345: dirty LRU page recovery: ".
Piece failure(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("Memory failure: ") && !scan.literal("MCE ")) return {};
  if (scan.rest().substr(0, 2) != "0x") return {};
  const auto pfn = scan.hex();
  if (!pfn || !scan.literal(": ")) return {};
  event.reset(EventKind::kMemoryError);
  event.set_text("pfn", *pfn);
  const bool named = scan.literal("recovery action for ");
  if (const auto page = scan.until_last(named ? ": " : " recovery: ")) {
    event.set_text("page_type", *page);
    event.set_text("outcome", trim(scan.rest()));
    return {.role = Role::kWhole};
  }
  if (named) return {};
  if (scan.literal("already hardware poisoned")) {
    event.set_text("error", "already hardware poisoned");
    return {.role = Role::kWhole};
  }
  if (!scan.literal("Sending SIGBUS to ") && !scan.literal("Killing ") &&
      !scan.literal("forcibly killing ")) {
    return {};
  }
  auto who = scan.until_last(" due to ");
  if (!who) who = scan.until_last(" because of ");
  if (!who) return {};
  Scan process(*who);
  const auto comm = process.until_last(":");
  const auto pid = process.number();
  if (!comm || comm->empty() || !pid || *pid < 0 || !process.at_end()) return {};
  event.set_text("comm", *comm);
  event.set_number("pid", *pid);
  return {.role = Role::kWhole};
}

// "Soft offline: 0x12345: isolation failed: ..."; lower case, and behind the prefix of memory
// failures, in older kernels.
Piece soft_offline(std::string_view text, Event& event) {
  Scan scan(text);
  scan.literal("Memory failure: ");
  if (!scan.literal("Soft offline: ") && !scan.literal("soft offline: ")) return {};
  if (scan.rest().substr(0, 2) != "0x") return {};
  const auto pfn = scan.hex();
  if (!pfn) return {};
  scan.literal(":");
  scan.blanks();
  if (scan.at_end()) return {};
  event.reset(EventKind::kMemoryError);
  event.set_text("pfn", *pfn);
  event.set_bool("soft_offline", true);
  event.set_text("error", scan.rest());
  return {.role = Role::kWhole};
}

// "\tIERR = L2 data parity: 0x12"
Piece ras_code(Scan scan, Event& event, std::string_view name, std::uint8_t step) {
  const auto error = scan.until_last(": 0x");
  if (!error) return {};
  event.set_text(name, *error);
  return {.role = Role::kFollows, .step = step};
}

// Tegra's arm64_ras: a block of lines between rows of asterisks.
Piece ras(std::string_view text, Event& event) {
  Scan scan(text);
  scan.blanks();
  event.reset(EventKind::kMemoryError);
  if (scan.literal("RAS Error in ")) {
    const auto source = scan.until_last(", ERRSELR_EL1=");
    if (!source) return {};
    event.set_text("source", *source);
    return {.role = Role::kOpens};
  }
  if (scan.literal("IERR = ")) return ras_code(scan, event, "ierr", 2);
  if (scan.literal("SERR = ")) return ras_code(scan, event, "serr", 3);
  if (scan.literal("Uncorrectable (this is fatal)")) {
    event.set_text("severity", "Uncorrectable");
    return {.role = Role::kFollows, .step = 4};
  }
  if (scan.literal("Correctable Error")) {
    event.set_text("severity", "Correctable");
    return {.role = Role::kFollows, .step = 5};
  }
  const bool status = scan.literal("Status = ");
  if (!status && !scan.literal("ADDR = ")) return {};
  if (scan.rest().substr(0, 2) != "0x") return {};
  const auto value = scan.hex();
  if (!value || !scan.at_end()) return {};
  event.set_text(status ? "status" : "addr", *value);
  if (status) return {.role = Role::kFollows, .step = 1};
  return {.role = Role::kFollows, .step = 6, .last = true};
}

Piece serror(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("SError Interrupt on CPU")) return {};
  const auto cpu = scan.number();
  if (!cpu || *cpu < 0 || !scan.literal(", code 0x")) return {};
  const auto code = scan.hex();
  if (!code) return {};
  event.reset(EventKind::kMemoryError);
  event.set_text("error", "SError");
  event.set_number("cpu", *cpu);
  event.set_hex("code", parse_hex(*code).value_or(0));
  return {.role = Role::kWhole};
}

// "BUG: Bad page state in process insmod  pfn:0008f", "BUG: Bad page map in process a  pte:..
// pmd:.."
Piece bad_page(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("BUG: ")) return {};
  event.reset(EventKind::kMmCorruption);
  if (scan.rest().substr(0, 16) == "Bad rss-counter ") {
    event.set_text("error", "Bad rss-counter");
    set_sized(event, "idx", text, " idx:", " ");
    Scan value(text);
    if (value.past(" val:")) {
      if (const auto n = value.number()) event.set_number("val", *n);
    }
    Scan who(text);
    if (who.past(" Comm:")) {
      if (const auto comm = who.until_last(" Pid:")) {
        event.set_text("comm", *comm);
        if (const auto pid = who.number()) event.set_number("pid", *pid);
      }
    }
    return {.role = Role::kWhole};
  }
  if (scan.literal("non-zero ")) {
    const std::string_view what = scan.up_to(" ");
    if (what != "pgtables_bytes" && what != "nr_ptes" && what != "nr_pmds") return {};
    event.set_text("error", text.substr(5, 9 + what.size()));
    return {.role = Role::kWhole};
  }
  const auto what = scan.until(" in process ");
  if (!what || what->substr(0, 9) != "Bad page ") return {};
  event.set_text("error", *what);
  if (const auto comm = scan.until_last("  pfn:")) {
    const auto pfn = scan.hex();
    if (!pfn) return {};
    event.set_text("comm", *comm);
    event.set_hex("pfn", parse_hex(*pfn).value_or(0));
    return {.role = Role::kWhole};
  }
  const auto comm = scan.until_last("  pte:");
  if (!comm) return {};
  const auto pte = scan.hex();
  if (!pte) return {};
  event.set_text("comm", *comm);
  event.set_text("pte", *pte);
  set_hex_after(event, "pmd", scan.rest(), " pmd:");
  return {.role = Role::kWhole};
}

Piece list_damage(std::string_view text, Event& event) {
  for (const std::string_view error :
       {"list_del corruption", "list_add corruption", "list_add double add"}) {
    Scan scan(text);
    if (!scan.literal(error)) continue;
    const std::string_view next = scan.rest().substr(0, 1);
    if (next != "." && next != "," && next != ":") return {};
    event.reset(EventKind::kMmCorruption);
    event.set_text("error", error);
    return {.role = Role::kWhole};
  }
  return {};
}

Piece kmemleak(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("kmemleak: ")) return {};
  const auto count = scan.number();
  if (!count || *count < 0 || !scan.literal(" new suspected memory leaks")) return {};
  event.reset(EventKind::kKmemleak);
  event.set_number("count", *count);
  return {.role = Role::kWhole};
}

Piece decode(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  for (auto* const format :
       {edac, ghes, failure, soft_offline, ras, serror, bad_page, list_damage, kmemleak}) {
    const Piece piece = format(text, event);
    if (piece.role != Role::kNothing) return piece;
  }
  return {};
}

std::string times(std::int64_t count) {
  return count == 1 ? "once" : std::to_string(count) + " times";
}

void describe_failure(const Event& event, std::string& out) {
  const std::string_view outcome = event.text("outcome");
  if (event.has("comm")) {
    out += process_in_words(event) + " was told or killed: a page it used is broken";
  } else if (event.has("soft_offline")) {
    out += "a page that errs often could not be taken out of use";
  } else if (outcome.empty()) {
    out += "a page that is known to be broken was met again";
  } else {
    out += "a page of memory is broken (";
    out += event.text("page_type").substr(0, 28);
    out += "); the kernel's remedy: ";
    out += outcome.substr(0, 28);
  }
}

void describe_error(const Event& event, std::string& out) {
  const std::string_view severity = event.text("severity");
  const auto count = event.number("count");
  if (event.has("pfn")) {
    describe_failure(event, out);
  } else if (event.has("mc") || event.has("device")) {
    out += severity == "CE" ? "a memory error was corrected" : "a memory error was not corrected";
    if (count) out += ", " + times(*count);
    if (const std::string_view label = event.text("label"); !label.empty()) {
      out += ", in ";
      out += short_name(label);
    }
  } else if (event.has("ghes")) {
    out += "the firmware reports a hardware error";
    if (!severity.empty()) {
      out += " (";
      out += severity.substr(0, 28);
      out += ")";
    }
    if (const std::string_view type = event.text("section_type"); !type.empty()) {
      out += ", section ";
      out += type.substr(0, 28);
    }
  } else if (event.text("error") == "SError") {
    out += "a CPU was told that an access went wrong behind its back (SError)";
  } else {
    out += "the CPUs' error records report ";
    out += severity == "Correctable" ? "a corrected error" : "an error";
    if (severity == "Uncorrectable") out += " that was not corrected";
    out += " in ";
    out += short_name(event.text("source"));
  }
}

void describe(const Event& event, std::string& out) {
  switch (event.kind()) {
    case EventKind::kMemoryError:
      describe_error(event, out);
      break;
    case EventKind::kMmCorruption:
      out += "the kernel's memory bookkeeping is damaged";
      if (event.has("comm")) out += "; noticed in " + process_in_words(event);
      break;
    case EventKind::kKmemleak:
      out += "the kernel lost track of ";
      out += std::to_string(event.number("count").value_or(1));
      out += " of its own blocks of memory";
      break;
    default:
      break;
  }
}

}  // namespace

const Family kMemoryError{.name = "memory_error",
                          .anchors = kAnchors,
                          .decode = decode,
                          .complete = nullptr,
                          .describe = describe};

}  // namespace jetmem::kernel_log
