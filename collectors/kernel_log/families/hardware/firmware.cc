// SPDX-License-Identifier: Apache-2.0
// Processors on the chip that stop answering: engines' falcons, audio (ADSP), display (DCE), power
// (BPMP), always-on (AON), the Raspberry Pi's VideoCore. The camera's is in camera.cc.
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 15> kFirmwareAnchors{
    "timed out",   "timeout",         "Timeout",   "imedout",  "Hanged or Crashed",
    "Queue Full",  "returned status", "Timed out", "time out", "not respond",
    "no response", "crashed",         "BPMP ",     "BPMP:",    "bpmp "};

bool is_firmware(const DriverLine& line) {
  if (is_driver(line,
                {"tegra_nvadsp", "nvadsp", "dce", "tegra-bpmp", "bpmp", "raspberrypi-firmware",
                 "bcm2835_mmal_vchiq", "bcm2835_vchiq", "vchiq", "bcm2835-mmal", "falcon",
                 "tegra-tsec", "tsec", "remoteproc", "rproc", "tegra-hsp", "tegra-ivc"}) ||
      contains(line.driver, "-aon") || contains(line.driver, "remoteproc")) {
    return true;
  }
  return contains(line.driver, "adsp") || contains(line.dev, ".adsp");
}

Piece decode_firmware(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  DriverLine line = driver_line(text);
  // "Firmware transaction 0x00030046 timeout", of a WARN().
  Scan scan(text);
  const bool transaction = scan.literal("Firmware transaction 0x") && contains(text, " timeout");
  // "bpmp_trywait() timed out (ch 2 mrq 7 data <0>)"
  Scan call(text);
  const std::string_view name = call.up_to("(");
  const bool power = name.starts_with("bpmp_") && call.literal("() timed out (ch ");
  if (!transaction && !power && !line.has_head) return {};
  if (transaction || power) line.text = text;
  if (power) line.function = name;
  const Words words(line.text);
  const bool engine =
      words.has_any({"falcon", "scrubbing", "mbox timed", "boot timed", "boot failed"});
  // "tegra-mc 2c00000.memory-controller: BPMP transfer failed: -110": who waits is named in front.
  const bool waits = !power && !is_firmware(line) && words.has_word("bpmp");
  if (!transaction && !power && !engine && !waits && !is_firmware(line)) return {};
  const bool hangs =
      reports_timeout(words) ||
      words.has_any({"hanged or crashed", "crashed", "queue full", "returned status 0x8000000"});
  if (!hangs || words.has_any({"watchdog timeout set", "timeout set to", "alloc"})) return {};
  event.reset(EventKind::kFirmwareHang);
  set_if(event, waits ? "client" : "dev", line.dev);
  if (waits) {
    event.set_text("driver", "bpmp");
  } else if (line.dev.empty()) {
    set_if(event, "driver", line.driver);
  }
  set_if(event, "function", line.function);
  event.set_text("text", line.text);
  if (!contains_any(text, kFirmwareAnchors)) return {};
  return {.role = Role::kWhole, .by_words = !transaction};
}

void describe_firmware(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kFirmwareHang) return;
  out += "a processor on the chip does not answer";
  add_name(out, event, "dev", " (", ")");
  add_name(out, event, "driver", " (driver ", ")");
  add_name(out, event, "client", ", reported by ");
  add_quote(out, event, "text", ", \"", "\"", 120);
}

}  // namespace

const Family kFirmware{.name = "firmware",
                       .anchors = kFirmwareAnchors,
                       .decode = decode_firmware,
                       .describe = describe_firmware};

}  // namespace jetmem::kernel_log
