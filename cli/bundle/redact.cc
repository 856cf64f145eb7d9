// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/redact.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "cli/bundle/reduce_log.h"

namespace jetmem {
namespace {

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_alnum(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::size_t run_of(std::string_view text, bool (*of)(char)) {
  std::size_t n = 0;
  while (n < text.size() && of(text[n])) ++n;
  return n;
}

// How many bytes at the beginning are such a thing; 0: none.

// Six pairs of hex digits or more, all with ':' or all with '-' between: a firewall's log has both
// ends and the type in one chain.
std::size_t mac_at(std::string_view text) {
  if (text.size() < 17) return 0;
  const char mark = text[2];
  if (mark != ':' && mark != '-') return 0;
  std::size_t at = 0;
  std::size_t pairs = 0;
  while (at + 2 <= text.size() && is_hex(text[at]) && is_hex(text[at + 1])) {
    ++pairs;
    at += 2;
    if (at + 2 >= text.size() || text[at] != mark || !is_hex(text[at + 1])) break;
    ++at;
  }
  const bool ends = at >= text.size() || !is_alnum(text[at]);
  return ends && pairs >= 6 && (at >= text.size() || text[at - 1] != mark) ? at : 0;
}

std::size_t ipv4_at(std::string_view text) {
  std::size_t at = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t digits = run_of(text.substr(at), is_digit);
    if (digits == 0 || digits > 3) return 0;
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) value = value * 10 + (text[at + i] - '0');
    if (value > 255) return 0;
    at += digits;
    if (part == 3) break;
    if (at >= text.size() || text[at] != '.') return 0;
    ++at;
  }
  const bool goes_on =
      at < text.size() &&
      (is_alnum(text[at]) || (text[at] == '.' && at + 1 < text.size() && is_digit(text[at + 1])));
  return goes_on ? 0 : at;
}

// Two groups at least with "::" in it, or eight of them. A PCI address (0000:01:00.0) and a time
// (02:11:47) are neither.
std::size_t ipv6_at(std::string_view text) {
  std::size_t at = 0;
  int groups = 0;
  bool has_gap = false;
  bool is_long = false;
  while (at < text.size()) {
    // "::ffff:192.0.2.1": the older form at its end.
    if (has_gap || groups == 6) {
      if (const std::size_t tail = ipv4_at(text.substr(at)); tail > 0) return at + tail;
    }
    const std::size_t digits = run_of(text.substr(at), is_hex);
    if (digits > 4) return 0;
    if (digits > 0) ++groups;
    is_long = is_long || digits >= 3;
    at += digits;
    if (at >= text.size() || text[at] != ':') break;
    if (at + 1 < text.size() && text[at + 1] == ':') {
      if (has_gap) return 0;
      has_gap = true;
      at += 2;
    } else if (at + 1 < text.size() && is_hex(text[at + 1])) {
      ++at;
    } else {
      break;
    }
  }
  const bool ends = at == text.size() || !is_alnum(text[at]);
  return ends && (groups == 8 || (has_gap && groups >= 1 && is_long)) ? at : 0;
}

std::size_t uuid_at(std::string_view text) {
  constexpr std::size_t kSize = 36;
  if (text.size() < kSize) return 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    const bool mark = i == 8 || i == 13 || i == 18 || i == 23;
    if (mark ? text[i] != '-' : !is_hex(text[i])) return 0;
  }
  return text.size() == kSize || !is_alnum(text[kSize]) ? kSize : 0;
}

bool begins(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                  [](char a, char b) { return a == lower(b); });
}

// The value after a key word.
struct Replacement {
  std::size_t key = 0;    // how long the word is, with its mark; 0: there is none
  std::size_t value = 0;  // and what it names
  bool is_name = false;   // of a host
};

