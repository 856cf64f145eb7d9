// SPDX-License-Identifier: Apache-2.0
// Memory that errs, as the hardware and the firmware report it: EDAC, GHES, Tegra's RAS, SError.
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"
#include "collectors/kernel_log/families/hardware/memory_error_parts.h"

namespace jetmem::kernel_log {
namespace {

// "mc#0csrow#1 (csrow:1 page:0x1a2b offset:0x80 grain:8 syndrome:0x4)", and the form of 3.4 and
// older with ", " between and a blank instead of the colon.
void set_position(Event& event, std::string_view text, std::string_view separator) {
  std::array<char, 16> key{};
  for (const std::string_view name : {"page", "offset", "grain", "syndrome"}) {
    const std::size_t length = name.copy(key.data(), key.size());
    key[length] = separator.front();
    Scan scan(text);
    if (scan.past({key.data(), length + 1})) take_hex(scan, event, name);
  }
}

Piece edac_controller(Scan scan, Event& event) {
  if (!take_natural(scan, event, "mc") || !scan.literal(": ")) return {};
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
    set_position(event, scan.rest(), " ");
    if (scan.past("label \"") || scan.past("labels \"")) {
      if (const auto label = scan.until("\"")) event.set_text("label", *label);
    }
    return {.role = Role::kWhole};
  }
  if (*count < 0) return {};
  event.set_number("count", *count);
  event.set_text("severity", severity);
  const std::string_view rest = scan.rest();
  const std::size_t location = std::min(rest.find(" ("), rest.size());
  Scan body(rest.substr(0, location));
  if (body.literal("on ")) {
    event.set_text("label", body.rest());
  } else if (const auto error = body.until_last(" on ")) {
    event.set_text("error", *error);
    event.set_text("label", body.rest());
  } else {
    return {};
  }
  set_position(event, rest.substr(location), ":");
  return {.role = Role::kWhole};
}

// "EDAC DEVICE0: CE: l2_cache instance: cpu0 block: L2 count: 1 'single-bit'": caches.
Piece edac_device(Scan scan, Event& event) {
  if (!take_natural(scan, event, "device") || !scan.literal(": ")) return {};
  const auto severity = scan.until(": ");
  if (severity != "CE" && severity != "UE") return {};
  const auto name = scan.until(" instance: ");
  if (!name) return {};
  event.set_text("severity", *severity);
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

// "0: could not look up page error address 1a2b3": an error was there, its place is not known.
Piece edac_trouble(Scan scan, Event& event) {
  event.reset(EventKind::kMemoryError);
  if (!take_natural(scan, event, "mc") || !scan.literal(": ")) return {};
  if (!scan.literal("could not look up page error address ") && !scan.literal("INTERNAL ERROR: ")) {
    return {};
  }
  event.set_text("error", scan.rest());
  return {.role = Role::kWhole};
}

Piece edac(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("EDAC ")) return {};
  event.reset(EventKind::kMemoryError);
  if (scan.literal("MC")) {
    const Piece piece = edac_controller(scan, event);
    return piece.role != Role::kNothing ? piece : edac_trouble(scan, event);
  }
  if (scan.literal("DEVICE")) return edac_device(scan, event);
  return {};
}

// Lines "{7}[Hardware Error]: ..." of one report have one number. Of several sections only the
// first is taken: steps rise, so the second one's lines do not join. An error of the boot before
// (BERT) has no number.
Piece ghes(std::string_view text, Event& event) {
  Scan scan(text);
  event.reset(EventKind::kMemoryError);
  if (scan.literal("{")) {
    if (!take_number(scan, event, "ghes") || !scan.literal("}")) return {};
  }
  if (!scan.literal("[Hardware Error]: ")) return {};
  scan.blanks();
  if (scan.literal("Hardware error from APEI Generic Hardware Error Source: ")) {
    if (!take_natural(scan, event, "source")) return {};
    return {.role = Role::kOpens, .join = "ghes"};
  }
  if (scan.literal("event severity: ")) {
    event.set_text("severity", trim(scan.rest()));
    return {.role = Role::kFollowsOrOpens, .step = 1, .join = "ghes"};
  }
  struct Detail {
    std::string_view printed, name;
    std::uint8_t step;
  };
  // The second form of a section: of one that the kernel does not know.
  constexpr std::array kDetails{Detail{"fru_text: ", "fru_text", 2},
                                Detail{"section_type: ", "section_type", 3},
                                Detail{"section type: ", "section_type", 3},
                                Detail{"physical_address: ", "physical_address", 4},
                                Detail{"error_type: ", "error_type", 6},
                                Detail{"DIMM location: ", "label", 7}};
  for (const Detail& detail : kDetails) {
    if (!scan.literal(detail.printed)) continue;
    set_if(event, detail.name, trim(scan.rest()));
    return {.role = Role::kFollows, .step = detail.step, .join = "ghes"};
  }
  // "node:6 card:1 module:0 rank:1 bank:2", and "node: 6 card: 1" of older kernels.
  if (scan.rest().substr(0, 5) != "node:" && scan.rest().substr(0, 5) != "card:") return {};
  std::string_view printed = trim(scan.rest());
  std::array<char, 200> location{};
  std::size_t size = 0;
  for (const char c : printed.substr(0, location.size())) {
    if (c != ' ' || size == 0 || location[size - 1] != ':') location[size++] = c;
  }
  event.set_text("location", {location.data(), size});
  return {.role = Role::kFollows, .step = 5, .join = "ghes"};
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
  // Xavier's Denver cores: "Machine check error in ROC:IOB:", "SYS:DPMU Machine Check Error:".
  if (scan.literal("Machine check error in ")) {
    const auto source = scan.until_last(":");
    if (!source || !is_kernel_name(*source) || !scan.at_end()) return {};
    event.set_text("source", *source);
    return {.role = Role::kOpens};
  }
  if (Scan check = scan; const auto source = check.until(" Machine Check Error:")) {
    if (!is_kernel_name(*source)) return {};
    event.set_text("source", *source);
    return {.role = Role::kOpens};
  }
  if (scan.literal("STAT: 0x") || scan.literal("ADDR: 0x")) {
    const bool stat = contains(text, "STAT: ");
    const auto digits = scan.hex();
    if (!digits || !scan.at_end()) return {};
    event.set_hex(stat ? "status" : "addr", parse_hex(*digits).value_or(0));
    return {.role = Role::kFollows, .step = static_cast<std::uint8_t>(stat ? 1 : 6)};
  }
  if (scan.literal("IERR = ")) return ras_code(scan, event, "ierr", 2);
  if (scan.literal("SERR = ")) return ras_code(scan, event, "serr", 3);
  // "Overflow (there may be more errors) - Uncorrectable"
  if (scan.literal("Overflow (there may be more errors) - ")) event.set_bool("overflow", true);
  if (scan.literal("Uncorrectable") || scan.literal("Uncorrected (this is fatal)")) {
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

// "Kernel panic - not syncing: UE on any memory (csrow:0 ...)", "A57 CPU Memory Error on CPU 2 (A57
// Core 1)", "CPU3: RAS: FHI 27 detected".
Piece named_error(std::string_view text, Event& event) {
  Scan scan(text);
  event.reset(EventKind::kMemoryError);
  const bool panic = scan.literal("Kernel panic - not syncing: ");
  scan.literal("EDAC MC: ");
  if (panic && scan.literal("UE ")) {
    event.set_text("severity", "UE");
    event.set_text("outcome", "panic");
    if (scan.literal("on ")) set_if(event, "label", trim(scan.up_to("(")));
    return {.role = Role::kWhole};
  }
  scan = Scan(text);
  scan.blanks();
  if (const auto core = scan.until(" CPU Memory Error on CPU ")) {
    if (!is_kernel_name(*core) || !take_natural(scan, event, "cpu")) return {};
    event.set_text("source", *core);
    return {.role = Role::kWhole};
  }
  if (!scan.literal("CPU") || !take_natural(scan, event, "cpu")) return {};
  if (!scan.literal(": RAS: FHI ") || !contains(scan.rest(), " detected")) return {};
  event.set_text("source", "RAS");
  return {.role = Role::kWhole};
}

// DRAM ECC of TX2i and Xavier: "dram-ecc: EMC_ECC_ERR_REQ = 0x00010203", four more registers, and
// "dram-ecc: D.X.R.B.C.S.L:0.2.0x3f1a.5.0x1c0.0.0".
Piece dram_ecc(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("dram-ecc: ")) return {};
  event.reset(EventKind::kMemoryError);
  event.set_text("source", "DRAM");
  if (scan.literal("EMC_ECC_ERR_REQ = ")) {
    if (!take_hex(scan, event, "status")) return {};
    return {.role = Role::kOpens};
  }
  if (scan.literal("ECC Err unknown source")) {
    if (scan.past("status = ")) take_hex(scan, event, "status");
    return {.role = Role::kWhole};
  }
  if (scan.literal("EMC_ECC_ERR_ADDR = ")) {
    if (!take_hex(scan, event, "addr")) return {};
    return {.role = Role::kFollows, .step = 1};
  }
  if (!scan.literal("D.X.R.B.C.S.L:")) return {};
  set_if(event, "location", scan.up_to(" "));
  return {.role = Role::kFollowsOrOpens, .step = 2, .last = true};
}

// What a driver of EDAC prints itself: "xgene-edac 78800000.edac: IOB double-bit uncorrectable
// memory at 0x1.00000000 error".
Piece edac_driver(std::string_view text, Event& event) {
  const DriverLine line = driver_line(text);
  const bool edac = line.driver.ends_with("-edac") || line.driver.ends_with("_edac");
  if (line.dev.empty() || !edac || !contains(text, "edac ")) return {};
  const Words words(line.text);
  const bool errs = words.has_any({"ecc error", "parity error", "memory error", "bit error",
                                   "uncorrectable error", "correctable error"}) ||
                    words.has_any({"single-bit", "double-bit", "multiple-bit"});
  if (!errs || words.has_any({"fail", "unable", "could not", "clearing", "enable", "no ecc"})) {
    return {};
  }
  event.reset(EventKind::kMemoryError);
  event.set_text("source", line.dev);
  if (words.has_any({"uncorrect", "double-bit", "multi-bit"})) {
    event.set_text("severity", "UE");
  } else if (words.has_any({"correctable", "single-bit"})) {
    event.set_text("severity", "CE");
  }
  event.set_text("error", line.text);
  return {.role = Role::kWhole, .by_words = true};
}

Piece serror(std::string_view text, Event& event) {
  Scan scan(text);
  // L4T 4.9: "CPU1: SError detected, daif=140, spsr=0x40000045, mpidr=80000001, esr=bf000002"
  if (scan.literal("CPU")) {
    event.reset(EventKind::kMemoryError);
    event.set_text("error", "SError");
    if (!take_natural(scan, event, "cpu") || !scan.literal(": SError detected")) return {};
    if (scan.past(" esr=")) {
      if (const auto code = scan.hex()) event.set_hex("code", parse_hex(*code).value_or(0));
    }
    return {.role = Role::kWhole};
  }
  // The second: up to 4.14.
  if (!scan.literal("SError Interrupt on CPU") &&
      !scan.literal("Bad mode in Error handler detected on CPU")) {
    return {};
  }
  event.reset(EventKind::kMemoryError);
  event.set_text("error", "SError");
  if (!take_natural(scan, event, "cpu") || !scan.literal(", code 0x")) return {};
  const auto code = scan.hex();
  if (!code) return {};
  event.set_hex("code", parse_hex(*code).value_or(0));
  return {.role = Role::kWhole};
}

bool is_software_fault(const Event& event) {
  return contains(event.text("serr"), "software fault") ||
         contains(event.text("ierr"), "software fault");
}

std::string times(std::int64_t count) {
  return count == 1 ? "once" : std::to_string(count) + " times";
}

}  // namespace

Piece decode_hardware_error(std::string_view text, Event& event) {
  return first_piece({edac, dram_ecc, ghes, ras, serror, named_error, edac_driver}, text, event);
}

void describe_hardware_error(const Event& event, std::string& out) {
  const std::string_view severity = event.text("severity");
  const auto count = event.number("count");
  if (event.has("mc") || event.has("device") || severity == "UE" || severity == "CE") {
    out += event.has("name") ? "a cache error was " : "a memory error was ";
    out += severity == "CE" ? "corrected" : severity == "UE" ? "not corrected" : "reported";
    if (count) out += ", " + times(*count);
    add_name(out, event, "label", ", in ");
    add_name(out, event, "name", ", in cache ");
    add_name(out, event, "instance", " of ");
    if (event.text("outcome") == "panic") out += "; the kernel stopped (panic)";
  } else if (event.text("error") == "SError") {
    out += "a CPU reports an asynchronous access error (SError)";
  } else if (event.text("source").empty()) {
    // APEI numbers its sources.
    out += "the firmware reports a hardware error";
    add_quote(out, event, "severity", " (", ")");
    add_quote(out, event, "section_type", ", section \"", "\"", 80);
    add_name(out, event, "label", ", in ");
    add_name(out, event, "fru_text", ", part ");
    add_quote(out, event, "location", " (", ")", 160);
    add_name(out, event, "physical_address", ", address ");
  } else {
    // The program or driver addressed what is not there: no memory is broken.
    const bool software = is_software_fault(event);
    out += software ? "the error records report an access to an address that does not exist"
                    : "the error records report ";
    if (software) {
      add_name(out, event, "source", " in ");
      return;
    }
    out += severity == "Correctable" ? "a corrected error" : "an error";
    if (severity == "Uncorrectable") out += " that was not corrected";
    add_name(out, event, "source", " in ");
  }
}

}  // namespace jetmem::kernel_log
