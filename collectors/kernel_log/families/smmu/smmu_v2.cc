// SPDX-License-Identifier: Apache-2.0
// arm-smmu (SMMUv2). One context fault is, by kernel:
//   Unhandled context fault: [smmuN, ]iova=, fsynr=, cb=, sid=N(0xN - NAME), pgd=, pud=, pmd=, pte=
//     (L4T 4.9)
//   Unhandled context fault: fsr=, iova=, fsynr=, [cbfrsynra=, ]cb=   (cbfrsynra from 5.2 on)
//   FSR    = %08x [Format=2 TF], SID=0x%x         (also, from about 6.11 on; vendors without
//   Format) FSYNR0 = %08x [S1CBNDX=%u WNR PLVL=%u]
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/event/registers.h"
#include "collectors/kernel_log/families/smmu/smmu_parts.h"

namespace jetmem::kernel_log::smmu {
namespace {

struct Key {
  std::string_view printed;
  std::string_view field;
};
// Numbers in hexadecimal, kept as printed.
constexpr Key kHexKeys[] = {{"fsr", "fsr"},
                            {"iova", "iova"},
                            {"fsynr", "fsynr"},
                            {"fsynr0", "fsynr"},
                            {"cbfrsynra", "cbfrsynra"},
                            {"pgd", "pgd"},
                            {"pud", "pud"},
                            {"pmd", "pmd"},
                            {"pte", "pte"}};

std::string_view hex_field(std::string_view key) {
  for (const Key& known : kHexKeys) {
    if (known.printed == key) return known.field;
  }
  return {};
}

// "17(0x11 - AFI)"
bool take_sid(Scan& scan, Event& event) {
  if (!take_natural(scan, event, "sid")) return false;
  if (!scan.literal("(")) return at_word_end(scan);
  const auto described = scan.until(")");
  if (!described) {  // the end of the line is lost
    scan.up_to("");
    return true;
  }
  scan.literal(")");  // of a "(null)"
  Scan inside(*described);
  if (!inside.hex() || !inside.literal(" - ")) return false;
  if (is_kernel_name(inside.rest())) event.set_text("client", inside.rest());
  return true;
}

// One "key=value"; a key that is not known is passed over.
bool take_pair(std::string_view key, Scan& scan, Event& event) {
  if (key == "sid") return take_sid(scan, event);
  if (key == "cb") {
    return take_number(scan, event, "cb") && at_word_end(scan);
  }
  const std::string_view field = hex_field(key);
  if (field.empty()) {
    scan.up_to(",");
    return true;
  }
  const auto value = scan.hex();
  if (!value || !at_word_end(scan)) return false;
  // All but "pte" have more behind them: what ends with the line was cut off.
  if (!scan.at_end() || field == "pte") event.set_text(field, *value);
  return true;
}

Piece context_fault(Scan scan, Event& event) {
  while (!scan.at_end()) {
    const std::string_view key = scan.up_to("=,");
    if (scan.literal("=") && !take_pair(key, scan, event)) {
      // The end of a line may be lost; a wrong value within it is another matter.
      if (!scan.at_end() && scan.rest() != "0x") return {};
      break;
    }
    // Mail and vendors move the blank.
    if (!scan.literal(",")) break;
    scan.blanks();
  }
  if (!event.has("iova") && !event.has("fsr")) return {};
  // Only kernels that print cbfrsynra go on.
  const Role role = event.has("cbfrsynra") ? Role::kOpens : Role::kWhole;
  return {.role = role, .join = kDev};
}

// "FSR    = 00000402 [": the number, and the place behind the bracket.
bool take_register(Scan& scan, std::string_view name, std::string_view field, Event& event) {
  if (!scan.literal(name)) return false;
  scan.blanks();
  if (!scan.literal("=")) return false;
  scan.blanks();
  const auto digits = scan.hex();
  const auto value = digits ? parse_hex(*digits) : std::nullopt;
  if (!value || !is_whole_register(*digits) || !at_word_end(scan)) return false;
  event.set_hex(field, *value);
  return true;
}

Piece fsr_line(Scan scan, Event& event) {
  if (!take_register(scan, "FSR ", "fsr", event)) return {};
  scan.blanks();
  if (scan.literal("[")) {
    if (const auto list = scan.until("]")) {
      std::string_view flags = *list;
      for (int n = 0; n < 12; ++n) {
        const std::string_view flag = take_word(flags);
        if (flag.empty()) break;
        if (is_kernel_name(flag)) event.add_item("flags", flag);
      }
    }
  }
  if (scan.literal(", SID=")) {
    const auto sid = scan.hex();
    if (sid && at_word_end(scan)) event.set_text("cbfrsynra", *sid);
  }
  return {.role = Role::kFollowsOrOpens, .step = 1, .join = kDev};
}

Piece fsynr0_line(Scan scan, Event& event) {
  if (!take_register(scan, "FSYNR0 ", "fsynr", event)) return {};
  return {.role = Role::kFollowsOrOpens, .step = 2, .last = true, .join = kDev};
}

// "GFSR 0x00000002, GFSYNR0 0x00000002, GFSYNR1 0x00000043, GFSYNR2 0x00000000"
Piece gfsr_line(Scan scan, Event& event) {
  constexpr std::array<Key, 4> kRegisters{{{"GFSR ", "gfsr"},
                                           {"GFSYNR0 ", "gfsynr0"},
                                           {"GFSYNR1 ", "gfsynr1"},
                                           {"GFSYNR2 ", "gfsynr2"}}};
  for (const Key& key : kRegisters) {
    if (!scan.literal(key.printed)) break;
    const auto value = scan.hex();
    if (!value || !is_whole_register(*value) || !at_word_end(scan)) break;
    event.set_text(key.field, *value);
    if (!scan.literal(", ")) break;
  }
  if (!event.has("gfsr")) return {};
  // L4T 4.9: "fault_addr=0xfe000000, sid=82(0x52 - NVDLA1)"
  if (scan.literal("fault_addr=")) {
    const auto address = scan.hex();
    if (address && !scan.at_end()) event.set_text("fault_addr", *address);
    scan.literal(", ");
  }
  if (scan.literal("sid=")) take_sid(scan, event);
  return {.role = Role::kFollowsOrOpens, .step = 1, .last = true, .join = kDev};
}

Piece blocked_stream(Scan scan, Event& event) {
  const auto sid = scan.hex();
  if (!sid || !at_word_end(scan)) return {};
  // What to boot with always follows.
  if (!scan.at_end()) event.set_text("sid", *sid);
  event.set_text("fault", "unidentified stream");
  return {.role = Role::kOpens, .join = kDev};
}

// "Unexpected context fault (fsr 0x408) smmu1"
Piece unexpected_fault(Scan scan, Event& event) {
  const auto fsr = scan.hex();
  if (!fsr || !scan.literal(")")) return {};
  event.set_text("fsr", *fsr);
  return {.role = Role::kWhole, .join = kDev};
}

void begin(EventKind kind, std::string_view device, Event& event) {
  event.reset(kind);
  event.set_text(kDev, device);
}

}  // namespace

std::optional<std::uint32_t> register_of(const Event& event, std::string_view name) {
  const std::optional<std::uint64_t> value = event.hex(name);
  if (!value || *value > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

Piece decode_v2(std::string_view device, Scan message, Event& event) {
  begin(EventKind::kSmmuContextFault, device, event);
  if (message.literal("Unhandled context fault: ")) return context_fault(message, event);
  if (message.literal("Unexpected context fault (fsr ")) return unexpected_fault(message, event);
  if (message.rest().substr(0, 4) == "FSR ") return fsr_line(message, event);
  if (message.rest().substr(0, 7) == "FSYNR0 ") return fsynr0_line(message, event);

  begin(EventKind::kSmmuGlobalFault, device, event);
  if (message.literal("Blocked unknown Stream ID ")) return blocked_stream(message, event);
  if (message.rest().substr(0, 5) == "GFSR ") return gfsr_line(message, event);
  // L4T 4.9 says {global,context} in the same place.
  if (message.literal("Unexpected global fault, this could be serious") ||
      message.literal("Unexpected {global,context} fault, this could be serious")) {
    return {.role = Role::kOpens, .join = kDev};
  }
  return {};
}

void complete_context_fault(Event& event, Soc soc) {
  if (const auto fsr = register_of(event, "fsr")) {
    const BitNames faults = fsr_faults(*fsr);
    if (!faults.text().empty()) event.set_text("fault", faults.text());
  }
  if (const auto fsynr = register_of(event, "fsynr")) {
    const Fsynr0 access = fsynr0_of(*fsynr);
    event.set_text("rw", access.write ? "write" : "read");
    event.set_number("plvl", access.level);
    event.set_bool("priv", access.privileged);
  }
  if (soc == Soc::kUnknown) return;
  event.set_text("soc", soc_name(soc));
  const auto raw = register_of(event, "cbfrsynra");
  if (!raw || event.has("sid")) return;
  const auto sid = stream_id(soc, event.text("dev"), *raw);
  if (!sid) return;
  event.set_hex("sid", *sid);
  const std::string_view client = stream_client(soc, event.text("dev"), *raw);
  set_if(event, "client", client);
}

void complete_global_fault(Event& event, Soc soc) {
  if (const auto gfsr = register_of(event, "gfsr")) {
    const BitNames faults = gfsr_faults(*gfsr);
    if (!faults.text().empty()) event.set_text("fault", faults.text());
  }
  if (const auto gfsynr1 = register_of(event, "gfsynr1")) {
    event.set_hex("sid", *gfsynr1 & 0xffffU);
  }
  if (soc == Soc::kUnknown) return;
  event.set_text("soc", soc_name(soc));
  const auto raw = register_of(event, "sid");
  if (!raw) return;
  if (const auto sid = stream_id(soc, event.text("dev"), *raw)) event.set_hex("sid", *sid);
  const std::string_view client = stream_client(soc, event.text("dev"), *raw);
  if (!event.has("client")) set_if(event, "client", client);
}

}  // namespace jetmem::kernel_log::smmu
