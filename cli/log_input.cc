#include "cli/log_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "cli/log_format.h"

namespace jetmem {

using kernel_log::Soc;

std::vector<std::string_view> soc_names() {
  std::vector<std::string_view> names;
  for (const Soc soc :
       {Soc::kTegra210, Soc::kTegra186, Soc::kTegra194, Soc::kTegra234, Soc::kTegra264}) {
    names.push_back(kernel_log::soc_name(soc));
  }
  return names;
}

Result<Soc> soc_given(std::string_view name) {
  if (const auto soc = kernel_log::soc_named(name); soc && *soc != Soc::kUnknown) return *soc;
  const std::vector<std::string_view> names = soc_names();
  std::string message = "no SoC is called '" + printable(name, 60) + "'";
  const std::string_view near = nearest_name(name, names);
  if (!near.empty()) message.append("; did you mean '").append(near).append("'?");
  message.append(near.empty() ? "; known are" : " Known are");
  for (const std::string_view known : names) {
    message.append(known == names.front() ? " " : ", ").append(known);
  }
  return fail(Errc::kInvalid, std::move(message));
}

Result<std::string> feed_from(int fd, std::string_view path, kernel_log::TextLog& log) {
  constexpr int kQuietMs = 1000;
  std::array<char, 64U << 10> buffer;
  LogFormat format(log);
  bool news = false;
  const auto not_read = [&](Error error) {
    return tl::unexpected(std::move(error).within(std::string(path)));
  };
  while (std::ferror(stdout) == 0) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, news ? kQuietMs : -1) == 0) {
      if (auto paused = format.pause(); !paused) return not_read(std::move(paused.error()));
      std::fflush(stdout);
      news = false;
      continue;
    }
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return tl::unexpected(errno_error("read", path, errno));
    if (n == 0) break;
    news = true;
    if (auto fed = format.feed({buffer.data(), static_cast<std::size_t>(n)}); !fed) {
      return not_read(std::move(fed.error()));
    }
  }
  if (auto end = format.finish(); !end) return not_read(std::move(end.error()));
  return format.left_out();
}

Result<UniqueFd> open_given(const std::string& path) {
  if (path == "-") return UniqueFd(::dup(STDIN_FILENO));
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) return tl::unexpected(errno_error("open", printable(path, 300), errno));
  return file;
}

Result<UniqueFd> open_captured(const Root& root, const std::string& directory,
                               std::string_view path) {
  int error = 0;
  UniqueFd file = root.open_file(path, error);
  const std::string shown = printable(directory, 300) + std::string(path);
  if (file.valid()) return file;
  if (error == Root::kNotRegular) {
    return fail(Errc::kNotRegular, shown + ": not a regular file");
  }
  return tl::unexpected(errno_error("open", shown, error));
}

}  // namespace jetmem
