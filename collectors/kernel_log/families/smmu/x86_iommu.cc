// SPDX-License-Identifier: Apache-2.0
// The IOMMUs of x86. AMD's (drivers/iommu/amd/iommu.c, before 5.8 drivers/iommu/amd_iommu.c), of
// one form with different keys; kernels that print it in two pieces have a record for each:
//   [DRIVER DEVICE: ]AMD-Vi: Event logged [NAME [device=BB:DD.F] domain= address= flags=]
//   AMD-Vi: Event logged [
//   NAME device=BB:DD.F domain= address= flags=]
// Intel's (drivers/iommu/intel/dmar.c, before 5.8 drivers/iommu/dmar.c), up to 3.x in two lines:
//   DMAR: [DMA Read|Write[ NO_PASID| PASID 0x%x]] Request device [BB:DD.F][ PASID %x] fault addr
//   %llx
//     [fault reason %d] TEXT
//   DMAR:[fault reason 06] PTE Read access is not set
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/families/smmu/smmu_parts.h"

namespace jetmem::kernel_log::smmu {
namespace {

// A read or write bit that is not set: nothing is mapped there, or not for this access. Tables
// without a present bit do not tell which.
constexpr std::string_view kUnmappedOrForbidden = "translation or permission";

struct AmdEvent {
  std::string_view name;
  EventKind kind;
  std::string_view fault;  // of a context fault; empty: its flags tell
};
constexpr AmdEvent kAmdEvents[] = {
    {"IO_PAGE_FAULT", EventKind::kSmmuContextFault, ""},
    {"ILLEGAL_DEV_TABLE_ENTRY", EventKind::kSmmuContextFault, "configuration"},
    {"INVALID_DEVICE_REQUEST", EventKind::kSmmuContextFault, "invalid request"},
    {"INVALID_PPR_REQUEST", EventKind::kSmmuContextFault, "invalid page request"},
    {"RMP_PAGE_FAULT", EventKind::kSmmuContextFault, "reverse map"},
    {"DEV_TAB_HARDWARE_ERROR", EventKind::kSmmuError, ""},
    {"PAGE_TAB_HARDWARE_ERROR", EventKind::kSmmuError, ""},
    {"ILLEGAL_COMMAND_ERROR", EventKind::kSmmuError, ""},
    {"COMMAND_HARDWARE_ERROR", EventKind::kSmmuError, ""},
    {"IOTLB_INV_TIMEOUT", EventKind::kSmmuError, ""},
    {"RMP_HW_ERROR", EventKind::kSmmuError, ""}};

struct AmdKey {
  std::string_view printed;
  std::string_view field;
};
constexpr AmdKey kAmdKeys[] = {{"domain", "domain"}, {"pasid", "pasid"},       {"address", "iova"},
                               {"gpa", "gpa"},       {"flags", "event_flags"}, {"spa", "spa"}};

// "02:00.0", "0000:02:00.0", "0x00:0x02.0"
bool is_pci_device(std::string_view text) {
  return is_kernel_name(text) && contains(text, ":") && contains(text, ".");
}

// "device=02:00.0 domain=0x000d address=0xcff49550 flags=0x0070]"
void take_amd_fields(Scan scan, Event& event) {
  for (;;) {
    scan.blanks();
    const std::string_view key = scan.up_to("= ]");
    if (!scan.literal("=")) return;
    const std::string_view value = scan.up_to(" ,]");
    // What ends with the line may have been cut off.
    if (scan.at_end()) return;
    scan.literal(",");
    if (key == "device" && is_pci_device(value)) event.set_text("client", value);
    for (const AmdKey& known : kAmdKeys) {
      if (known.printed == key && parse_hex(value)) event.set_text(known.field, value);
    }
  }
}

// The flags of an IO_PAGE_FAULT, by AMD's specification of the IOMMU (48882). False for an
// interrupt, which is no access to memory.
bool set_amd_flags(Event& event) {
  const auto flags = event.hex("event_flags");
  if (!flags) return true;
  const bool interrupt = (*flags & 0x008U) != 0;
  const bool present = (*flags & 0x010U) != 0;
  const bool write = (*flags & 0x020U) != 0;
  const bool forbidden = (*flags & 0x040U) != 0;
  const bool translation_request = (*flags & 0x100U) != 0;
  if (interrupt) return false;
  // Of an absent page a read is not told from an unknown access.
  if (!translation_request && (present || write)) event.set_text("rw", write ? "write" : "read");
  if (!present) event.set_text("fault", "translation");
  if (present && forbidden) event.set_text("fault", "permission");
  return true;
}

Piece amd_event(std::string_view device, Scan scan, Event& event) {
  for (const AmdEvent& known : kAmdEvents) {
    Scan fields = scan;
    if (!fields.literal(known.name) || !at_word_end(fields)) continue;
    event.reset(known.kind);
    event.set_text(kDev, kAmdIommu);
    set_if(event, "client", device);
    event.set_text(known.kind == EventKind::kSmmuError ? "error" : "name", known.name);
    take_amd_fields(fields, event);
    if (known.kind != EventKind::kSmmuContextFault) return {.role = Role::kWhole};
    set_if(event, "fault", known.fault);
    if (known.fault.empty() && !set_amd_flags(event)) return {};
    return {.role = Role::kWhole};
  }
  return {};
}

Piece amd_error(std::string_view text, Event& event) {
  const Words words(text);
  if (!reports_timeout(words) && !words.has("event log overflow")) return {};
  event.reset(EventKind::kSmmuError);
  event.set_text(kDev, kAmdIommu);
  event.set_text("error", text);
  return {.role = Role::kWhole};
}

Piece decode_amd(std::string_view text, Event& event) {
  Scan scan(text);
  if (const auto before = scan.until("AMD-Vi: ")) {
    // "iommu ivhd0: ": the IOMMU reports, and names the device behind it.
    const auto head = dev_line(*before);
    if (!before->empty() && (!head || !head->text.empty())) return {};
    const bool by_iommu = !head || head->driver == "iommu" || head->driver.empty();
    if (!scan.literal("Event logged ["))
      return by_iommu ? amd_error(trim(scan.rest()), event) : Piece{};
    return amd_event(by_iommu ? std::string_view() : head->dev, scan, event);
  }
  // The second piece.
  return trim(text).ends_with("]") ? amd_event({}, Scan(text), event) : Piece{};
}

// By the driver's words for a fault reason.
std::string_view fault_of_reason(std::string_view reason) {
  const Words words(reason);
  if (words.has_any({"write access is not set", "read access is not set",
                     "permission error in second-level"})) {
    return kUnmappedOrForbidden;
  }
  if (words.has_any({"beyond", "canonical"})) return "address size";
  if (words.has("attempting to access")) return "external abort";
  if (words.has("present bit in first-level")) return "translation";
  if (words.has_any({"permission", "privilege"})) return "permission";
  if (words.has_any({"invalid", "clear", "reserved", "blocking", "field"})) return "configuration";
  return {};
}

// "[fault reason 06] PTE Read access is not set"
bool take_reason(Scan scan, Event& event) {
  if (!scan.literal("[fault reason ") || !scan.hex() || !scan.literal("] ")) return false;
  const std::string_view reason = trim(scan.rest());
  if (!is_kernel_words(reason)) return false;
  event.set_text("reason", reason);
  set_if(event, "fault", fault_of_reason(reason));
  return true;
}

// " PASID 0x5": all ones stand for none.
bool take_pasid(Scan& scan, Event& event) {
  if (!scan.literal("PASID ")) return true;
  const auto pasid = scan.hex();
  const auto value = pasid ? parse_hex(*pasid) : std::nullopt;
  if (value && *value != UINT32_MAX) event.set_hex("pasid", *value);
  return value.has_value();
}

// "[DMA Read NO_PASID] Request device [00:02.0] fault addr 0x7cd80000 [fault reason 0x01] ..."
Piece intel_fault(Scan scan, Event& event) {
  event.reset(EventKind::kSmmuContextFault);
  event.set_text(kDev, kIntelIommu);
  if (scan.rest().starts_with("[fault reason ")) {
    if (!take_reason(scan, event)) return {};
    return {.role = Role::kFollows, .step = 1, .last = true, .join = kDev};
  }
  // "[INTR-REMAP]" is no access to memory.
  if (!scan.literal("[DMA ")) return {};
  const bool write = scan.literal("Write");
  if (!write && !scan.literal("Read")) return {};
  scan.literal(" NO_PASID");
  scan.blanks();
  if (!take_pasid(scan, event) || !scan.literal("] Request device [")) return {};
  std::string_view device = scan.up_to("] ");
  if (!scan.literal("]") || !is_pci_device(device)) return {};
  // 5.14: "0x00:0x02.0".
  std::array<char, 12> bare{};
  if (device.size() == 11 && device.starts_with("0x") && device.substr(5, 2) == "0x") {
    device.copy(bare.data(), 3, 2);
    device.copy(bare.data() + 3, 4, 7);
    device = {bare.data(), 7};
  }
  event.set_text("client", device);
  event.set_text("rw", write ? "write" : "read");
  scan.blanks();
  if (!take_pasid(scan, event)) return {};
  scan.blanks();
  if (!scan.literal("fault addr ")) return {};
  const auto address = scan.hex();
  const auto value = address ? parse_hex(*address) : std::nullopt;
  if (!value) return {};
  if (!scan.at_end()) event.set_hex("iova", *value);
  scan.blanks();
  const bool whole = take_reason(scan, event);
  return {.role = whole ? Role::kWhole : Role::kOpens, .join = kDev};
}

Piece decode_intel(std::string_view text, Event& event) {
  Scan scan(text);
  scan.literal("dmar: ");
  if (!scan.literal("DMAR:")) return {};
  scan.blanks();
  // "VT-d detected Invalidation Time-out Error: SID 0"
  if (scan.rest().starts_with("VT-d detected Invalidation ")) {
    event.reset(EventKind::kSmmuError);
    event.set_text(kDev, kIntelIommu);
    event.set_text("error", trim(scan.rest()));
    return {.role = Role::kWhole};
  }
  return intel_fault(scan, event);
}

}  // namespace

Piece decode_x86(std::string_view text, Event& event) {
  skip_blanks(text);
  const Piece piece = decode_amd(text, event);
  return piece.role != Role::kNothing ? piece : decode_intel(text, event);
}

}  // namespace jetmem::kernel_log::smmu
