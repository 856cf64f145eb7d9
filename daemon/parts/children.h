// SPDX-License-Identifier: Apache-2.0
// The programs that the daemon starts for its sources: jetmem-reader, and one for each source of
// Access::kProgram.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collectors/reader/client.h"
#include "config/settings.h"
#include "daemon/children/program.h"
#include "daemon/parts/daemon_context.h"
#include "daemon/parts/daemon_metrics.h"
#include "daemon/parts/sampling.h"
#include "metrics/sample.h"

namespace jetmem {

class Children {
 public:
  // `done` takes what any of them read or printed; `before_answers` and `dispose` as of
  // reader::ClientOptions.
  Children(DaemonContext& context, const Settings& settings, const Sampling& sampling,
           const ProbeWindow& probe_window, const Program::Done& done,
           std::function<DeviceNow()> look, std::function<void()> before_answers,
           std::function<void(UniqueFd)> dispose);

  Result<void> start();
  void apply(const Settings& settings);
  reader::Client& reader() { return *reader_; }
  // The source is due: its program is started if need be.
  void run_program(std::string_view source);
  // Program::missing() of this source's program.
  std::string_view missing(std::string_view source, const Labels& labels) const;
  // Once for each change: a reader with the daemon's own rights explains what is denied, and a
  // source that is read in part what is absent.
  void log_reader_state(bool is_under_systemd);
  void fill(DaemonCounters& counters) const;
  void write(SampleWriter& out) const;
  void write_usage(SampleWriter& out) const;
  std::uint64_t suppressed() const;
  void stop();

 private:
  DaemonContext& context_;
  std::unique_ptr<reader::Client> reader_;
  std::vector<std::unique_ptr<Program>> programs_;  // none under another root
  std::string logged_fallback_;
  std::string logged_part_;
};

// Every metric that the programs for sources write themselves.
std::vector<std::span<const Descriptor>> program_metrics();

}  // namespace jetmem
