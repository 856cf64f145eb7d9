// SPDX-License-Identifier: Apache-2.0
#include "base/root/state_file.h"

#include <utility>

#include "base/root/small_file.h"
#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::string_view kBootId = ",\"boot_id\":\"";

std::string format_of(int format) {
  return "{\"format\":" + std::to_string(format) + std::string(kBootId);
}

}  // namespace

StateFile::StateFile(const StateFileOptions& options, Log& log)
    : name_(options.name),
      path_(options.directory.empty() || options.boot_id.empty()
                ? std::string()
                : options.directory + "/" + std::string(options.name)),
      head_(format_of(options.format) + options.boot_id + "\"}\n"),
      what_(options.what),
      max_bytes_(options.max_bytes),
      log_(log) {}

std::optional<std::string> StateFile::read() {
  if (!is_enabled()) return std::nullopt;
  auto text = read_small_file(path_, max_bytes_ + head_.size());
  if (!text) {
    if (text.error().code != Errc::kAbsent) log_unusable(text.error().message);
    return std::nullopt;
  }
  if (text->starts_with(head_)) return text->substr(head_.size());
  // Of an earlier boot: its times are of another clock.
  const std::size_t format = head_.find(kBootId) + kBootId.size();
  const bool is_ours = text->compare(0, format, head_, 0, format) == 0 && text->ends_with('\n');
  if (!is_ours) log_unusable("it is truncated or of another format");
  return std::nullopt;
}

void StateFile::log_unusable(const std::string& why) {
  ++failures_;
  log_.warning("restart lost " + what_ + ": " + path_ + ": " + printable(why, 200));
}

void StateFile::cannot_store(const std::string& why) {
  ++failures_;
  if (std::exchange(store_failed_, true)) return;
  log_.warning("a restart will lose " + what_ + ": " + printable(why, 300));
}

void StateFile::store(std::string_view fields) {
  if (!is_enabled()) return;
  if (fields.size() > max_bytes_) {
    return cannot_store(path_ + " would exceed " + std::to_string(max_bytes_) + " bytes");
  }
  if (const auto ok = replace_small_file(path_, head_, fields); !ok) {
    return cannot_store(ok.error().message);
  }
  if (std::exchange(store_failed_, false)) log_.info("a restart no longer loses " + what_);
}

}  // namespace jetmem
