// SPDX-License-Identifier: Apache-2.0
// Accesses that reach no device or are refused on the way: the control backbone (CBB) of Xavier and
// later in blocks of lines, bridges, host1x registers, DMA engines.
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 17> kBusErrorAnchors{", Error:",
                                                            "Error Code\t",
                                                            "Error Code  ",
                                                            "Error Code\\x09",
                                                            "Error Code ",
                                                            "Address\t",
                                                            "Address  ",
                                                            "Address\\x09",
                                                            "MASTER_ID",
                                                            "Slave\t",
                                                            "Fabric\t",
                                                            "bridge error",
                                                            "Machine check error in ",
                                                            " timeout at address ",
                                                            "DMA burst completion",
                                                            "Access_Type",
                                                            "Address "};

// "  Error Code\t\t: SLAVE_ERR": the value behind the label, blanks and colon.
std::string_view value_of(std::string_view text, std::string_view label) {
  Scan scan(text);
  if (!scan.literal(label)) return {};
  for (;;) {
    scan.blanks();
    if (!scan.literal("\\x09")) break;
  }
  if (!scan.literal(":")) return {};
  scan.blanks();
  return trim(scan.rest());
}

// "CPU:0, Error: cbb-fabric@0x13a00000, irq=213", "CPU:1, Error:CBB-NOC@0x2300000,irq=14"
Piece fabric(std::string_view text, Event& event) {
  Scan scan(text);
  event.reset(EventKind::kBusError);
  if (!scan.literal("CPU:") || !take_natural(scan, event, "cpu")) return {};
  if (!scan.literal(", Error:")) return {};
  scan.blanks();
  const std::string_view name = scan.up_to("@, ");
  if (!is_kernel_name(name)) return {};
  event.set_text("fabric", name);
  if (scan.literal("@")) take_hex(scan, event, "base");
  // "CPU:0, Error:cbb-fabric, Errmon:2": newer kernels say it twice.
  if (contains(scan.rest(), "Errmon:")) return {.role = Role::kFollowsOrOpens, .step = 1};
  return {.role = Role::kOpens};
}

struct Detail {
  std::string_view label;
  std::string_view field;
  std::uint8_t step;
};
constexpr std::array kDetails{Detail{"Error Code", "error", 2}, Detail{"MASTER_ID", "client", 3},
                              Detail{"Address", "address", 4}, Detail{"Access_Type", "rw", 5},
                              Detail{"Slave", "slave", 6}};

Piece detail(std::string_view text, Event& event) {
  skip_blanks(text);
  while (take_prefix(text, "\\x09")) skip_blanks(text);
  for (const Detail& known : kDetails) {
    const std::string_view value = value_of(text, known.label);
    if (value.empty()) continue;
    event.reset(EventKind::kBusError);
    if (known.field == "address") {
      Scan scan(value);
      const auto digits = scan.hex();
      if (!digits) return {};
      event.set_text("address", *digits);
    } else if (known.field == "rw") {
      if (value.substr(0, 4) != "Read" && value.substr(0, 5) != "Write") return {};
      event.set_text("rw", value.front() == 'R' ? "read" : "write");
    } else {
      if (!is_kernel_words(value)) return {};
      event.set_text(known.field, value);
    }
    return {.role = Role::kFollows, .step = known.step};
  }
  // "AXI2APB_3 bridge error: FIFOF"
  Scan scan(text);
  const auto bridge = scan.until(" bridge error: ");
  if (!bridge || !is_kernel_name(*bridge)) return {};
  event.reset(EventKind::kBusError);
  event.set_text("fabric", *bridge);
  if (is_kernel_words(scan.rest())) event.set_text("error", scan.rest());
  return {.role = Role::kWhole};
}

// "CPU0 Machine check error in AXI2APB_1@0x2390000:"
Piece bridge_check(std::string_view text, Event& event) {
  Scan scan(text);
  event.reset(EventKind::kBusError);
  if (!scan.literal("CPU") || !take_natural(scan, event, "cpu")) return {};
  if (!scan.literal(" Machine check error in ")) return {};
  const std::string_view name = scan.up_to("@: ");
  if (!is_kernel_name(name)) return {};
  event.set_text("fabric", name);
  if (scan.literal("@")) take_hex(scan, event, "base");
  return {.role = Role::kWhole};
}

// "Host read timeout at address 13e2c010"
Piece host_timeout(std::string_view text, Event& event) {
  Scan scan(text);
  scan.literal("tegra-host1x ");
  const bool read = scan.literal("Host read timeout at address ");
  if (!read && !scan.literal("Host write timeout at address ")) return {};
  event.reset(EventKind::kBusError);
  event.set_text("error", "timeout");
  event.set_text("rw", read ? "read" : "write");
  if (!take_hex(scan, event, "address")) return {};
  return {.role = Role::kWhole};
}

// "tegra-gpcdma 2600000.dma-controller: Timeout waiting for DMA burst completion!"
Piece dma_engine(std::string_view text, Event& event) {
  if (!contains(text, "Timeout waiting for DMA burst completion")) return {};
  const DriverLine line = driver_line(text);
  if (line.dev.empty()) return {};
  event.reset(EventKind::kBusError);
  event.set_text("dev", line.dev);
  event.set_text("error", "timeout");
  event.set_text("text", line.text);
  return {.role = Role::kWhole};
}

Piece decode_bus_error(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  const Piece piece =
      first_piece({fabric, bridge_check, detail, host_timeout, dma_engine}, text, event);
  if (piece.role == Role::kNothing || !contains_any(text, kBusErrorAnchors)) return {};
  return piece;
}

void describe_bus_error(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kBusError) return;
  out += "an access";
  add_number(out, event, "cpu", " of CPU ");
  add_name(out, event, "dev", " of ");
  add_name(out, event, "client", " by ");
  add_name(out, event, "address", " to address ");
  out += " failed on the bus";
  add_name(out, event, "fabric", " ");
  add_quote(out, event, "error", " (", ")");
  add_name(out, event, "slave", ", reached through ");
}

}  // namespace

const Family kBusError{.name = "bus_error",
                       .anchors = kBusErrorAnchors,
                       .decode = decode_bus_error,
                       .describe = describe_bus_error};

}  // namespace jetmem::kernel_log
