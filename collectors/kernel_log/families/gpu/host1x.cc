// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"
#include "collectors/kernel_log/line/scan.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 9> kHost1xAnchors{"stuck waiting ",
                                                         "cdma_handle_timeout: timeout",
                                                         "cdma_timeout_handler: timeout",
                                                         "stopping CDMA",
                                                         "timed out",
                                                         "timedout",
                                                         "imeout",
                                                         "time out",
                                                         "not respond"};

constexpr std::array<std::string_view, 12> kEngines{"host1x", "nvdla", "nvdec", "nvenc",
                                                    "nvjpg",  ".vic",  "-vic",  ".ofa",
                                                    "-ofa",   "pva",   "tsec",  "nvhost"};

void set_number_after(Event& event, std::string_view name, std::string_view text,
                      std::string_view label, bool ends_line) {
  Scan scan(text);
  if (!scan.past(label)) return;
  scan.blanks();
  const auto number = scan.number();
  const bool whole = ends_line || !scan.at_end();
  if (number && whole && at_word_end(scan)) event.set_number(name, *number);
}

// "comm: syncpoint id 5 (name) stuck waiting 1, timeout=1000"; old kernels lack the comm, the
// newest "id" and the name.
Piece stuck(const DevLine& line, Event& event) {
  Scan scan(line.text);
  std::string_view comm;
  if (!scan.literal("syncpoint ")) {
    const auto before = scan.until_last(": syncpoint ");
    if (!before) return {};
    if (!is_comm(*before)) return {};
    comm = *before;
  }
  scan.literal("id ");
  const auto id = scan.number();
  if (!id || !scan.literal(" ")) return {};
  std::string_view name;
  if (scan.literal("(")) {
    const auto found = scan.until(") stuck waiting ");
    if (!found) return {};
    name = *found;
  } else if (!scan.literal("stuck waiting ")) {
    return {};
  }
  event.reset(EventKind::kHost1xTimeout);
  event.set_text("dev", line.dev);
  set_if(event, "comm", comm);
  event.set_number("syncpt", *id);
  set_if(event, "syncpt_name", name);
  set_number_after(event, "thresh", scan.rest(), {}, false);
  set_number_after(event, "timeout", scan.rest(), "timeout=", true);
  return {.role = Role::kWhole};
}

// "timeout: 5 (name) clientid 1, HW thresh 2, done 3"; "client 1" or "ctx 0x..." in others, and
// nothing there in mainline.
Piece cdma(const DevLine& line, Event& event) {
  Scan scan(line.text);
  if (!scan.literal("cdma_handle_timeout: timeout: ") &&
      !scan.literal("cdma_timeout_handler: timeout: ")) {
    return {};
  }
  const auto id = scan.number();
  if (!id || (!scan.at_end() && !scan.literal(" "))) return {};
  event.reset(EventKind::kHost1xTimeout);
  event.set_text("dev", line.dev);
  // The name always follows: at the end of the line the number is cut off.
  if (!scan.at_end()) event.set_number("syncpt", *id);
  if (scan.literal("(")) {
    const auto name = scan.until(")");
    if (name && !name->empty()) event.set_text("syncpt_name", *name);
  }
  set_number_after(event, "clientid", scan.rest(), "clientid ", false);
  set_number_after(event, "clientid", scan.rest(), "client ", false);
  set_number_after(event, "thresh", scan.rest(), "HW thresh ", false);
  set_number_after(event, "done", scan.rest(), "done ", true);
  return {.role = Role::kWhole};
}

// "cdma_stop: DMAPUT != DMAGET for channel 3, stopping CDMA", "nvhost_channel_map_with_vm: Timeout
// while allocating channel", "15880000.nvdla0:nvhost_nvdla_flcn_isr: engine timeout detected"
Piece engine(std::string_view text, Event& event) {
  const DriverLine line = driver_line(text);
  if (!line.has_head) return {};
  const Words words(line.text);
  const bool stops = contains(line.text, "stopping CDMA");
  const bool unit = contains_any(line.dev, kEngines) || contains_any(line.driver, kEngines) ||
                    line.function.substr(0, 7) == "nvhost_" ||
                    line.function.substr(0, 7) == "host1x_";
  const bool waits = reports_timeout(words) && unit &&
                     !words.has_any({"falcon", "scrubbing", "boot", "alloc mem", "timeout set",
                                     "allocating task"});
  if (!stops && !waits) return {};
  event.reset(EventKind::kHost1xTimeout);
  set_if(event, "dev", line.dev);
  set_if(event, "function", line.function);
  event.set_text("text", line.text);
  return {.role = Role::kWhole};
}

Piece decode_host1x(std::string_view text, Event& event) {
  const auto line = dev_line(text);
  if (line && !line->driver.empty()) {
    Piece piece = cdma(*line, event);
    if (piece.role == Role::kNothing) piece = stuck(*line, event);
    if (piece.role != Role::kNothing) return piece;
  }
  const Piece piece = engine(text, event);
  return piece.role != Role::kNothing && contains_any(text, kHost1xAnchors) ? piece : Piece{};
}

// The lines print the values with each other's names: "HW thresh" is what the syncpoint reached,
// "done" what was waited for.
void complete_host1x(Event& event, Soc /*soc*/) {
  const auto reached = event.number("thresh");
  const auto awaited = event.number("done");
  if (!reached || !awaited) return;
  event.set_number("reached", *reached);
  event.set_number("awaited", *awaited);
}

void describe_host1x(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kHost1xTimeout) return;
  const bool waits = event.has("comm");
  out += waits ? "a program waits" : "work sent to an engine did not finish";
  add_quote(out, event, "comm", " (", ")");
  if (waits) out += " for an engine that does not finish its work";
  add_number(out, event, "syncpt", ", syncpoint ");
  add_quote(out, event, "syncpt_name", " (", ")", 60);
  add_number(out, event, "reached", ", at ");
  add_number(out, event, "awaited", " of ");
  add_name(out, event, "dev", " of ");
}

}  // namespace

const Family kHost1x{.name = "host1x",
                     .anchors = kHost1xAnchors,
                     .decode = decode_host1x,
                     .describe = describe_host1x,
                     .complete = complete_host1x};

}  // namespace jetmem::kernel_log