// "Serial Number: X", "serialnumber=X", "serial=X", "S/N: X", "ECID: X", "host=X",
// "Set hostname to <X>."
Replacement replacement_at(std::string_view line, bool ip_config) {
  for (const std::string_view key :
       {"serial",       "s/n",      "ecid",      "imei",  "iccid",   "passphrase", "password",
        "passwd",       "psk",      "secret",    "token", "api key", "apikey",     "cryptkey",
        "set hostname", "hostname", "host name", "host",  "domain",  "nis-domain", "asset tag"}) {
    if (!begins(line, key)) continue;
    Replacement reported;
    reported.is_name = key.find("host") != key.npos || key.find("domain") != key.npos;
    // Much has a host, and a domain; a name only where the network is set up.
    const bool equals_only = key == "host" || key.find("domain") != key.npos;
    if (key.find("domain") != key.npos && !ip_config) continue;
    std::size_t at = key.size();
    const auto blanks = [&] {
      while (at < line.size() && (line[at] == ' ' || line[at] == '-' || line[at] == '_')) ++at;
    };
    if (!equals_only) blanks();
    bool logged = false;  // more than the bare word
    for (const std::string_view more :
         {"numbers", "number", "no.", "no", "num", "#", "set to", "changed to", "to"}) {
      if (equals_only || !begins(line.substr(at), more)) continue;
      at += more.size();
      logged = true;
      break;
    }
    if (!equals_only) blanks();
    const bool marked = at < line.size() && (line[at] == '=' || (!equals_only && line[at] == ':'));
    if (!marked && !(logged && reported.is_name)) continue;
    const bool to_end = marked && line[at] == ':';
    if (marked) ++at;
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    char closing = 0;
    if (at < line.size() && (line[at] == '"' || line[at] == '\'' || line[at] == '<')) {
      closing = line[at] == '<' ? '>' : line[at];
      ++at;
    }
    reported.key = at;
    const std::string_view rest = line.substr(at);
    // A serial number may have blanks in it; where a key and its value stand among others it has
    // none.
    std::size_t end = rest.find_first_of(to_end ? ",;" : " \t,;\"'");
    if (closing != 0) end = rest.find(closing);
    reported.value = std::min(end, rest.size());
    return reported;
  }
  return {};
}

// "https://user:password@host/path?token=x": with a user or a question, up to the blank.
std::size_t url_at(std::string_view text) {
  const std::size_t scheme = run_of(text, is_alnum);
  if (scheme < 2 || scheme > 16 || !text.substr(scheme).starts_with("://")) return 0;
  const std::size_t end = std::min(text.find_first_of(" \t\"'<>"), text.size());
  return text.substr(0, end).find_first_of("@?") < end ? end : 0;
}

// "NAME@HOST.TLD"; a unit's name (user@1000.service) is none.
std::size_t mail_at(std::string_view text) {
  const auto is_part = [](char c) {
    return is_alnum(c) || c == '.' || c == '-' || c == '_' || c == '+';
  };
  const std::size_t name = run_of(text, is_part);
  if (name == 0 || name >= text.size() || text[name] != '@') return 0;
  std::string_view host = text.substr(name + 1, run_of(text.substr(name + 1), is_part));
  while (host.ends_with('.')) host.remove_suffix(1);
  const std::size_t dot = host.rfind('.');
  if (dot == host.npos || dot == 0) return 0;
  for (const std::string_view unit : {"service", "slice", "scope", "socket", "timer", "mount"}) {
    if (host.substr(dot + 1) == unit) return 0;
  }
  return name + 1 + host.size();
}

// A key or token: long, with digits and letters beyond those of a hexadecimal number. And numbers
// that prove themselves by their last digit: IMEI and ICCID.
std::size_t key_at(std::string_view text) {
  constexpr std::size_t kShortest = 16;
  const std::size_t size = run_of(text, is_alnum);
  const std::string_view word = text.substr(0, size);
  if (std::all_of(word.begin(), word.end(), is_digit)) {
    if (size != 15 && size != 19 && size != 20) return 0;
    int sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const int digit = word[size - 1 - i] - '0';
      sum += i % 2 == 0 ? digit : (digit * 2) / 10 + (digit * 2) % 10;
    }
    return sum % 10 == 0 && word.front() != '0' ? size : 0;
  }
  const auto has = [&](int (*of)(int)) {
    return std::any_of(word.begin(), word.end(),
                       [&](char c) { return of(static_cast<unsigned char>(c)) != 0; });
  };
  // Of one case, as the kernel prints it.
  const bool is_number = word.starts_with("0x") || (std::all_of(word.begin(), word.end(), is_hex) &&
                                                    !(has(std::isupper) && has(std::islower)));
  return size >= kShortest && has(std::isdigit) && !is_number ? size : 0;
}

// Audit records: the rest of the line is user input.
std::size_t typed_at(std::string_view line) {
  const std::size_t audit = line.find("audit");
  if (audit == line.npos) return line.npos;
  std::size_t first = line.npos;
  for (const std::string_view key :
       {" a0=", " a1=", " a2=", " a3=", " proctitle=", " cmd=", " exe=", " cwd="}) {
    first = std::min(first, line.find(key, audit));
  }
  return first;
}

