// SPDX-License-Identifier: Apache-2.0
#include "collectors/processes/group/cgroup.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kIdDigits = 64;
constexpr std::size_t kShownDigits = 12;
constexpr std::size_t kMaxUnit = 64;
constexpr std::size_t kUuid = 36;
constexpr std::size_t kNumberDigits = 4;

enum Kind : std::size_t { kVersion2, kSystemd, kMemory, kKinds };

// 8-4-4-4-12 hexadecimal digits, at the beginning.
bool begins_with_uuid(std::string_view text) {
  constexpr std::string_view kForm = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
  if (text.size() < kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'h' ? !is_lower_hex(text[i]) : text[i] != kForm[i]) return false;
  }
  return text.size() == kForm.size() || !is_lower_hex(text[kForm.size()]);
}

bool has_controller(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    if (one == name) return true;
    list.remove_prefix(std::min(one.size() + 1, list.size()));
  }
  return false;
}

// What kind of line it is, and its path.
Kind take_cgroup_line(std::string_view line, std::string_view& path) {
  const std::size_t first = line.find(':');
  if (first == std::string_view::npos) return kKinds;
  const std::size_t second = line.find(':', first + 1);
  if (second == std::string_view::npos) return kKinds;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  path = line.substr(second + 1);
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.size() >= kDeleted.size() && path.substr(path.size() - kDeleted.size()) == kDeleted) {
    path.remove_suffix(kDeleted.size());
  }
  if (controllers.empty()) return line.substr(0, first) == "0" ? kVersion2 : kKinds;
  if (controllers == "name=systemd") return kSystemd;
  return has_controller(controllers, "memory") ? kMemory : kKinds;
}

// "/lxc/web/ns/init.scope", "/lxc.payload.web", "/lxc.payload/web": web.
std::string_view lxc_name_in(std::string_view path) {
  for (const std::string_view before : {"/lxc.payload.", "/lxc.payload/", "/lxc/"}) {
    const std::size_t at = path.find(before);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = path.substr(at + before.size());
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (name.size() <= kMaxUnit) return name;
  }
  return {};
}

std::string_view unit_in(std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    const bool is_unit =
        name.ends_with(".service") || name.ends_with(".scope") || name.ends_with(".slice");
    if (is_unit && !name.starts_with('.')) return name;
    if (slash == std::string_view::npos) break;
    path = path.substr(0, slash);
  }
  return {};
}

// The last run of exactly 64 hexadecimal digits: of containers within each other the inner one.
std::string_view container_in(std::string_view path) {
  std::size_t end = path.size();
  while (end > 0) {
    if (!is_lower_hex(path[end - 1])) {
      --end;
      continue;
    }
    std::size_t begin = end;
    while (begin > 0 && is_lower_hex(path[begin - 1])) --begin;
    if (end - begin == kIdDigits) return path.substr(begin, kShownDigits);
    end = begin;
  }
  return lxc_name_in(path);
}

}  // namespace

Cgroup cgroup_of_path(std::string_view path) { return {unit_in(path), container_in(path)}; }

Cgroup parse_cgroup(std::string_view text) {
  std::array<std::string_view, kKinds> paths;
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) {
    std::string_view path;
    const Kind kind = take_cgroup_line(line, path);
    if (kind != kKinds && paths[kind].empty()) paths[kind] = path;
  }
  for (const std::string_view path : paths) {
    Cgroup of_container = cgroup_of_path(path);
    if (of_container.container.empty()) continue;
    // LXC's run whole systems: a service in one is named by its unit.
    const bool is_system = of_container.container == lxc_name_in(path);
    if (is_system && of_container.unit.ends_with(".service")) of_container.container = {};
    return of_container;
  }
  for (const std::string_view path : paths) {
    if (path.size() > 1) return cgroup_of_path(path);
  }
  return {};
}

void append_cgroup_lines(std::string& out, std::string_view text) {
  Lines lines(text);
  std::string_view line;
  std::string_view path;
  while (lines.next(line)) {
    if (take_cgroup_line(line, path) != kKinds) out.append(line).append("\n");
  }
}

void assign_unit_kind(std::string& out, std::string_view unit) {
  out.clear();
  const std::size_t dot = unit.rfind('.');
  std::string_view stem = unit.substr(0, dot);
  const std::string_view suffix =
      dot == std::string_view::npos ? std::string_view() : unit.substr(dot);
  // Long hexadecimal runs and UUIDs anywhere (ids of containers and of transient units).
  while (!stem.empty()) {
    if (begins_with_uuid(stem)) {
      out += '*';
      stem.remove_prefix(kUuid);
      continue;
    }
    std::size_t hex = 0;
    while (hex < stem.size() && is_lower_hex(stem[hex])) ++hex;
    if (hex >= 32) {
      out += '*';
    } else {
      hex = std::max<std::size_t>(hex, 1);
      out.append(stem.substr(0, hex));
    }
    stem.remove_prefix(hex);
  }
  // A number at the end, unless it is an instance's: "user@1000".
  std::size_t digits = 0;
  while (digits < out.size() && is_digit(out[out.size() - digits - 1])) ++digits;
  const bool is_instance = digits < out.size() && out[out.size() - digits - 1] == '@';
  if (digits >= kNumberDigits && digits < out.size() && !is_instance) {
    out.resize(out.size() - digits);
    out += '*';
  }
  out.append(suffix);
  const bool plain =
      std::all_of(out.begin(), out.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!plain) out = printable(out, 4 * kMaxUnit);
  // Several may begin like one that is cut.
  if (out.size() > kMaxUnit) out = printable(out, kMaxUnit - 1) + '*';
}

}  // namespace jetmem
