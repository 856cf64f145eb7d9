// SPDX-License-Identifier: Apache-2.0
#include "base/root/recorded.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/root/manifest.h"
#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::string_view kHead = "jetmem-records 1";
constexpr std::string_view kTruncated = " truncated";
constexpr std::string_view kInTree = "=";

std::string error_name(int error) {
  if (error == 0) return "0";
  if (error == FileText::kNotRegular) return "not_regular";
  if (error == FileText::kTooLarge) return "too_large";
  const std::string_view name = errno_name(error);
  return std::string(name.empty() ? std::string_view("EIO") : name);
}

std::optional<int> error_named(std::string_view name) {
  if (name == "0") return 0;
  if (name == "not_regular") return FileText::kNotRegular;
  if (name == "too_large") return FileText::kTooLarge;
  const int error = errno_named(name);
  return error == 0 ? std::nullopt : std::optional(error);
}

std::string_view take_field(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<std::size_t> size_of(std::string_view word) {
  const auto number = take_u64(word);
  if (!number || !word.empty() || *number > kMaxRecordsFile) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

std::optional<std::string_view> take_bytes(std::string_view& rest, std::size_t size) {
  if (rest.size() < size) return std::nullopt;
  const std::string_view bytes = rest.substr(0, size);
  rest.remove_prefix(size);
  return bytes;
}

void add_from_tree(const Root& root, std::string_view path, std::size_t limit, Snapshot& out) {
  out.begin(path);
  int error = 0;
  const UniqueFd fd = root.open_file(path, error);
  if (fd.valid()) error = read_to_end(fd.get(), limit, out.buffer());
  out.end(error);
}

// A reader looks at its limits before a file, not behind it, and notes one for each folder that it
// could not list.
bool is_full(const Snapshot& out, const ReadLimits& limits) {
  return out.size() >= 2 * limits.files || out.buffer_size() >= 2 * limits.total_bytes;
}

// False: damaged.
bool take_record(const Root& root, std::string_view& rest, Snapshot& out,
                 const ReadLimits& limits) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return false;
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  const auto path_size = size_of(take_field(line));
  const std::string_view text_word = take_field(line);
  const auto error = error_named(line);
  if (!path_size || !error) return false;
  const auto path = take_bytes(rest, *path_size);
  if (!path) return false;
  if (text_word == kInTree) {
    add_from_tree(root, *path, limits.file_bytes, out);
  } else {
    const auto text_size = size_of(text_word);
    const auto text = text_size ? take_bytes(rest, *text_size) : std::nullopt;
    if (!text) return false;
    out.add(*path, *text, *error);
  }
  return take_bytes(rest, 1) == "\n";
}

}  // namespace

std::string recorded_head(bool truncated) {
  return std::string(kHead) + std::string(truncated ? kTruncated : "") + "\n";
}

void append_recorded(std::string& out, const FileText& file, bool in_tree) {
  out += std::to_string(file.path.size()) + " ";
  out += in_tree ? std::string(kInTree) : std::to_string(file.text.size());
  out += " " + error_name(file.error) + "\n";
  out.append(file.path);
  if (!in_tree) out.append(file.text);
  out += "\n";
}

bool read_recorded(const Root& root, std::string_view source, Snapshot& out,
                   const ReadLimits& limits) {
  // Called for every source in each cycle of a replayed tree, which has none: nothing is allocated
  // for it.
  std::array<char, 128> path;
  if (kRecordsFolder.size() + source.size() > path.size()) return false;
  auto end_of_path = std::copy(kRecordsFolder.begin(), kRecordsFolder.end(), path.begin());
  end_of_path = std::copy(source.begin(), source.end(), end_of_path);
  int error = 0;
  const UniqueFd fd =
      root.open_file({path.data(), static_cast<std::size_t>(end_of_path - path.begin())}, error);
  if (!fd.valid()) return false;
  ByteBuffer bytes;
  error = read_to_end(fd.get(), kMaxRecordsFile, bytes);
  std::string_view rest = bytes.view();
  const bool begins = error == 0 && rest.substr(0, kHead.size()) == kHead;
  const std::size_t end = begins ? rest.find('\n') : std::string_view::npos;
  if (end == std::string_view::npos) {
    out.set_truncated();
    return true;
  }
  if (rest.substr(kHead.size(), end - kHead.size()) == kTruncated) out.set_truncated();
  rest.remove_prefix(end + 1);
  while (!rest.empty()) {
    if (!is_full(out, limits) && take_record(root, rest, out, limits)) continue;
    out.set_truncated();
    break;
  }
  return true;
}

}  // namespace jetmem