// Between blanks.
constexpr std::string_view kRetainedWords =
    " cma mem memmap movablecore kernelcore hugepages hugepagesz default_hugepagesz hugetlb_cma "
    "transparent_hugepage swiotlb coherent_pool iommu iommu.passthrough iommu.strict "
    "arm-smmu.disable_bypass arm-smmu-v3 vmalloc psi cgroup_disable cgroup_enable swapaccount "
    "zswap.enabled numa_balancing page_owner slub_debug slab_nomerge init_on_alloc init_on_free "
    "debugfs log_buf_len loglevel printk.devkmsg panic oops panic_on_oops isolcpus nohz_full "
    "rcu_nocbs nvpmodel usbcore.usbfs_memory_mb pcie_aspm video nv-auto-config bl_prof_dataptr "
    "sdhci_tegra.en_boot_part_access crashkernel ramoops.mem_size ";

// Whether text ends as "12.": digits, and a point that is not the second ("1.2.").
bool ends_as_whole_part(std::string_view text) {
  if (text.empty() || text.back() != '.') return false;
  text.remove_suffix(1);
  const std::size_t size = text.size();
  while (!text.empty() && is_digit(text.back())) text.remove_suffix(1);
  return text.size() < size && (text.empty() || text.back() != '.');
}

// Loopback addresses identify nobody, and settings need them.
bool is_everybodys(std::string_view address) {
  return address == "127.0.0.1" || address == "0.0.0.0" || address == "::1";
}

void redact_words(std::string_view line, Redacted& counts, bool ids, std::string& out) {
  const std::string_view whole = line;
  const bool ip_config = line.find("IP-Config") != line.npos || line.find("host=") != line.npos;
  char before = ' ';
  char earlier = ' ';
  const auto drop = [&](std::size_t size) {
    if (size == 0) return;
    earlier = size > 1 ? line[size - 2] : before;
    before = line[size - 1];
    line.remove_prefix(size);
  };
  const auto pass = [&](std::size_t size) {
    out.append(line.substr(0, size));
    drop(size);
  };
  const auto replace = [&](std::size_t size, const char* by, std::uint64_t& count) {
    if (size == 0) return;
    out += by;
    ++count;
    drop(size);
  };
  while (!line.empty()) {
    // The kernel's escape of a byte begins no word.
    if (before == '\\' && line.size() >= 3 && line[0] == 'x' && is_hex(line[1]) &&
        is_hex(line[2])) {
      pass(3);
      before = ' ';
      continue;
    }
    if (!is_alnum(before)) {
      if (const std::size_t size = uuid_at(line); size > 0) {
        ids ? replace(size, "<id>", counts.ids) : pass(size);
        continue;
      }
      std::size_t address = mac_at(line);
      if (address == 0 && before != '.') address = ipv4_at(line);
      // "from:fe80::1", but not the "dead::beef" of "c++::dead::beef".
      if (address == 0 && (before != ':' || (earlier != ':' && line.front() != ':'))) {
        address = ipv6_at(line);
      }
      if (address > 0) {
        is_everybodys(line.substr(0, address)) ? pass(address)
                                               : replace(address, "<address>", counts.addresses);
        continue;
      }
      if (const Replacement reported = replacement_at(line, ip_config); reported.key > 0) {
        pass(reported.key);
        // "host=192.168.1.2" is redacted as a name, too.
        reported.is_name ? replace(reported.value, "<name>", counts.names)
                         : replace(reported.value, "<id>", counts.ids);
        continue;
      }
      if (const std::size_t size = url_at(line); size > 0) {
        const std::size_t scheme = line.find("://") + 3;
        pass(scheme);
        replace(size - scheme, "<address>", counts.addresses);
        continue;
      }
      if (const std::size_t size = mail_at(line); size > 0) {
        replace(size, "<name>", counts.names);
        continue;
      }
      // The digits of a fraction prove nothing: of ten numbers one would do.
      const bool is_fraction = ends_as_whole_part(whole.substr(0, whole.size() - line.size())) &&
                               run_of(line, is_digit) == run_of(line, is_alnum);
      if (const std::size_t size = is_fraction ? 0 : key_at(line); size > 0) {
        replace(size, "<id>", counts.ids);
        continue;
      }
      if (before == '/' && begins(line, "home/")) {
        pass(5);
        replace(std::min(line.find_first_of("/ \t,;\"':)"), line.size()), "<name>", counts.names);
        continue;
      }
    }
    // A whole word at a time: what begins within one is none of these.
    pass(std::max<std::size_t>(run_of(line, is_alnum), 1));
  }
}

