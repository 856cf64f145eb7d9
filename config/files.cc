// SPDX-License-Identifier: Apache-2.0
#include "config/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/root/snapshot.h"
#include "base/text/print_error.h"
#include "base/text/text.h"
#include "base/unique_fd.h"

namespace jetmem {
namespace {

constexpr std::string_view kNotReadable =
    "cannot be read: permission denied; make it readable for the user this runs as";

Result<void> check_kind(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) {
    return fail(Errc::kIo, "cannot be examined: " + std::generic_category().message(errno));
  }
  if (S_ISDIR(status.st_mode)) {
    return fail(Errc::kNotRegular, "is a directory; name a YAML file instead");
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(Errc::kNotRegular,
                "is a FIFO, socket or device, not a regular file; put a YAML file in its place");
  }
  return {};
}

}  // namespace

std::string describe(const ConfigError& error) {
  std::string text = printable(error.file, 4096);
  if (error.line > 0) {
    text.append(":").append(std::to_string(error.line));
    if (error.column > 0) text.append(":").append(std::to_string(error.column));
  }
  return text.append(": ").append(error.message);
}

std::string describe(const std::vector<ConfigError>& errors) {
  std::string text;
  for (const ConfigError& error : errors) {
    if (!text.empty()) text.push_back('\n');
    text.append(describe(error));
  }
  return text;
}

void print_errors(const std::vector<ConfigError>& errors) {
  for (const ConfigError& error : errors) print_error(describe(error));
}

std::string program_problem(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? "there is no such file" : "";
  }
  if (!S_ISREG(status.st_mode)) return "is not a regular file";
  return ::access(path.c_str(), X_OK) != 0 && errno == EACCES ? "is not executable" : "";
}

Result<std::string> read_config_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.valid()) {
    const int error = errno;
    if (error == ENOENT) return fail(Errc::kAbsent, "there is no such file; check its name");
    if (error == EACCES || error == EPERM) return fail(Errc::kDenied, std::string(kNotReadable));
    if (error == ENXIO) {
      return fail(Errc::kNotRegular, "is a socket or device; put a YAML file in its place");
    }
    return fail(Errc::kIo, "cannot be opened: " + std::generic_category().message(error));
  }
  if (auto ok = check_kind(fd.get()); !ok) return tl::unexpected(ok.error());
  ByteBuffer bytes;
  const int error = read_to_end(fd.get(), kMaxConfigFileBytes, bytes);
  if (error == FileText::kTooLarge) {
    return fail(Errc::kTooLarge, "is larger than 1 MiB; is this the right file?");
  }
  if (error != 0) {
    return fail(Errc::kIo, "cannot be read: " + std::generic_category().message(error));
  }
  return std::string(bytes.view());
}

std::vector<std::string> list_yaml(const std::string& directory, std::vector<ConfigError>& errors) {
  namespace fs = std::filesystem;
  const auto refuse = [&](std::string path, std::string message) {
    errors.push_back({.file = std::move(path), .key = {}, .message = std::move(message)});
  };
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  if (error == std::errc::no_such_file_or_directory) return {};
  std::vector<std::string> paths;
  std::size_t met = 0;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.front() == '.') continue;
    const bool is_yml = name.ends_with(".yml");
    if (!is_yml && !name.ends_with(".yaml")) continue;
    if (++met > kMaxConfigFiles) {
      refuse(directory, "holds more than " + std::to_string(kMaxConfigFiles) +
                            " YAML files; is this the right directory?");
      return {};
    }
    if (is_yml) {
      refuse(entry->path().string(), "is not read; rename it to .yaml");
    } else {
      paths.push_back(entry->path().string());
    }
  }
  if (error) {
    refuse(directory, error == std::errc::permission_denied
                          ? std::string(kNotReadable)
                          : "cannot be listed as a directory: " + error.message());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

tl::expected<std::vector<ConfigFile>, std::vector<ConfigError>> find_config_files(
    const std::string& directory) {
  std::vector<ConfigFile> files{{directory + "/jetmem.yaml", false}};
  std::vector<ConfigError> errors;
  for (std::string& path : list_yaml(directory + "/conf.d", errors)) {
    files.push_back({std::move(path), true});
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return files;
}

}  // namespace jetmem
