// SPDX-License-Identifier: Apache-2.0
// arm-smmu-v3. An event is a line "event 0x%02x received:" and four words "\t0x%016llx". From about
// 6.14 on two lines more say what the words mean, without a newline of their own: another driver's
// text may run on behind them.
//   event: %s client: %s sid: %#x ssid: %#x[ iova: %#llx ipa: %#llx| fetch_addr: %#llx]
//   priv|unpriv inst|data read|write s1|s2 "CLASS"[ ttd_read|ttd_write][ stall] stag: %#x
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/families/smmu/smmu_parts.h"

namespace jetmem::kernel_log::smmu {
namespace {

// Which of an event's words mean something.
enum : std::uint8_t {
  kAccess = 1,   // read or write, privileged, and the input address
  kClass = 2,    // what was being done, stall and stage
  kFetch = 4,    // the address of a table that could not be fetched
  kAddress = 8,  // the input address without the kind of access
};

struct EventType {
  std::uint8_t number;
  std::uint8_t has;
  std::string_view name;
  std::string_view problem;  // for a person
};
constexpr EventType kEvents[] = {
    {0x01, kAccess, "F_UUT", "unsupported upstream transaction"},
    {0x02, 0, "C_BAD_STREAMID", "the SMMU has no entry for this stream"},
    {0x03, kFetch, "F_STE_FETCH", "its stream table entry could not be read"},
    {0x04, 0, "C_BAD_STE", "its stream table entry is invalid"},
    {0x05, kAddress, "F_BAD_ATS_TREQ", "address translation request not allowed"},
    {0x06, 0, "F_STREAM_DISABLED", "its stream is disabled"},
    {0x07, kAccess, "F_TRANSL_FORBIDDEN", "translated access not allowed"},
    {0x08, 0, "C_BAD_SUBSTREAMID", "the SMMU has no entry for this substream"},
    {0x09, kFetch, "F_CD_FETCH", "its context descriptor could not be read"},
    {0x0a, 0, "C_BAD_CD", "its context descriptor is invalid"},
    {0x0b, kAccess | kClass | kFetch, "F_WALK_EABT", "the page tables could not be read"},
    {0x10, kAccess | kClass, "F_TRANSLATION", "translation fault"},
    {0x11, kAccess | kClass, "F_ADDR_SIZE", "address size fault"},
    {0x12, kAccess | kClass, "F_ACCESS", "access flag fault"},
    {0x13, kAccess | kClass, "F_PERMISSION", "permission fault"},
    {0x20, kAccess, "F_TLB_CONFLICT", "TLB conflict"},
    {0x21, 0, "F_CFG_CONFLICT", "configuration cache conflict"},
    {0x24, kAddress, "E_PAGE_REQUEST", "page request"},
    {0x25, kFetch, "F_VMS_FETCH", "its VMS could not be read"},
};

constexpr std::array<std::string_view, 4> kClasses{"CD fetch", "Stage 1 translation table fetch",
                                                   "Input address caused fault", "Reserved"};

const EventType* event_type(std::optional<std::uint64_t> number) {
  for (const EventType& type : kEvents) {
    if (number == type.number) return &type;
  }
  return nullptr;
}

const EventType* event_type(std::string_view name) {
  for (const EventType& type : kEvents) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

bool set_event_number(Event& event, std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (number > 0xff) return false;
  const std::array<char, 4> text{'0', 'x', kDigits[number >> 4], kDigits[number & 15]};
  event.set_text("event", {text.data(), text.size()});
  return true;
}

// "event 0x10 received:"
Piece header_line(Scan scan, Event& event) {
  const auto number = scan.hex();
  const auto value = number ? parse_hex(*number) : std::nullopt;
  if (!value || !scan.literal(" received:") || !set_event_number(event, *value)) return {};
  return {.role = Role::kOpens, .join = kDev};
}

// "\t0x0000020900000080": all that there is in the line.
Piece word_line(Scan scan, Event& event) {
  const auto word = scan.hex();
  scan.blanks();
  if (!word || word->size() != 18 || !scan.at_end()) return {};
  event.add_item("words", *word);
  return {.role = Role::kFollows, .step = 1, .repeats = true, .join = kDev};
}

// " sid: 0x1600"
bool take_field(Scan& scan, std::string_view label, std::string_view name, Event& event) {
  Scan ahead = scan;
  if (!ahead.literal(label)) return false;
  const auto value = ahead.hex();
  if (!value || value->substr(0, 2) != "0x" || ahead.rest().substr(0, 1) != " ") return false;
  event.set_text(name, *value);
  scan = ahead;
  return true;
}

// The same at the end of a line, where another driver's text may run on: "0x0atlantic". A number
// is never printed with a zero before it, so after a zero there is no doubt.
void take_last_field(Scan& scan, std::string_view label, std::string_view name, Event& event) {
  if (!scan.literal(label)) return;
  if (scan.rest().substr(0, 3) == "0x0") {
    event.set_text(name, "0x0");
    return;
  }
  const auto value = scan.hex();
  if (value && value->substr(0, 2) == "0x" && at_word_end(scan)) event.set_text(name, *value);
}

// " sid: %#x ssid: %#x ..."
Piece decoded_line(Scan scan, Event& event) {
  const std::string_view name = scan.up_to(" ");
  if (!is_kernel_name(name) || !scan.literal(" client: ")) return {};
  const std::size_t at = scan.rest().find(" sid: ");
  if (at == std::string_view::npos) return {};
  const std::string_view client = scan.rest().substr(0, at);
  scan = Scan(scan.rest().substr(at));
  if (!take_field(scan, " sid: ", "sid", event)) return {};

  if (is_kernel_name(client)) event.set_text("client", client);
  // "UNKNOWN" is the kernel's word for a number it has no name for; the number may say more.
  event.set_text("name", name);
  if (const EventType* type = event_type(name)) set_event_number(event, type->number);
  Piece piece{.role = Role::kFollowsOrOpens, .step = 2, .join = kDev};
  if (!take_field(scan, " ssid: ", "ssid", event)) {
    take_last_field(scan, " ssid: ", "ssid", event);
    return piece;
  }
  if (take_field(scan, " iova: ", "iova", event)) {
    take_last_field(scan, " ipa: ", "ipa", event);
  } else {
    take_last_field(scan, " fetch_addr: ", "fetch_addr", event);
  }
  return piece;
}

// "priv" or "unpriv", and the like, with the blank behind it.
std::optional<bool> either(Scan& scan, std::string_view yes, std::string_view no) {
  if (scan.literal(yes)) return true;
  if (scan.literal(no)) return false;
  return std::nullopt;
}

// "sid 0x00001100.0x00000: [7L] unprivileged R access at iova 0x00000000ffff0000", behind
// "unexpected PRI request received:"
Piece page_request(Scan scan, Event& event) {
  if (!take_hex(scan, event, "sid") || !scan.past("]")) return {};
  scan.blanks();
  event.set_text("name", "E_PAGE_REQUEST");
  event.set_bool("priv", !scan.literal("un"));
  if (!scan.literal("privileged ")) return {};
  const std::string_view access = scan.up_to(" ");
  if (!contains(scan.rest(), " access at iova ") || !scan.past(" at iova ")) return {};
  event.set_text("rw", contains(access, "W") ? "write" : "read");
  if (!take_hex(scan, event, "iova")) return {};
  return {.role = Role::kFollowsOrOpens, .step = 1, .last = true, .join = kDev};
}

Piece access_line(Scan scan, Event& event) {
  const auto privileged = either(scan, "priv ", "unpriv ");
  const auto instruction = privileged ? either(scan, "inst ", "data ") : std::nullopt;
  const auto read = instruction ? either(scan, "read ", "write ") : std::nullopt;
  const auto stage2 = read ? either(scan, "s2 \"", "s1 \"") : std::nullopt;
  if (!stage2) return {};
  event.set_bool("priv", *privileged);
  event.set_text("rw", *read ? "read" : "write");
  Piece piece{.role = Role::kFollowsOrOpens, .step = 3, .last = true, .join = kDev};
  const auto text = scan.until("\"");
  if (!text) return piece;
  for (std::size_t i = 0; i < kClasses.size(); ++i) {
    if (kClasses[i] == *text) event.set_number("class", static_cast<std::int64_t>(i));
  }
  if (!scan.literal(" ttd_read")) scan.literal(" ttd_write");
  event.set_bool("stall", scan.literal(" stall"));
  take_last_field(scan, " stag: ", "stag", event);
  return piece;
}

// The four words, when all are there.
bool words_of(const Event& event, std::array<std::uint64_t, 4>& words) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < event.size() && n < words.size(); ++i) {
    if (event[i].name != "words") continue;
    words[n++] = parse_hex(event.text_of(event[i])).value_or(0);
  }
  return n == words.size();
}

void complete_words(Event& event, const std::array<std::uint64_t, 4>& words) {
  const auto bit = [&](unsigned n) { return (words[1] >> n & 1U) != 0; };
  const auto set_hex = [&](std::string_view name, std::uint64_t value) {
    if (!event.has(name)) event.set_hex(name, value);
  };
  set_hex("sid", words[0] >> 32);
  if ((words[0] >> 11 & 1U) != 0) set_hex("ssid", words[0] >> 12 & 0xfffffU);
  const EventType* type = event_type(words[0] & 0xffU);
  if (type == nullptr) return;
  if ((type->has & kAccess) != 0) {
    if (!event.has("rw")) event.set_text("rw", bit(35) ? "read" : "write");
    if (!event.has("priv")) event.set_bool("priv", bit(33));
  }
  if ((type->has & (kAccess | kAddress)) != 0) set_hex("iova", words[2]);
  if ((type->has & kClass) != 0) {
    if (!event.has("class")) {
      event.set_number("class", static_cast<std::int64_t>(words[1] >> 40 & 3U));
    }
    if (!event.has("stall")) event.set_bool("stall", bit(31));
    // Of a transaction that is not held the tag means nothing.
    if (bit(31)) set_hex("stag", words[1] & 0xffffU);
    if ((type->has & kFetch) == 0 && bit(39)) set_hex("ipa", words[3]);
  }
  if ((type->has & kFetch) != 0) set_hex("fetch_addr", words[3]);
}

}  // namespace