void redact_line(std::string_view line, Redacted& counts, bool ids, std::string& out) {
  for (const std::string_view key : {"Kernel command line:", "Command line:",
                                     "command line parameters:", "command line parameters \""}) {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) continue;
    const std::size_t begin = at + key.size();
    out.append(line.substr(0, begin)).append(key.back() == '"' ? "" : " ");
    const std::size_t end =
        key.back() == '"' ? std::min(line.rfind('"'), line.size()) : line.size();
    out += redact_command_line(line.substr(begin, std::max(end, begin) - begin), counts);
    // What the kernel says behind it is its own.
    if (end > begin) out.append(line.substr(end));
    return;
  }
  if (const std::size_t typed = typed_at(line); typed != line.npos) {
    redact_words(line.substr(0, typed), counts, ids, out);
    out += " <omitted>";
    ++counts.arguments;
    return;
  }
  redact_words(line, counts, ids, out);
}

}  // namespace

std::string redact_text(std::string_view text, Redacted& counts, bool ids) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    redact_line(text.substr(0, end), counts, ids, out);
    const std::size_t taken = std::min(end + 1, text.size());
    if (taken > end) out += '\n';
    text.remove_prefix(taken);
  }
  return out;
}

std::string redact_command_line(std::string_view text, Redacted& counts) {
  std::string out;
  std::size_t omitted = 0;
  bool is_of_init = false;  // behind "--"
  while (!text.empty()) {
    // As the kernel takes them apart: blanks within quotes end nothing.
    std::size_t end = 0;
    for (bool quoted = false; end < text.size(); ++end) {
      if (text[end] == '"') quoted = !quoted;
      if (!quoted && (text[end] == ' ' || text[end] == '\n' || text[end] == '\t')) break;
    }
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    is_of_init = is_of_init || word == "--";
    const std::string key(word.substr(0, word.find('=')));
    const bool is_name = key.size() <= 48 && key.size() < word.size() &&
                         std::all_of(key.begin(), key.end(), [](char c) {
                           return is_alnum(c) || c == '_' || c == '-' || c == '.';
                         });
    const bool is_kept = !is_of_init && contains(kRetainedWords, " " + key + " ");
    if (!is_kept) ++counts.arguments;
    if (!is_kept && (is_of_init || !is_name)) {
      ++omitted;
      continue;
    }
    out.append(out.empty() ? "" : " ");
    is_kept ? out.append(word) : out.append(key).append("=<omitted>");
  }
  if (omitted > 0) {
    out.append(out.empty() ? "" : " ").append("<" + std::to_string(omitted) + " omitted>");
  }
  return out;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr int kDepth = 32;

// False: it is too deep to be ours.
bool redact_value(Json& value, Redacted& counts, int depth) {
  if (depth > kDepth) return false;
  if (value.is_string()) {
    value = redact_text(value.get_ref<const std::string&>(), counts);
    return true;
  }
  if (value.is_array()) {
    for (Json& each : value) {
      if (!redact_value(each, counts, depth + 1)) return false;
    }
  }
  if (value.is_object()) {
    for (auto& [key, each] : value.items()) {
      if (key.ends_with("boot_id")) continue;
      if (key == "host_name" && each.is_string()) {
        each = "<name>";
        ++counts.names;
        continue;
      }
      if (!redact_value(each, counts, depth + 1)) return false;
    }
  }
  return true;
}

// An event of the kernel's log among others.
void reduce_events(Json& value, int depth) {
  if (depth > kDepth) return;
  if (value.is_object() && value.contains("fields") && value["fields"].is_object() &&
      value.contains("summary") && value["summary"].is_string()) {
    const EventTexts less =
        reduce_event(value["fields"].dump(), value["summary"].get<std::string>());
    value["fields"] = Json::parse(less.fields, nullptr, /*allow_exceptions=*/false);
    value["summary"] = less.summary;
  }
  if (!value.is_structured()) return;
  for (Json& each : value) reduce_events(each, depth + 1);
}

}  // namespace

std::string redact_json(std::string_view json, Redacted& counts, int indent) {
  Json value = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return redact_text(json, counts);
  reduce_events(value, 0);
  Redacted now = counts;
  if (!redact_value(value, now, 0)) return redact_text(json, counts);
  counts = now;
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace jetmem
