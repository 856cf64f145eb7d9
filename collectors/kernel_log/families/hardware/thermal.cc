// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"
#include "collectors/kernel_log/line/scan.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 13> kThermalAnchors{"critical temperature reached",
                                                           "HARDWARE PROTECTION ",
                                                           "OC ALARM ",
                                                           "above threshold, cpu clock ",
                                                           "Under-voltage detected!",
                                                           "Undervoltage detected!",
                                                           " cooling state: ",
                                                           "Temp Alarm",
                                                           "Temp Shutdown",
                                                           "temp alarm",
                                                           "get temperature, disabling",
                                                           "with critical trip point",
                                                           "temperature is too high"};

// "thermal thermal_zone0: critical temperature reached (105 C), shutting down", and since 5.16
// "thermal thermal_zone0: cpu-thermal: critical temperature reached, shutting down"
Piece critical(const DevLine& line, Event& event) {
  Scan scan(line.text);
  std::string_view type;
  if (!scan.literal("critical temperature reached")) {
    type = scan.until_last(": critical temperature reached").value_or("");
    if (type.empty()) return {};
  }
  if (!scan.at_end() && !is_blank(scan.rest().front()) && scan.rest().front() != ',' &&
      scan.rest().front() != '(') {
    return {};
  }
  event.reset(EventKind::kThermal);
  event.set_text("zone", line.dev);
  set_if(event, "zone_type", type);
  event.set_text("trip", "critical");
  scan.blanks();
  if (scan.literal("(")) {
    const auto temp = scan.number();
    if (temp && scan.literal(" C)")) event.set_number("temp_c", *temp);
  }
  return {.role = Role::kOpens};
}

// "reboot: HARDWARE PROTECTION reboot (Temperature too high)"
Piece protection(Scan scan, Event& event) {
  const std::string_view action = scan.up_to(" ");
  if (action != "shutdown" && action != "reboot") return {};
  event.reset(EventKind::kThermal);
  event.set_text("action", action);
  std::string_view reason;
  if (scan.literal(" (")) reason = scan.until_last(")").value_or("");
  set_if(event, "reason", reason);
  // Regulators and batteries ask for it too.
  if (reason != "Temperature too high") return {.role = Role::kWhole};
  event.set_text("trip", "critical");
  return {.role = Role::kFollowsOrOpens, .step = 1, .last = true, .stands_alone = true};
}

// "soctherm: OC ALARM 0x00000002"
Piece over_current(Scan scan, Event& event) {
  const auto status = scan.hex();
  if (!status || !trim(scan.rest()).empty()) return {};
  event.reset(EventKind::kThermal);
  event.set_text("trip", "oc_alarm");
  if (is_whole_register(*status)) event.set_text("oc_status", *status);
  return {.role = Role::kWhole};
}

// x86: "CPU2: Core temperature above threshold, cpu clock throttled (total events = 7)"; since 5.6
// "is above" and "is throttled".
Piece throttled(Scan scan, Event& event) {
  event.reset(EventKind::kThermal);
  event.set_text("trip", "throttled");
  if (!take_number(scan, event, "cpu") || !scan.literal(": ")) return {};
  const std::string_view level = scan.up_to(" ");
  if (level != "Core" && level != "Package") return {};
  if (!scan.literal(" temperature above threshold, cpu clock throttled") &&
      !scan.literal(" temperature is above threshold, cpu clock is throttled")) {
    return {};
  }
  event.set_text("level", level);
  if (scan.literal(" (total events = ")) take_number(scan, event, "total_events");
  return {.role = Role::kWhole};
}

// Raspberry Pi: "hwmon hwmon1: Undervoltage detected!", "Under-voltage detected! (0x00050005)"
Piece undervoltage(std::string_view dev, Scan scan, Event& event) {
  if (!scan.literal("Undervoltage detected!") && !scan.literal("Under-voltage detected!")) {
    return {};
  }
  event.reset(EventKind::kThermal);
  set_if(event, "dev", dev);
  event.set_text("trip", "undervoltage");
  if (scan.literal(" (")) take_hex(scan, event, "status");
  return {.role = Role::kWhole};
}