Piece decode_v3(std::string_view device, Scan message, Event& event) {
  event.reset(EventKind::kSmmuV3Event);
  event.set_text(kDev, device);
  if (message.literal("event: ")) return decoded_line(message, event);
  if (message.literal("unexpected PRI request received")) {
    event.set_text("name", "E_PAGE_REQUEST");
    return {.role = Role::kOpens, .join = kDev};
  }
  if (message.literal("sid ")) return page_request(message, event);
  if (message.literal("event ")) return header_line(message, event);
  if (message.rest().substr(0, 2) == "0x") return word_line(message, event);
  return access_line(message, event);
}

void complete_v3_event(Event& event, Soc soc) {
  std::array<std::uint64_t, 4> words{};
  // Words of another number than the header's belong to something else.
  if (words_of(event, words) && (words[0] & 0xffU) == event.hex("event")) {
    complete_words(event, words);
  }
  const EventType* type = event_type(event.hex("event"));
  if (type != nullptr) event.set_text("name", type->name);

  if (soc == Soc::kUnknown) return;
  event.set_text("soc", soc_name(soc));
  const auto sid = register_of(event, "sid");
  if (!sid || event.has("client")) return;
  const std::string_view client = stream_client_v3(soc, *sid);
  set_if(event, "client", client);
}

std::string_view v3_problem(const Event& event) {
  const EventType* type = event_type(event.hex("event"));
  return type == nullptr ? std::string_view() : type->problem;
}

}  // namespace jetmem::kernel_log::smmu
