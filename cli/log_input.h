// Where the kernel log of a command comes from, and which SoC it is of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root.h"
#include "collectors/kernel_log/soc.h"
#include "collectors/kernel_log/text_log.h"

namespace jetmem {

// The names that --soc takes.
std::vector<std::string_view> soc_names();
// Errors name the nearest, and all.
Result<kernel_log::Soc> soc_given(std::string_view name);
// Feeds a descriptor to its end, or until standard output takes no more. When nothing comes for a
// second what is known so far is told. Returns what of the input was not understood, if anything.
Result<std::string> feed_from(int fd, std::string_view path, kernel_log::TextLog& log);
// A file of the caller's own choice, "-" being standard input.
Result<UniqueFd> open_given(const std::string& path);
// A file of a captured root: DIR/dev/kmsg. Errors name it as the user finds it.
Result<UniqueFd> open_captured(const Root& root, const std::string& directory,
                               std::string_view path = "/dev/kmsg");

}  // namespace jetmem
