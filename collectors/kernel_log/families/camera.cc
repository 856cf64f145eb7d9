// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"
#include "collectors/kernel_log/line/scan.h"

namespace jetmem::kernel_log {
namespace {

constexpr auto kError = EventKind::kCameraError;
constexpr auto kTimeout = EventKind::kCameraTimeout;

// What follows the words of a message.
enum class Tail : std::uint8_t {
  kNothing,     // or what does not matter
  kCode,        // "-11", perhaps in brackets
  kMs,          // "2500 ms"
  kPort,        // "0"
  kFlags,       // "1, err_data 2"
  kFrame,       // "7, flags: 1, err_data 2"
  kStatus,      // "0x00000004"
  kErrorFrame,  // "20004 frame 7": the first hexadecimal without 0x
  kCapture,     // " 4 channel:00 frame:0007"
};

struct Message {
  std::string_view words;  // what the text begins with
  EventKind kind;
  std::string_view error;
  Tail tail = Tail::kNothing;
};

constexpr std::array kMessages{
    // VI 5 (Xavier, Orin) and the capture channels of the camera processor
    Message{"uncorr_err: request timed out after ", kTimeout, "request timed out", Tail::kMs},
    Message{"uncorr_err: request dispatch err ", kError, "request dispatch err", Tail::kCode},
    Message{"uncorr_err: request err ", kError, "request err", Tail::kCode},
    Message{"uncorr_err: flags ", kError, "uncorr_err", Tail::kFlags},
    Message{"corr_err: discarding frame ", kError, "discarding frame", Tail::kFrame},
    Message{"frame_id out of sync: ", kError, "frame_id out of sync"},
    Message{"err_rec: attempting to reset the capture channel", kError,
            "attempting to reset the capture channel"},
    Message{"fatal: error recovery failed", kError, "error recovery failed"},
    Message{"vi capture setup failed", kError, "vi capture setup failed"},
    Message{"vi capture release failed", kError, "vi capture release failed"},
    Message{"no reply from camera processor", kTimeout, "no reply from camera processor"},
    Message{"unexpected response from camera processor", kError,
            "unexpected response from camera processor"},
    Message{"IVC control submit failed", kError, "IVC control submit failed"},
    Message{"IVC capture submit failed", kError, "IVC capture submit failed"},
    Message{"wait for capture status failed", kError, "wait for capture status failed"},
    // VI 4 (TX2)
    Message{"PXL_SOF syncpt timeout! err = ", kTimeout, "PXL_SOF syncpt timeout", Tail::kCode},
    Message{"ATOMP_FE syncpt timeout! err = ", kTimeout, "ATOMP_FE syncpt timeout", Tail::kCode},
    Message{"ATOMP_FE syncpt timeout!", kTimeout, "ATOMP_FE syncpt timeout"},
    Message{"no capture status! err = ", kError, "no capture status", Tail::kCode},
    Message{"tegra_channel_error_recovery: attempting to reset the capture channel", kError,
            "attempting to reset the capture channel"},
    Message{"VI_CFG_INTERRUPT_STATUS_0: MASTER_ERR_STATUS error!", kError, "MASTER_ERR_STATUS"},
    Message{"VI_NOTIFY_ERROR_0: NOTIFY_FIFO_OVERFLOW error!", kError, "NOTIFY_FIFO_OVERFLOW"},
    Message{"Status: ", kError, "capture status", Tail::kCapture},
    // VI 2 (Nano, TX1)
    Message{"frame start syncpt timeout!", kTimeout, "frame start syncpt timeout", Tail::kPort},
    Message{"MW_ACK_DONE syncpoint time out!", kTimeout, "MW_ACK_DONE syncpoint time out",
            Tail::kPort},
    Message{"tegra_channel_error_status:error ", kError, "tegra_channel_error_status",
            Tail::kErrorFrame},
    Message{"TEGRA_VI_CSI_ERROR_STATUS ", kError, "TEGRA_VI_CSI_ERROR_STATUS", Tail::kStatus},
    // the camera processor
    Message{"rce full reset, retry ", kError, "rce full reset"},
    Message{"Alert: Camera RTCPU gone bad!", kError, "Camera RTCPU gone bad"},
    Message{"IOVM setup error: ", kError, "IOVM setup error", Tail::kCode},
    // USB and others
    Message{"Non-zero status (", kError, "Non-zero status", Tail::kCode},
    Message{"Failed to resubmit video URB (", kError, "Failed to resubmit video URB", Tail::kCode},
    Message{"EOF timeout", kTimeout, "EOF timeout"},
};

constexpr std::array<std::string_view, 16> kOtherAnchors{
    "[RCE] ", "_check_status (", "command: ", " UVC ", ": control failed, errno ",
    // Of the drivers whose messages are known by their words.
    "capture", ".rtcpu", "-rtcpu", "tegra-vi", "-nvcsi", "tegra-video", "video4linux",
    "bcm2835-v4l2", "camrtc", "-isp5 ", "-vi5 "};

constexpr auto make_anchors() {
  std::array<std::string_view, kMessages.size() + kOtherAnchors.size()> anchors{};
  std::size_t n = 0;
  for (const Message& message : kMessages) anchors[n++] = message.words;
  for (const std::string_view anchor : kOtherAnchors) anchors[n++] = anchor;
  return anchors;
}
constexpr auto kCameraAnchors = make_anchors();

void start(Event& event, EventKind kind, std::string_view dev, std::string_view error) {
  event.reset(kind);
  event.set_text("dev", dev);
  event.set_text("error", error);
}

bool take_hex_number(Scan& scan, Event& event, std::string_view name) {
  const auto digits = scan.hex();
  const auto value = digits ? parse_hex(*digits) : std::nullopt;
  if (!value || *value > INT64_MAX) return false;
  event.set_number(name, static_cast<std::int64_t>(*value));
  return true;
}

// False when a number that the format promises is none. What a cut line lost is only absent.
bool take_tail(Tail tail, Scan scan, Event& event) {
  switch (tail) {
    case Tail::kNothing:
      return true;
    case Tail::kCode:
      return take_number(scan, event, "code");
    case Tail::kMs:
      return take_number(scan, event, "timeout_ms");
    case Tail::kPort:
      return take_number(scan, event, "port");
    case Tail::kFrame:
      if (!take_number(scan, event, "frame")) return false;
      if (scan.literal(", flags: ")) take_number(scan, event, "flags");
      if (scan.literal(", err_data ")) take_number(scan, event, "err_data");
      return true;
    case Tail::kFlags:
      if (!take_number(scan, event, "flags")) return false;
      if (scan.literal(", err_data ")) take_number(scan, event, "err_data");
      return true;
    case Tail::kStatus: {
      const auto status = scan.hex();
      // Printed after every error, also when it has nothing to tell.
      if (!status || parse_hex(*status).value_or(0) == 0) return false;
      event.set_text("status", *status);
      return true;
    }
    case Tail::kErrorFrame:
      if (!take_hex(scan, event, "status")) return false;
      if (scan.literal(" frame ")) take_number(scan, event, "frame");
      return true;
    case Tail::kCapture:
      scan.blanks();
      if (!take_number(scan, event, "code") || !scan.literal(" channel:")) return false;
      if (!take_hex_number(scan, event, "channel")) return false;
      if (scan.literal(" frame:")) take_hex_number(scan, event, "frame");
      return true;
  }
  return false;
}

// NVCSI: "csi4_stream_check_status (0) INTR_STATUS 0x00000008", "... ERROR_STATUS2VI_VC0 = 0x..."
Piece csi_status(const DevLine& line, Event& event) {
  Scan scan(line.text);
  if (!scan.literal("csi")) return {};
  const auto function = scan.until("_check_status (");
  if (!function || function->find(' ') != std::string_view::npos) return {};
  const auto port = scan.number();
  if (!port || !scan.literal(") ")) return {};
  const std::string_view name = scan.up_to(" ");
  if (name.find("STATUS") == std::string_view::npos) return {};
  scan.blanks();
  scan.literal("= ");
  start(event, kError, line.dev, name);
  event.set_number("port", *port);
  if (!take_hex(scan, event, "status")) return {};
  return {.role = Role::kWhole};
}

// "tegra186-cam-rtcpu bc00000.rtcpu: command: 0x00000000: response timeout"
Piece command(const DevLine& line, Event& event) {
  Scan scan(line.text);
  if (!scan.literal("command: ")) return {};
  const auto number = scan.hex();
  if (!number || !scan.literal(": ")) return {};
  const std::string_view what = trim(scan.rest());
  const bool timeout =
      what == "response timeout" || what == "empty mailbox timeout" || what == "timeout";
  if (!timeout) return {};
  start(event, kTimeout, line.dev, what);
  event.set_text("command", *number);
  return {.role = Role::kWhole};
}

// "tegra194-vi5 15c10000.vi: vi_capture_release: control failed, errno 1": the camera processor
// refused.
Piece control(const DevLine& line, Event& event) {
  Scan scan(line.text);
  const auto function = scan.until(": control failed, errno ");
  if (!function || function->empty() || function->find(' ') != std::string_view::npos) return {};
  start(event, kError, line.dev, "control failed");
  event.set_text("function", *function);
  if (!take_number(scan, event, "code")) return {};
  return {.role = Role::kWhole};
}

// "Failed to query (GET_CUR) UVC control 6 on unit 1: -110 (exp. 1).", "Failed to set UVC probe
// control : -71 (exp. 26)."
Piece uvc_query(const DevLine& line, Event& event) {
  Scan scan(line.text);
  const bool query = scan.literal("Failed to query (");
  if (!query && !scan.literal("Failed to set UVC ")) return {};
  if (query && !scan.past(") UVC ")) return {};
  if (!scan.past(": ")) return {};
  const auto code = scan.number();
  // -32: the camera does not have this control, which is how drivers find out.
  constexpr std::int64_t kPipe = -32;
  if (!code || *code >= 0 || *code == kPipe) return {};
  constexpr std::int64_t kTimedOut = -110;
  start(event, *code == kTimedOut ? kTimeout : kError, line.dev,
        query ? "Failed to query UVC control" : "Failed to set UVC control");
  event.set_number("code", *code);
  return {.role = Role::kWhole};
}

// The camera processor's own log: "[RCE] ERROR: camera-ip/vi5/vi5.c:745 [vi5_handle_eof] "text"".
// Other words may stand before "ERROR".
Piece rce(Scan scan, Event& event) {
  const std::string_view all = scan.rest();
  if (!scan.past("ERROR: ")) {
    scan = Scan(all);
    if (!scan.past("BUG: ")) return {};
  }
  const std::string_view source = scan.up_to(" ");
  if (source.empty() || !scan.literal(" [")) return {};
  const auto function = scan.until("]");
  if (!function || function->empty()) return {};
  start(event, kError, "RCE", *function);
  scan.blanks();
  scan.literal("\"");
  std::string_view text = trim(scan.rest());
  if (!text.empty() && text.back() == '"') text.remove_suffix(1);
  set_if(event, "text", text);
  return {.role = Role::kWhole};
}

bool is_camera(const DriverLine& line) {
  if (is_driver(line,
                {"tegra-camrtc", "tegra-capture", "tegra-vi4", "tegra-vi5", "tegra-video",
                 "tegra-ivc-bus", "video4linux", "bcm2835-v4l2", "bcm2835-unicam", "rp1-cfe"})) {
    return true;
  }
  constexpr std::array<std::string_view, 5> kParts{"-isp", "-vi5", "-nvcsi", "-rtcpu",
                                                   "capture-vi"};
  return contains_any(line.driver, kParts) || contains(line.dev, ".rtcpu") ||
         contains(line.dev, "bcm2835-v4l2") || line.function.substr(0, 15) == "capture_common_";
}

// What the drivers of cameras say in their own words. Memory that they do not get is another
// family's.
Piece by_words(std::string_view text, Event& event) {
  const DriverLine line = driver_line(text);
  if (!line.has_head || !is_camera(line)) return {};
  const Words words(line.text);
  const bool memory = words.has_any({"alloc", "iova", "dma_", "no memory", "mapping", "mapped",
                                     "pinned memory", "memory setup", "preserved", "to pin "}) &&
                      !words.has_any({"syncpt", "syncpoint", "invalid iova: ", "iovm"});
  if (memory) return {};
  const bool timeout = reports_timeout(words);
  const bool error =
      reports_failure(words) ||
      words.has_any({"error", "invalid iova", "invalid response", "overrun", "corrupt"}) ||
      words.has("boot sync failed");
  if (!timeout && !error) return {};
  // A board without a camera prints these at each start.
  if (words.has_any({"init failed", "-517", "defer", "no error", "probe", "not enabled",
                     "find graph", "parse", "property", "endpoint", "icc_"})) {
    return {};
  }
  const std::size_t end = line.text.find_first_of("!:");
  start(event, timeout ? kTimeout : kError, line.dev.empty() ? line.driver : line.dev,
        line.text.substr(0, std::min<std::size_t>(end, 60)));
  set_if(event, "function", line.function);
  if (line.dev.substr(0, 5) == "video" && end != std::string_view::npos) {
    Scan scan(line.text.substr(end + 1));
    if (line.text[end] == '!') take_natural(scan, event, "port");
  }
  event.set_text("text", line.text);
  return {.role = Role::kWhole, .by_words = true};
}

Piece decode_camera(std::string_view text, Event& event) {
  Scan scan(text);
  if (scan.literal("[RCE] ")) return rce(scan, event);
  const auto line = dev_line(text);
  if (!line) return {};
  for (const Message& message : kMessages) {
    scan = Scan(line->text);
    if (!scan.literal(message.words)) continue;
    start(event, message.kind, line->dev, message.error);
    if (!take_tail(message.tail, scan, event)) return {};
    return {.role = Role::kWhole};
  }
  for (const auto rule : {csi_status, command, control, uvc_query}) {
    const Piece piece = rule(*line, event);
    if (piece.role != Role::kNothing) return piece;
  }
  const Piece piece = by_words(text, event);
  return piece.role != Role::kNothing && contains_any(text, kCameraAnchors) ? piece : Piece{};
}

void describe_camera(const Event& event, std::string& out) {
  const bool timeout = event.kind() == kTimeout;
  if (!timeout && event.kind() != kError) return;
  out += "the camera driver";
  add_name(out, event, "dev", " of ");
  out += timeout ? " timed out" : " reports an error";
  add_quote(out, event, "error", ", \"", "\"", 60);
  add_number(out, event, "timeout_ms", ", for ", " ms");
  add_number(out, event, "frame", ", frame ");
  add_number(out, event, "port", ", port ");
  add_name(out, event, "status", ", status ");
  add_number(out, event, "code", ", code ");
  if (event.text("text") != event.text("error")) add_quote(out, event, "text", ", \"", "\"", 120);
}

}  // namespace

const Family kCamera{.name = "camera",
                     .anchors = kCameraAnchors,
                     .decode = decode_camera,
                     .describe = describe_camera};

}  // namespace jetmem::kernel_log