// "thermal cooling_device12: hot-surface-alert cooling state: 0 -> 1": the surface is hot. Back to
// 0 it is not.
Piece cooling_state(const DevLine& line, Event& event) {
  Scan scan(line.text);
  const auto name = scan.until(" cooling state: ");
  if (!name || !is_kernel_name(*name) || !contains(*name, "alert")) return {};
  const auto from = scan.number();
  if (!from || !scan.literal(" -> ")) return {};
  const auto to = scan.number();
  if (!to || *to <= *from) return {};
  event.reset(EventKind::kThermal);
  event.set_text("dev", line.dev);
  event.set_text("trip", *name);
  event.set_number("state", *to);
  return {.role = Role::kWhole};
}

// "max77851-thermal max77851-thermal.0.auto: Junction Temp Alarm1(105C) occurred", "thermal
// thermal_zone4: Unable to get temperature, disabling!", "soctherm: Ignored unexpected OC ALARM
// 0x00000004"
Piece other_alarm(std::string_view text, Event& event) {
  const DriverLine line = driver_line(text);
  if (!line.has_head) return {};
  const Words words(line.text);
  const bool alarm = words.has_any({"temp alarm", "temp shutdown", "temperature is too high"}) &&
                     words.has_any({"occurred", "too high", "triggered"});
  const bool blind = words.has_any(
      {"unable to get temperature, disabling", "disabled thermal zone with critical trip point"});
  const bool current = line.driver == "soctherm" && words.has("unexpected oc alarm");
  if (!alarm && !blind && !current) return {};
  event.reset(EventKind::kThermal);
  set_if(event, line.driver == "thermal" ? "zone" : "dev", line.dev);
  event.set_text("trip", blind ? "sensor failed" : current ? "oc_alarm" : "alarm");
  event.set_text("reason", line.text);
  return {.role = Role::kWhole};
}

Piece known_form(std::string_view text, Event& event);

Piece decode_thermal(std::string_view text, Event& event) {
  const Piece piece = first_piece({known_form, other_alarm}, text, event);
  return piece.role != Role::kNothing && contains_any(text, kThermalAnchors) ? piece : Piece{};
}

Piece known_form(std::string_view text, Event& event) {
  Scan scan(text);
  if (scan.literal("reboot: HARDWARE PROTECTION ")) return protection(scan, event);
  if (scan.literal("soctherm: OC ALARM ")) return over_current(scan, event);
  scan.literal("mce: ");
  if (scan.literal("CPU")) return throttled(scan, event);
  if (const Piece piece = undervoltage({}, scan, event); piece.role != Role::kNothing) {
    return piece;
  }
  const auto line = dev_line(text);
  if (!line || line->driver.empty()) return {};
  if (line->driver == "thermal") {
    const Piece piece = cooling_state(*line, event);
    return piece.role != Role::kNothing ? piece : critical(*line, event);
  }
  return undervoltage(line->dev, Scan(line->text), event);
}

void describe_thermal(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kThermal) return;
  const std::string_view trip = event.text("trip");
  if (trip == "oc_alarm" && event.has("reason")) {
    out += "the SoC raised an over-current alarm that the kernel did not expect and ignored";
  } else if (trip == "oc_alarm") {
    out += "the SoC reports over-current or under-voltage and slows down";
    add_name(out, event, "oc_status", ", status ");
  } else if (trip == "sensor failed") {
    out += "a temperature sensor failed";
    add_name(out, event, "zone", ", ");
    add_quote(out, event, "reason", ", \"", "\"", 80);
  } else if (trip == "alarm" || event.has("state")) {
    out += "a temperature alarm was raised";
    add_name(out, event, "dev", " by ");
    add_quote(out, event, "reason", " (", ")", 80);
    if (event.has("state")) add_name(out, event, "trip", ", ");
  } else if (trip == "undervoltage") {
    out += "the supply voltage is too low";
    add_name(out, event, "status", ", status ");
  } else if (trip == "throttled") {
    out += "too hot, the clock is slowed down";
    add_number(out, event, "cpu", ", CPU ");
  } else if (trip == "critical") {
    out += "critical temperature, the kernel stops the machine";
    add_name(out, event, "zone_type", ", sensor ");
    add_name(out, event, "zone", " in ");
    add_number(out, event, "temp_c", " at ", " C");
  } else {
    out += "the kernel stops the machine to protect it";
    add_quote(out, event, "reason", " (", ")");
  }
}

}  // namespace

const Family kThermal{.name = "thermal",
                      .anchors = kThermalAnchors,
                      .decode = decode_thermal,
                      .describe = describe_thermal};

}  // namespace jetmem::kernel_log
