// SPDX-License-Identifier: Apache-2.0
// The memory controller's own errors. Mainline's tegra-mc, in one line:
//   CLIENT: [secure |non-secure ]read|write @ADDRESS: ERROR[ (TYPE[ [RWS]])]
//   gsc_apr_id=%u gsc_co_apr_id=%u             (Tegra264, behind a generalized carveout violation)
//   CLIENT: @ADDRESS: ERROR status:%u          (Tegra264's hubs)
//   channel:%i status:%lu                      (Tegra264, errors without a client)
// and L4T's mc-err, in three, with or without "[mcerr] ":
//   (SWGID) CLIENT: ERROR
//     status = 0x%08x; addr = 0x%08llx
//     secure: yes|no, access-type: read|write[, SMMU fault: TEXT]
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::string_view kMemoryControllerAnchors[] = {
    "tegra-mc ",  "mc-err: ",       "nv-tegra-mcerr ",   "access-type: ",
    "intr sig: ", "mc slave error", "security violation"};

void set_access(Event& event, bool secure, bool write) {
  event.set_bool("secure", secure);
  event.set_text("rw", write ? "write" : "read");
}

// "@0x00000003ffffff00: "
bool take_address(Scan& scan, Event& event) {
  if (!scan.literal("@")) return false;
  return take_hex(scan, event, "addr") && scan.literal(": ");
}

// "VPR violation ((null))", "EMEM address decode error (SMMU translation error [--S])"
bool take_error(std::string_view text, Event& event) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  const std::size_t at = text.find(" (");
  const std::string_view error = text.substr(0, at);
  if (!is_kernel_words(error)) return false;
  event.set_text("error", error);
  if (at == std::string_view::npos || text.back() != ')') return true;
  const std::string_view type = text.substr(at + 2, text.size() - at - 3);
  if (is_kernel_words(type)) event.set_text("type", type);
  return true;
}

// "coalescer error status:7"
bool take_hub_error(std::string_view text, Event& event) {
  Scan scan(text);
  const auto error = scan.until(" status:");
  const auto status = error ? scan.number() : std::nullopt;
  if (!status || !is_kernel_words(*error)) return false;
  event.set_text("error", *error);
  event.set_number("status", *status);
  return true;
}

Piece decode_channel(Scan scan, Event& event) {
  if (!take_number(scan, event, "channel") || !scan.literal(" status:")) return {};
  if (!take_number(scan, event, "status")) return {};
  return {.role = Role::kWhole, .join = "dev"};
}

Piece decode_carveout(Scan scan, Event& event) {
  if (!take_number(scan, event, "gsc_apr_id") || !scan.literal(" gsc_co_apr_id=")) return {};
  if (!take_number(scan, event, "gsc_co_apr_id")) return {};
  return {.role = Role::kFollows, .step = 1, .last = true, .join = "dev"};
}

Piece decode_mainline(std::string_view device, Scan scan, Event& event) {
  event.reset(EventKind::kMcError);
  event.set_text("dev", device);
  if (scan.literal("channel:")) return decode_channel(scan, event);
  if (scan.literal("gsc_apr_id=")) return decode_carveout(scan, event);

  const auto client = scan.until(": ");
  if (!client || !is_kernel_name(*client)) return {};
  event.set_text("client", *client);
  if (scan.rest().substr(0, 1) == "@") {
    if (!take_address(scan, event) || !take_hub_error(scan.rest(), event)) return {};
    return {.role = Role::kWhole, .join = "dev"};
  }
  const bool secure = scan.literal("secure ");
  if (!secure) scan.literal("non-secure ");
  const bool write = scan.literal("write ");
  if (!write && !scan.literal("read ")) return {};
  set_access(event, secure, write);
  if (!take_address(scan, event) || !take_error(scan.rest(), event)) return {};
  const bool goes_on = event.text("error") == "Generalized carveout violation";
  return {.role = goes_on ? Role::kOpens : Role::kWhole, .join = "dev"};
}

