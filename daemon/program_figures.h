// What every program that the daemon runs is counted by, and its entries in the log, of which there
// are never many.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/sample.h"

namespace jetmem {

enum class ProgramFailure : std::uint8_t {
  kNotStarted,  // it could not be executed
  kEnded,       // by itself, before it was asked to
  kSilent,      // it printed nothing for too long, and was ended
  kFlood,       // it printed far more than it should, and was ended
  kWedged,      // it hangs in the kernel beyond SIGKILL
  kGarbage,     // it ended well, and what it printed is not what it should
};
inline constexpr std::size_t kProgramFailures = 6;

struct ProgramFigures {
  std::uint64_t starts = 0;
  std::array<std::uint64_t, kProgramFailures> failures{};
  std::uint64_t lines = 0;
  std::uint64_t superseded = 0;  // lines that nobody took before the next came
  std::uint64_t too_long = 0;    // lines without an end
  bool wedged = false;

  void failed(ProgramFailure why) { ++failures[static_cast<std::size_t>(why)]; }
};

// Every sample, each time in the same order.
void write_program(SampleWriter& out, std::string_view program, const ProgramFigures& figures);
std::span<const Descriptor> program_figures_metrics();

// At most so many entries within the window; how many were kept back is told with the next one.
class ProgramLog {
 public:
  static constexpr int kEntries = 6;
  static constexpr Nanoseconds kWindow = std::chrono::minutes(10);
  using Fields = std::vector<std::pair<std::string, std::string>>;

  ProgramLog(Log& log, const Clock& clock, std::string_view source, int entries = kEntries)
      : log_(log), clock_(clock), source_(source), entries_(entries) {}
  void say(LogLevel level, std::string message, Fields fields = {});
  std::uint64_t withheld() const { return withheld_; }

 private:
  Log& log_;
  const Clock& clock_;
  std::string source_;
  int entries_;
  Nanoseconds window_begin_{0};
  int used_ = 0;
  std::uint64_t withheld_ = 0;
  std::uint64_t untold_ = 0;
};

}  // namespace jetmem
