// SPDX-License-Identifier: Apache-2.0
// What the registers of an IOMMU's fault mean: arm-smmu's (v2), arm-smmu-v3's event words, the
// flags and reasons of x86. The messages are in messages/smmu.yaml.
#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/hooks.h"
#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log {
namespace {

// A register of 32 bits in the event.
std::optional<std::uint32_t> register_of(const Event& event, std::string_view name) {
  const std::optional<std::uint64_t> value = event.hex(name);
  if (!value || *value > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

struct Bit {
  unsigned bit;
  std::string_view name;
};

// SMMUv2, of a context bank. What is no fault (format, stalled) has no name.
constexpr Bit kFsr[] = {{1, "translation"},        {2, "access flag"},
                        {3, "permission"},         {4, "external"},
                        {5, "TLB match conflict"}, {6, "TLB lock"},
                        {7, "address size"},       {8, "unsupported upstream transaction"},
                        {31, "multiple"}};

// SMMUv2, of the whole unit.
constexpr Bit kGfsr[] = {{0, "invalid context"},
                         {1, "unidentified stream"},
                         {2, "stream match conflict"},
                         {3, "unimplemented context bank"},
                         {4, "unimplemented context interrupt"},
                         {5, "configuration access"},
                         {6, "external"},
                         {7, "permission"},
                         {8, "unsupported upstream transaction"},
                         {31, "multiple"}};

// SMMUv3: errors of the unit itself.
constexpr Bit kGerror[] = {{0, "command queue"},
                           {2, "event queue abort"},
                           {3, "page request queue abort"},
                           {4, "command queue MSI abort"},
                           {5, "event queue MSI abort"},
                           {6, "page request queue MSI abort"},
                           {7, "global error MSI abort"},
                           {8, "service failure mode"}};

// "translation, multiple": the names of the register's bits that are set.
void set_fault(Event& event, std::string_view name, std::span<const Bit> bits) {
  const std::uint32_t value = register_of(event, name).value_or(0);
  std::array<char, Event::kMaxText> text{};
  std::size_t size = 0;
  const auto add = [&](std::string_view part) {
    size += part.copy(text.data() + size, text.size() - size);
  };
  for (const Bit& bit : bits) {
    if ((value >> bit.bit & 1U) == 0) continue;
    if (size > 0) add(", ");
    add(bit.name);
  }
  if (size > 0) event.set_text("fault", {text.data(), size});
}

// Which of an SMMUv3 event's words mean something.
enum : std::uint8_t {
  kAccess = 1,   // read or write, privileged, and the input address
  kClass = 2,    // what was being done, stall and stage
  kFetch = 4,    // the address of a table that could not be fetched
  kAddress = 8,  // the input address without the kind of access
};

struct EventType {
  std::uint8_t number;
  std::uint8_t has;
  std::string_view printed;
  std::string_view name;
};
constexpr EventType kEvents[] = {
    {0x01, kAccess, "0x01", "F_UUT"},
    {0x02, 0, "0x02", "C_BAD_STREAMID"},
    {0x03, kFetch, "0x03", "F_STE_FETCH"},
    {0x04, 0, "0x04", "C_BAD_STE"},
    {0x05, kAddress, "0x05", "F_BAD_ATS_TREQ"},
    {0x06, 0, "0x06", "F_STREAM_DISABLED"},
    {0x07, kAccess, "0x07", "F_TRANSL_FORBIDDEN"},
    {0x08, 0, "0x08", "C_BAD_SUBSTREAMID"},
    {0x09, kFetch, "0x09", "F_CD_FETCH"},
    {0x0a, 0, "0x0a", "C_BAD_CD"},
    {0x0b, kAccess | kClass | kFetch, "0x0b", "F_WALK_EABT"},
    {0x10, kAccess | kClass, "0x10", "F_TRANSLATION"},
    {0x11, kAccess | kClass, "0x11", "F_ADDR_SIZE"},
    {0x12, kAccess | kClass, "0x12", "F_ACCESS"},
    {0x13, kAccess | kClass, "0x13", "F_PERMISSION"},
    {0x20, kAccess, "0x20", "F_TLB_CONFLICT"},
    {0x21, 0, "0x21", "F_CFG_CONFLICT"},
    {0x24, kAddress, "0x24", "E_PAGE_REQUEST"},
    {0x25, kFetch, "0x25", "F_VMS_FETCH"},
};

// Of the event's number, or of the name that newer kernels print.
const EventType* event_type(const Event& event) {
  for (const EventType& type : kEvents) {
    if (event.hex("event") == type.number) return &type;
    if (!event.has("event") && event.text("name") == type.name) return &type;
  }
  return nullptr;
}

// The four words, when all are there.
bool smmu_words(const Event& event, std::array<std::uint64_t, 4>& words) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < event.size() && n < words.size(); ++i) {
    if (event[i].name == "words") words[n++] = parse_hex(event.text_of(event[i])).value_or(0);
  }
  return n == words.size();
}

void add_words(Event& event, std::uint8_t has, const std::array<std::uint64_t, 4>& words) {
  const auto bit = [&](unsigned n) { return (words[1] >> n & 1U) != 0; };
  const auto set_hex = [&](std::string_view name, std::uint64_t value) {
    if (!event.has(name)) event.set_hex(name, value);
  };
  set_hex("sid", words[0] >> 32);
  if ((words[0] >> 11 & 1U) != 0) set_hex("ssid", words[0] >> 12 & 0xfffffU);
  if ((has & kAccess) != 0) {
    if (!event.has("rw")) event.set_text("rw", bit(35) ? "read" : "write");
    if (!event.has("priv")) event.set_bool("priv", bit(33));
  }
  if ((has & (kAccess | kAddress)) != 0) set_hex("iova", words[2]);
  if ((has & kClass) != 0) {
    if (!event.has("class"))
      event.set_number("class", static_cast<std::int64_t>(words[1] >> 40 & 3U));
    if (!event.has("stall")) event.set_bool("stall", bit(31));
    // Of a transaction that is not held the tag means nothing.
    if (bit(31)) set_hex("stag", words[1] & 0xffffU);
    if ((has & kFetch) == 0 && bit(39)) set_hex("ipa", words[3]);
  }
  if ((has & kFetch) != 0) set_hex("fetch_addr", words[3]);
}

// A driver's words for a fault reason, in the order in which they are looked for.
struct Reason {
  std::string_view part;
  std::string_view fault;
};
constexpr Reason kReasons[] = {
    // A read or write bit that is not set: nothing is mapped there, or not for this access.
    {"Write access is not set", "translation or permission"},
    {"Read access is not set", "translation or permission"},
    {"ermission error in second-level", "translation or permission"},
    {"beyond", "address size"},
    {"canonical", "address size"},
    {"attempting to access", "external abort"},
    {"Present bit in first-level", "translation"},
    {"ermission", "permission"},
    {"rivilege", "permission"},
    {"nvalid", "configuration"},
    {"clear", "configuration"},
    {"eserved", "configuration"},
    {"locking", "configuration"},
    {"ield", "configuration"}};

}  // namespace