// "(255) csr_nvl7r: ", "(hda) csr_hdar: "; the oldest: "csr_hdar: "
bool take_l4t_client(Scan& scan, bool tagged, Event& event) {
  if (scan.literal("(")) {
    const auto group = scan.until(") ");
    if (!group || !is_kernel_name(*group)) return false;
    Scan number(*group);
    const auto swgid = number.number();
    if (swgid && number.at_end()) {
      event.set_number("swgid", *swgid);
    } else {
      event.set_text("swgid", *group);
    }
  } else if (!tagged) {
    return false;
  }
  const auto client = scan.until(": ");
  if (!client || !is_kernel_name(*client)) return false;
  event.set_text("client", *client);
  return true;
}

Piece padded_address(Scan scan, Event& event) {
  scan.blanks();
  const auto digits = scan.hex();
  const auto value = digits ? parse_hex(*digits) : std::nullopt;
  if (!value) return {};
  if (!scan.at_end()) event.set_hex("addr", *value);
  return {.role = Role::kFollowsOrOpens, .step = 1};
}

// "GSC_STATUS = 0x00000272;  addr(Hi + Low) = 0x22f000000; GSC_STATUS_1=0x00020010"
Piece carveout_status(Scan scan, Event& event) {
  if (!take_hex(scan, event, "status") || !scan.literal(";")) return {};
  scan.blanks();
  if (!scan.literal("addr(Hi + Low) = ")) return {};
  const auto address = scan.hex();
  if (address && !scan.at_end()) event.set_text("addr", *address);
  return {.role = Role::kFollowsOrOpens, .step = 1};
}

// "status = 0x20000015; addr = 0x00000000", also "addr = [0x%08lx -> 0x%08lx]"
Piece status_line(Scan scan, Event& event) {
  if (!take_hex(scan, event, "status") || !scan.literal("; ")) return {};
  // T23x: "hi_addr_reg = 0x00000000 addr = 0x3e0000000"
  if (scan.literal("hi_addr_reg = ") && (!scan.hex() || !scan.literal(" "))) return {};
  if (!scan.literal("addr = ")) return {};
  const bool range = scan.literal("[");
  // T19x pads with blanks: "0x       3ffffff00; hi_adr_reg=0x3".
  if (scan.literal("0x ")) return padded_address(scan, event);
  const auto address = scan.hex();
  if (!address) return {};
  // "0x%08llx": with fewer digits it was cut off, unless more stands behind it.
  if (address->size() >= 10 || !scan.at_end()) event.set_text("addr", *address);
  if (range && scan.literal(" -> ")) take_hex(scan, event, "addr_end");
  return {.role = Role::kFollowsOrOpens, .step = 1};
}

// "secure: no, access-type: read, SMMU fault: none"
Piece access_line(Scan scan, bool prefixed, Event& event) {
  const bool secure = scan.literal("yes, access-type: ");
  if (!secure && !scan.literal("no, access-type: ")) return {};
  const bool write = scan.literal("write");
  if (!write && !scan.literal("read")) return {};
  if (!at_word_end(scan)) return {};
  set_access(event, secure, write);
  if (scan.literal(", SMMU fault: ") && is_kernel_words(scan.rest()) && scan.rest() != "none") {
    event.set_text("smmu_fault", scan.rest());
  }
  // Without its driver's name it could be anyone's.
  return {.role = prefixed ? Role::kFollowsOrOpens : Role::kFollows, .step = 2, .last = true};
}

// "unknown mcerr fault, int_status=0x00001040, ch_int_status=0x0, ..."
Piece unknown_fault(Scan scan, Event& event) {
  event.set_text("error", "unknown mcerr fault");
  if (scan.literal(", int_status=")) take_hex(scan, event, "status");
  return {.role = Role::kWhole};
}

