// SPDX-License-Identifier: Apache-2.0
// Has jetmem-nvml ask NVIDIA's management library, once each interval, where the GPU's driver is
// nvidia.ko. The daemon never loads that library itself: see collectors/jetson/nvml/source.h.
//
// Under systemd the program is a unit of its own (jetmem-nvml.socket), which may open the GPU's
// devices; the daemon connects and reads until the end. Where there is no such socket the daemon
// starts the program itself, with its own rights.
//
// The driver may hang, beyond SIGKILL: then that process is left behind, and none is started before
// its pidfd says that it is gone.
#pragma once

#include <string>
#include <vector>

#include "base/process/child_process.h"
#include "base/root/snapshot.h"
#include "collectors/jetson/nvml/source.h"
#include "daemon/children/child_process_stats.h"
#include "daemon/children/program.h"

namespace jetmem {

struct NvmlProgramOptions {
  std::string driver = "/proc/driver/nvidia/version";  // there is nvidia.ko where this exists
  std::string socket = "/run/jetmem-nvml/socket";
  std::string program;                 // empty: the one beside jetmemd
  std::vector<std::string> arguments;  // of the program started by the daemon; for tests
  std::chrono::milliseconds deadline{10'000};
};

class NvmlProgram final : public Program {
 public:
  NvmlProgram(const ProgramContext& context, NvmlProgramOptions options);

  std::string_view source() const override;
  Result<void> start(EventLoop& loop) override;
  void apply(const Settings& settings) override;
  void due() override;
  void stop() override;
  // Lives for a moment only; one that takes longer is worth showing.
  pid_t pid() const override;
  std::string_view name() const override { return "jetmem-nvml"; }
  void write(SampleWriter& out) const override;
  std::uint64_t suppressed() const override { return log_.suppressed(); }

 private:
  void on_deadline();
  Result<void> run();
  Result<void> connect_to_socket();
  Result<void> spawn();
  void on_output(std::string_view bytes);
  void on_end(const ChildEnd& end);
  void abandon_run(ChildProcessFailure why, Errc code, std::string how);

  const Clock& clock_;
  Program::Done done_;
  ChildProcessLog log_;
  NvmlProgramOptions options_;
  ChildProcess child_;
  Snapshot snapshot_;
  ByteBuffer text_;
  Nvml look_;  // only for whether there is anything
  ChildProcessStats stats_;
  Backoff backoff_;
  Timer timer_;

  bool from_socket_ = false;
  bool has_peer_process_ = false;
  std::string logged_fallback_;
  Nanoseconds started_{0};   // mono clock
  Nanoseconds next_run_{0};  // boot clock
  bool logged_wedged_ = false;
};

}  // namespace jetmem
