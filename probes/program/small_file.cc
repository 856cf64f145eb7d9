// SPDX-License-Identifier: Apache-2.0
#include "probes/program/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "probes/program/run.h"

namespace jetmem::probe {
namespace {

constexpr std::size_t kMaxBytes = 16U << 10;
constexpr std::size_t kMaxShown = 40;

}  // namespace

FileText read_small_file(const std::string& path) {
  FileText file;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    file.error = errno;
    return file;
  }
  char bytes[4096];
  while (file.text.size() < kMaxBytes) {
    const ssize_t n = ::read(fd, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) file.error = errno;
    if (n <= 0) break;
    file.text.append(bytes, static_cast<std::size_t>(n));
  }
  ::close(fd);
  if (file.error != 0) file.text.clear();
  while (!file.text.empty() &&
         (file.text.back() == '\n' || file.text.back() == ' ' || file.text.back() == '\0')) {
    file.text.pop_back();
  }
  return file;
}

std::optional<std::uint64_t> parse_digits(const std::string& text) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  if (text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::strtoull(text.c_str(), nullptr, 10);
}

FileNumber number_in(const std::string& path) {
  const FileText file = read_small_file(path);
  if (file.error != 0) return {std::nullopt, file.error, errno_name(file.error)};
  FileNumber found{parse_digits(file.text), 0, ""};
  if (!found.number) {
    found.why = "expected a number, found \"" + file.text.substr(0, kMaxShown) + "\"";
  }
  return found;
}

std::optional<std::uint64_t> number_of(const std::string& meminfo, const std::string& field) {
  const std::string name = "\n" + field + ":";
  const std::size_t at = ("\n" + meminfo).find(name);
  if (at == std::string::npos) return std::nullopt;
  // The newline in front is one byte that `meminfo` has not.
  const std::size_t begin = meminfo.find_first_not_of(" \t", at + name.size() - 1);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t end = meminfo.find_first_not_of("0123456789", begin);
  if (end == std::string::npos || meminfo.compare(end, 3, " kB") != 0) return std::nullopt;
  const auto kibibytes = parse_digits(meminfo.substr(begin, end - begin));
  if (!kibibytes || *kibibytes > (UINT64_MAX >> 10)) return std::nullopt;
  return *kibibytes << 10;
}

}  // namespace jetmem::probe
