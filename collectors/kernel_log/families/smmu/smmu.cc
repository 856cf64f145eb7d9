// SPDX-License-Identifier: Apache-2.0
// Faults and errors that the system MMUs report: arm-smmu (v2: smmu_v2.cc), arm-smmu-v3
// (smmu_v3.cc), troubles of the units themselves, of both, and the IOMMUs of x86 (x86_iommu.cc).
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/event/registers.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/sentence_parts.h"
#include "collectors/kernel_log/families/smmu/smmu_parts.h"

namespace jetmem::kernel_log {
namespace {

using smmu::kDev;

constexpr std::string_view kSmmuAnchors[] = {"arm-smmu",
                                             "out of range for SMMU",
                                             "illegal stream id",
                                             "AMD-Vi: ",
                                             "DMAR:",
                                             "IO_PAGE_FAULT",
                                             "ILLEGAL_DEV_TABLE_ENTRY",
                                             "INVALID_DEVICE_REQUEST",
                                             "INVALID_PPR_REQUEST",
                                             "RMP_PAGE_FAULT",
                                             "_HARDWARE_ERROR",
                                             "ILLEGAL_COMMAND_ERROR",
                                             "IOTLB_INV_TIMEOUT",
                                             "RMP_HW_ERROR"};

// A global error of a v3 unit is one line with the register, then one for each bit, in this order.
struct UnitError {
  std::string_view text;
  std::uint8_t step;  // within a global error; 0: an event by itself
};
constexpr UnitError kUnitErrors[] = {{"TLB sync timed out", 0},
                                     {"TLB global sync failed", 0},
                                     {"EVTQ overflow detected", 0},
                                     {"PRIQ overflow detected", 0},
                                     {"CMDQ timeout", 0},
                                     {"CMD_SYNC timeout", 0},
                                     {"device has entered Service Failure Mode", 1},
                                     {"GERROR MSI write aborted", 2},
                                     {"PRIQ MSI write aborted", 3},
                                     {"EVTQ MSI write aborted", 4},
                                     {"CMDQ MSI write aborted", 5},
                                     {"PRIQ write aborted", 6},
                                     {"EVTQ write aborted", 7}};

// "TLB sync on cb3 failed for device 17000000.gpu"
Piece tlb_sync_of_bank(Scan scan, Event& event) {
  event.set_text("error", "TLB sync failed");
  if (!take_number(scan, event, "cb") || !scan.literal(" failed for device ")) return {};
  const std::string_view client = scan.up_to(" ");
  if (is_kernel_name(client)) event.set_text("client", client);
  return {.role = Role::kWhole, .join = kDev};
}

// "unexpected global error reported (0x00000001), this could be serious"
Piece global_error(Scan scan, Event& event) {
  const auto gerror = scan.hex();
  if (!gerror || gerror->size() > 10 || !scan.literal(")")) return {};
  event.set_text("error", "unexpected global error reported");
  event.set_text("gerror", *gerror);
  return {.role = Role::kOpens, .join = kDev};
}

// "CMDQ error (cons 0x01000f24): Illegal command"
Piece command_error(Scan scan, Event& event) {
  const auto cons = scan.hex();
  if (!cons || cons->size() > 10 || !scan.literal("): ")) return {};
  event.set_text("error", "CMDQ error");
  event.set_text("cons", *cons);
  if (is_kernel_words(scan.rest())) event.set_text("reason", scan.rest());
  return {.role = Role::kFollowsOrOpens, .step = 8, .last = true, .join = kDev};
}

// "failed to request context IRQ 3 (187)", "GBPA not responding to update", "no evtq irq - events
// will not be reported!". What the unit gets no memory for is known by other words.
Piece other_unit_error(std::string_view text, Event& event) {
  const Words words(text);
  const bool fails = reports_failure(words) || reports_timeout(words) ||
                     words.has_any({"will not be reported", "missing, device faults",
                                    "out of range", "does not fit", "translation fault"});
  const bool memory = words.has("alloc") && !words.has("smr");
  if (!fails || memory || words.has_any({"-517", "defer", "clock", "clk"})) return {};
  event.set_text("error", text);
  return {.role = Role::kWhole, .join = kDev};
}

Piece decode_unit_error(std::string_view device, Scan message, Event& event) {
  event.reset(EventKind::kSmmuError);
  event.set_text(kDev, device);
  if (message.literal("TLB sync on cb")) return tlb_sync_of_bank(message, event);
  if (message.literal("unexpected global error reported (")) return global_error(message, event);
  if (message.literal("CMDQ error (cons ")) return command_error(message, event);
  // Qualcomm's driver looks a faulting address up once more.
  if (message.literal("SOFTWARE TABLE WALK FAILED")) {
    event.reset(EventKind::kSmmuContextFault);
    event.set_text(kDev, device);
    return {.role = Role::kFollowsOrOpens, .step = 9, .join = kDev};
  }
  for (const UnitError& error : kUnitErrors) {
    if (!message.literal(error.text)) continue;
    if (!at_word_end(message)) return {};
    event.set_text("error", error.text);
    if (error.step == 0) return {.role = Role::kWhole, .join = kDev};
    return {.role = Role::kFollowsOrOpens, .step = error.step, .join = kDev};
  }
  return other_unit_error(message.rest(), event);
}

// "platform 15340000.vic: stream ID 0x8035 out of range for SMMU (0x7fff)", "tegra-gpcdma
// 2600000.dma-controller: GPCDMA CH2 illegal stream id"
Piece bad_stream(std::string_view text, Event& event) {
  const bool range = contains(text, " out of range for SMMU");
  if (!range && !contains(text, " illegal stream id")) return {};
  const DriverLine line = driver_line(text);
  if (line.dev.empty()) return {};
  event.reset(EventKind::kSmmuError);
  event.set_text("client", line.dev);
  event.set_text("error", range ? "stream ID out of range" : "illegal stream ID");
  return {.role = Role::kWhole};
}

Piece decode_smmu(std::string_view text, Event& event) {
  Scan v2(text);
  Scan v3(text);
  if (const auto device = take_device(v2, "arm-smmu ")) {
    const Piece piece = smmu::decode_v2(*device, v2, event);
    return piece.role != Role::kNothing ? piece : decode_unit_error(*device, v2, event);
  }
  if (const auto device = take_device(v3, "arm-smmu-v3 ")) {
    const Piece piece = smmu::decode_v3(*device, v3, event);
    return piece.role != Role::kNothing ? piece : decode_unit_error(*device, v3, event);
  }
  const Piece piece = smmu::decode_x86(text, event);
  return piece.role != Role::kNothing ? piece : bad_stream(text, event);
}

void complete(Event& event, Soc soc) {
  switch (event.kind()) {
    case EventKind::kSmmuContextFault:
      smmu::complete_context_fault(event, soc);
      break;
    case EventKind::kSmmuGlobalFault:
      smmu::complete_global_fault(event, soc);
      break;
    case EventKind::kSmmuV3Event:
      smmu::complete_v3_event(event, soc);
      break;
    default:
      if (const auto gerror = smmu::register_of(event, "gerror")) {
        const BitNames faults = gerror_faults(*gerror);
        if (!faults.text().empty()) event.set_text("fault", faults.text());
      }
      break;
  }
}

void append(std::string& out, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) out.append(part);
}

std::string_view unit_word(const Event& event) {
  const std::string_view dev = event.text("dev");
  return dev == smmu::kAmdIommu || dev == smmu::kIntelIommu ? "IOMMU" : "SMMU";
}

// "host1x_ctx0 on SMMU 12000000.iommu"
void append_device(const Event& event, std::string& out) {
  if (event.text("client") == "invalid" && !event.text("sid").empty()) {
    append(out, {"stream ID ", event.text("sid"), " (invalid)"});
  } else if (event.has("client")) {
    append(out, {event.text("client")});
  } else if (!event.text("sid").empty()) {
    append(out, {"stream ID ", event.text("sid")});
  } else if (const auto sid = event.number("sid")) {
    append(out, {"stream ID ", std::to_string(*sid)});
  } else if (event.has("cbfrsynra")) {
    append(out, {"an unknown device (cbfrsynra ", event.text("cbfrsynra"), ")"});
  } else {
    out += "an unknown device";
  }
  append(out, {" on ", unit_word(event), " ", event.text("dev")});
}

// " wrote to unmapped address 0x3ffded8000"
void append_access(const Event& event, bool unmapped, std::string& out) {
  const std::string_view rw = event.text("rw");
  out += rw == "write" ? " wrote to " : rw == "read" ? " read from " : " accessed ";
  if (!event.has("iova")) out += "an ";
  out += unmapped ? "unmapped address" : "address";
  if (event.has("iova")) append(out, {" ", event.text("iova")});
}

void append_fault(const Event& event, std::string& out) {
  const std::string_view fault = event.text("fault");
  if (fault.empty()) return;
  const bool several = fault.find(',') != std::string_view::npos;
  append(out, {several ? " (faults: " : " (", fault, several ? ")" : " fault)"});
}

void describe_smmu(const Event& event, std::string& out) {
  switch (event.kind()) {
    case EventKind::kSmmuContextFault: {
      const std::string_view fault = event.text("fault");
      const bool unmapped =
          (contains(fault, "translation") && !contains(fault, " or ")) || event.hex("pte") == 0U;
      append_device(event, out);
      append_access(event, unmapped, out);
      append_fault(event, out);
      break;
    }
    case EventKind::kSmmuGlobalFault:
      append_device(event, out);
      out += " did DMA that the SMMU refused";
      append_fault(event, out);
      break;
    case EventKind::kSmmuV3Event: {
      const std::string_view problem = smmu::v3_problem(event);
      append_device(event, out);
      if (event.has("iova")) {
        append_access(event, event.text("name") == "F_TRANSLATION", out);
      } else {
        out += " did DMA that the SMMU refused";
      }
      if (!problem.empty()) {
        append(out, {" (", problem, ")"});
      } else if (event.has("event")) {
        append(out, {" (event ", event.text("event"), ")"});
      }
      break;
    }
    case EventKind::kSmmuError:
      append(out, {"the ", unit_word(event)});
      if (event.has("dev")) append(out, {" ", event.text("dev")});
      add_quote(out, event, "error", " reports \"", "\"", 120);
      if (event.has("reason")) append(out, {", reason \"", event.text("reason"), "\""});
      if (event.has("client")) append(out, {", device ", event.text("client")});
      append_fault(event, out);
      break;
    default:
      break;
  }
}

}  // namespace

const Family kSmmu{.name = "smmu",
                   .anchors = kSmmuAnchors,
                   .decode = decode_smmu,
                   .describe = describe_smmu,
                   .complete = complete};

}  // namespace jetmem::kernel_log