Piece decode_l4t(Scan scan, Event& event) {
  event.reset(EventKind::kMcError);
  const bool prefixed = scan.literal("mc-err: ");
  scan.blanks();
  const bool tagged = scan.literal("[mcerr] ");
  scan.blanks();
  if (scan.literal("secure: ")) return access_line(scan, prefixed, event);
  if (!prefixed) return {};
  if (scan.literal("status = ")) return status_line(scan, event);
  if (scan.literal("GSC_STATUS = ")) return carveout_status(scan, event);
  if (scan.literal("mcerr: unknown intr source intstatus = ")) {
    event.set_text("error", "unknown interrupt source");
    if (!take_hex(scan, event, "status")) return {};
    return {.role = Role::kWhole};
  }
  if (scan.literal("status: ")) {
    if (!take_hex(scan, event, "status") || !scan.literal(" status2: ")) return {};
    take_hex(scan, event, "status2");
    return {.role = Role::kFollows, .step = 1, .last = true};
  }
  if (scan.literal("unknown mcerr fault")) return unknown_fault(scan, event);
  // Printed once, in place of an error whose lines the driver keeps back: an error all the same.
  if (scan.literal("Too many MC errors")) {
    event.set_text("error", "Too many MC errors");
    return {.role = Role::kWhole};
  }
  Role role = Role::kOpens;
  if (scan.literal("MC fault - ")) {
    if (scan.literal("no status: ")) role = Role::kWhole;
    if (scan.rest().substr(0, 19) == "Unknown Client ID: ") {
      event.set_text("error", scan.rest());
      return {.role = Role::kWhole};
    }
  } else if (!take_l4t_client(scan, tagged, event)) {
    return {};
  }
  if (!is_kernel_words(scan.rest())) return {};
  event.set_text("error", scan.rest());
  return {.role = role};
}

// "failed to flush vi DMA", "failed to block vi DMA: -16"
Piece refused_client(std::string_view device, std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("failed to flush ") && !scan.literal("failed to block ") &&
      !scan.literal("failed to unblock ")) {
    return {};
  }
  event.reset(EventKind::kMcError);
  event.set_text("dev", device);
  const std::string_view client = scan.up_to(" ");
  if (!is_kernel_name(client) || !scan.literal(" DMA")) return {};
  event.set_text("client", client);
  event.set_text("error", "DMA of the client could not be stopped");
  return {.role = Role::kWhole, .join = "dev"};
}

// The oldest driver's WARN(): "Unknown error! intr sig: 0x00000200". And a DMA engine that the
// controller refused: "tegra-gpcdma 2600000.dma-controller: GPCDMA CH2 mc slave error".
Piece other_error(std::string_view text, Event& event) {
  Scan scan(text);
  event.reset(EventKind::kMcError);
  if (scan.literal("Unknown error! intr sig: ")) {
    event.set_text("error", "unknown interrupt source");
    if (!take_hex(scan, event, "status")) return {};
    return {.role = Role::kWhole};
  }
  const bool slave = contains(text, " mc slave error");
  if (!slave && !contains(text, " security violation")) return {};
  const auto line = dev_line(text);
  if (!line || !contains(line->driver, "dma") || !is_kernel_name(line->dev)) return {};
  event.set_text("dev", line->dev);
  event.set_text("error", slave ? "slave error" : "security violation");
  return {.role = Role::kWhole};
}

Piece decode_memory_controller(std::string_view text, Event& event) {
  Scan scan(text);
  for (const std::string_view driver : {"tegra-mc ", "nv-tegra-mcerr "}) {
    const auto device = take_device(scan, driver);
    if (!device) continue;
    const Piece piece = decode_mainline(*device, scan, event);
    return piece.role != Role::kNothing ? piece : refused_client(*device, scan.rest(), event);
  }
  if (const Piece piece = other_error(text, event); piece.role != Role::kNothing) return piece;
  scan.blanks();
  return decode_l4t(scan, event);
}

void describe_memory_controller(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kMcError) return;
  const std::string_view client = event.text("client");
  const std::string_view rw = event.text("rw");
  const bool known = !client.empty() && client != "unknown";
  const bool access = known || !rw.empty() || event.has("addr");
  if (access) {
    out += known ? "memory client " : "an unknown memory client";
    if (known) out += client;
    out += rw == "write" ? " wrote to " : rw == "read" ? " read from " : " accessed ";
    out += event.has("addr") ? "address " : "an address";
    out += event.text("addr");
    out += " and was refused by ";
  }
  out += "the memory controller";
  if (event.has("dev")) out.append(" ").append(event.text("dev"));
  if (!access) out += " reports an error";
  if (event.has("error")) out.append(" (").append(event.text("error"));
  if (event.has("error") && event.has("type") && event.text("type") != "(null)" &&
      event.text("type") != event.text("error")) {
    out.append(", ").append(event.text("type"));
  }
  if (event.has("error")) out += ")";
}

}  // namespace

const Family kMemoryController{.name = "memory_controller",
                               .anchors = kMemoryControllerAnchors,
                               .decode = decode_memory_controller,
                               .describe = describe_memory_controller};

}  // namespace jetmem::kernel_log
