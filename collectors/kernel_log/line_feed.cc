// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/line_feed.h"

#include <algorithm>

#include "base/text/text.h"

namespace jetmem::kernel_log {

bool LineFeed::feed(LogLine& line) {
  if (line.voice == Voice::kForeign) {
    // Nor does a fragment of the kernel's ever go on with it.
    if (!accept_foreign_) {
      ++foreign_;
      return false;
    }
    line.voice = Voice::kKernel;
  }
  const std::string_view text = line.text;
  if (!line.seq) return feed_lines(line, text);
  // A fragment goes on where the line before it ended, if that was its caller's: what it says may
  // only make sense with it.
  if (line.fragment && !last_recognized_ && !last_text_.empty() && line.caller == last_caller_ &&
      last_text_.size() < kMaxLine) {
    if (line.first_fragment) last_first_ = last_text_.size();
    last_text_.append(text.substr(0, kMaxLine));
    last_recognized_ = feed_lines(line, last_text_);
    // Before Linux 4.9 the first fragment began a line, later it is the second piece of one.
    if (!last_recognized_ && !line.first_fragment && last_first_ > 0) {
      last_recognized_ = feed_lines(line, std::string_view(last_text_).substr(last_first_));
    }
    return last_recognized_;
  }
  last_recognized_ = feed_lines(line, text);
  last_text_.assign(text.substr(0, kMaxLine));
  last_caller_.assign(line.caller);
  last_first_ = 0;
  return last_recognized_;
}

void LineFeed::remember(const LogLine& line) {
  if (line.voice != Voice::kKernel && line.voice != Voice::kUnknown) return;
  const std::string_view text = line.text.substr(0, line.text.find('\n'));
  drives_.line(text);
  // arm_smmu_device_shutdown(), as a machine shuts down, and the first line of the next boot.
  if (text.starts_with("arm-smmu") && text.ends_with(": disabling translation")) {
    smmu_off_ = line.stamp;
  } else if (text.starts_with("Booting Linux on ") || text.starts_with("Linux version ")) {
    smmu_off_.reset();
  }
}

void LineFeed::mark(Event& event) const {
  if (event.kind() == EventKind::kStorageError && drives_.is_removed(event.text("dev"))) {
    event.set_bool("removed", true);
  }
  // What still does DMA then, such as a display, uses addresses that nothing translates any more.
  if (event.kind() == EventKind::kMcError && smmu_off_ && event.stamp && *event.stamp >= *smmu_off_ &&
      *event.stamp - *smmu_off_ < std::chrono::seconds(5)) {
    event.set_text("happened", "as the machine shut down");
    event.set_bool("harmless", true);
  }
}

// "OF: reserved mem: OVERLAP DETECTED!\nA (...) overlaps with B (...)" is one message of the
// kernel's own, and its first line alone is none.
bool LineFeed::is_one_message(const LogLine& line, std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || end + 1 == text.size() || is_process(line.voice)) {
    return false;
  }
  joined_.assign(text.substr(0, kMaxLine));
  std::replace(joined_.begin(), joined_.end(), '\n', ' ');
  return !assembler_.knows(text.substr(0, end), line) && assembler_.knows(joined_, line);
}

bool LineFeed::feed_lines(LogLine& line, std::string_view text) {
  if (is_one_message(line, text)) text = joined_;
  Lines lines(text);
  bool reported = false;
  line.continues = false;
  while (lines.next(line.text)) {
    while (!line.text.empty() && is_blank(line.text.back())) line.text.remove_suffix(1);
    if (line.text.empty()) continue;
    if (!line.continues) remember(line);
    reported = assembler_.line(line) || reported;
    // The kernel may print a name with a newline in it, of a USB device say: what stands behind is
    // whoever's made up the name. A process' lines are its own, one as the other.
    line.continues = line.voice != Voice::kProcess;
  }
  return reported;
}

}  // namespace jetmem::kernel_log