namespace hooks {

void smmu_context_fault(Event& event, Soc soc) {
  // Some kernels print the SMMU's own name for the device behind it.
  if (event.text("client") == event.text("dev")) event.remove("client");
  set_fault(event, "fsr", kFsr);
  if (const auto fsynr = register_of(event, "fsynr")) {
    event.set_text("rw", (*fsynr >> 4 & 1U) != 0 ? "write" : "read");
    event.set_number("plvl", *fsynr & 3U);  // of the page table
    event.set_bool("priv", (*fsynr >> 5 & 1U) != 0);
  }
  if (soc == Soc::kUnknown) return;
  event.set_text("soc", soc_name(soc));
  const auto raw = register_of(event, "cbfrsynra");
  if (!raw || event.has("sid")) return;
  const auto sid = stream_id(soc, event.text("dev"), *raw);
  if (!sid) return;
  event.set_hex("sid", *sid);
  set_if(event, "client", stream_client(soc, event.text("dev"), *raw));
}

void smmu_global_fault(Event& event, Soc soc) {
  set_fault(event, "gfsr", kGfsr);
  if (const auto gfsynr1 = register_of(event, "gfsynr1")) event.set_hex("sid", *gfsynr1 & 0xffffU);
  if (soc == Soc::kUnknown) return;
  event.set_text("soc", soc_name(soc));
  const auto raw = register_of(event, "sid");
  if (!raw) return;
  if (const auto sid = stream_id(soc, event.text("dev"), *raw)) event.set_hex("sid", *sid);
  if (!event.has("client")) set_if(event, "client", stream_client(soc, event.text("dev"), *raw));
}

void smmu_global_error(Event& event, Soc /*soc*/) { set_fault(event, "gerror", kGerror); }

void smmu_v3_event(Event& event, Soc soc) {
  const EventType* const type = event_type(event);
  // Words of another number than the header's belong to something else.
  std::array<std::uint64_t, 4> words{};
  if (smmu_words(event, words) && (words[0] & 0xffU) == event.hex("event")) {
    add_words(event, type == nullptr ? 0 : type->has, words);
  }
  if (type != nullptr) {
    event.set_text("event", type->printed);
    event.set_text("name", type->name);
  }
  if (soc == Soc::kUnknown) return;
  event.set_text("soc", soc_name(soc));
  const auto sid = register_of(event, "sid");
  if (sid && !event.has("client")) set_if(event, "client", stream_client_v3(soc, *sid));
}

// "%08x", the bits in words ("MULTI SS Format=2 TF") as a list. What is shorter was cut off.
bool fault_registers(Event& event) {
  for (const std::string_view name : {"gfsr", "gfsynr0", "gfsynr1", "gfsynr2"}) {
    if (event.has(name) && !is_whole_register(event.text(name))) event.remove(name);
  }
  for (const std::string_view name : {"fsr", "fsynr"}) {
    const std::string_view digits = event.text(name);
    if (!digits.empty() && !is_whole_register(digits)) return false;
    if (!digits.empty()) event.set_hex(name, parse_hex(digits).value_or(0));
  }
  std::string_view flags = event.text("flags");
  event.remove("flags");
  for (std::string_view flag = take_word(flags); !flag.empty(); flag = take_word(flags)) {
    if (is_kernel_name(flag)) event.add_item("flags", flag);
  }
  return event.size() > 1;
}

// "\t0x0000020900000080": all that there is in the line.
bool event_word(Event& event) {
  const std::string_view word = event.text("words");
  if (word.size() != 18) return false;
  event.remove("words");
  event.add_item("words", word);
  return true;
}

// "(unassigned sid)" is no name.
bool known_client(Event& event) {
  if (!is_kernel_name(event.text("client"))) event.remove("client");
  return event.has("sid");
}

bool event_access(Event& event) {
  if (const auto code = event.hex("class"))
    event.set_number("class", static_cast<std::int64_t>(*code));
  if (event.has("stag") && !event.has("stall")) event.set_bool("stall", false);
  return event.has("rw");
}

// The flags of an IO_PAGE_FAULT, by AMD's specification of the IOMMU (48882).
bool amd_event(Event& event) {
  const bool known =
      event.has("domain") || event.has("iova") || event.has("gpa") || event.has("spa");
  const auto flags = event.hex("event_flags");
  if (!known || !flags || event.text("name") != "IO_PAGE_FAULT") return known;
  const bool interrupt = (*flags & 0x008U) != 0;
  const bool present = (*flags & 0x010U) != 0;
  const bool write = (*flags & 0x020U) != 0;
  const bool forbidden = (*flags & 0x040U) != 0;
  const bool translation_request = (*flags & 0x100U) != 0;
  // Of an absent page a read is not told from an unknown access.
  if (!translation_request && (present || write)) event.set_text("rw", write ? "write" : "read");
  if (!present) event.set_text("fault", "translation");
  if (present && forbidden) event.set_text("fault", "permission");
  return !interrupt;
}

// Numbers of older kernels have no "0x"; "0x00:0x02.0" is 5.14's; a PASID of all ones is none.
bool dmar_reason(Event& event) {
  if (const auto iova = event.hex("iova")) event.set_hex("iova", *iova);
  if (const auto pasid = event.hex("pasid"); pasid == UINT32_MAX) event.remove("pasid");
  const std::string_view device = event.text("client");
  if (device.size() == 11 && device.starts_with("0x") && device.substr(5, 2) == "0x") {
    std::array<char, 7> bare{};
    device.copy(bare.data(), 3, 2);
    device.copy(bare.data() + 3, 4, 7);
    event.set_text("client", {bare.data(), bare.size()});
  }
  for (const Reason& reason : kReasons) {
    if (event.has("fault") || !contains(event.text("reason"), reason.part)) continue;
    event.set_text("fault", reason.fault);
  }
  return event.size() > 1;
}

// A task may be named "mc-err: (2) viw": no error has a parenthesis, what the kernel prints of a
// task's fault does.
bool controller_error(Event& event) {
  return event.has("client") && !contains(event.text("error"), "(");
}

// The kind in parentheses may be cut off, and is part of the error then.
bool controller_access(Event& event) {
  const std::string_view error = event.text("error");
  const std::size_t at = error.find(" (");
  if (at != std::string_view::npos) event.set_text("error", error.substr(0, at));
  return event.has("rw");
}

// As logs of Tegra194 to 264 show, an access that the SMMU refused arrives in the last page below
// 34, 40 or 48 bits, where the memory controller refuses it again.
static bool is_redirected(std::optional<std::uint64_t> addr) {
  constexpr std::array<unsigned, 3> kBits{34, 40, 48};
  return addr && std::any_of(kBits.begin(), kBits.end(), [&](unsigned bits) {
           return *addr >> 12 == (std::uint64_t{1} << (bits - 12)) - 1;
         });
}

void controller_address(Event& event, Soc /*soc*/) {
  if (is_redirected(event.hex("addr"))) event.set_bool("redirected", true);
}

bool same_controller_access(const Event& open, const Event& part) {
  for (const std::string_view name : {"dev", "client", "rw", "type"}) {
    if (open.text(name) != part.text(name)) return false;
  }
  return open.boolean("secure") == part.boolean("secure") &&
         open.text("error") != part.text("error") && !is_redirected(part.hex("addr"));
}

}  // namespace hooks
}  // namespace jetmem::kernel_log
