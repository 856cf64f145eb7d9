// Has jetmem-nvml ask NVIDIA's management library, once each interval, where the GPU's driver is
// nvidia.ko. The daemon never loads that library itself: see collectors/nvml/source.h.
//
// Under systemd the program is a unit of its own (jetmem-nvml.socket), which may open the GPU's
// devices; the daemon connects and reads until the end. Where there is no such socket the daemon
// starts the program itself, with its own rights.
//
// The driver may hang, beyond SIGKILL: then that process is left behind, and none is started before
// its pidfd says that it is gone.
#pragma once

#include <systemd/sd-event.h>

#include <string>
#include <vector>

#include "base/snapshot.h"
#include "collectors/nvml/source.h"
#include "daemon/child_output.h"
#include "daemon/program_figures.h"
#include "daemon/programs.h"

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
  ~NvmlProgram() override;

  std::string_view source() const override;
  Result<void> start(sd_event* event) override;
  void apply(const Settings& settings) override;
  void due() override;
  void stop() override;
  // Lives for a moment only; one that takes longer is worth showing.
  pid_t pid() const override;
  std::string_view name() const override { return "jetmem-nvml"; }
  void write(SampleWriter& out) const override;
  std::uint64_t withheld() const override { return log_.withheld(); }

 private:
  static int on_deadline(sd_event_source*, std::uint64_t, void* self);
  Result<void> run();
  Result<void> connect_to_socket();
  Result<void> spawn();
  void on_output(std::string_view bytes);
  void on_end(bool well, std::string how);
  void give_up(ProgramFailure why, Errc code, std::string how);
  void set_deadline(bool on);

  const Clock& clock_;
  Program::Done done_;
  ProgramLog log_;
  NvmlProgramOptions options_;
  ChildOutput child_;
  Snapshot snapshot_;
  ByteBuffer text_;
  Nvml look_;  // only for whether there is anything
  ProgramFigures figures_;
  Backoff backoff_;
  sd_event_source* timer_ = nullptr;

  bool from_socket_ = false;
  bool knows_process_ = false;
  std::string told_fallback_;
  Nanoseconds started_{0};   // mono clock
  Nanoseconds next_run_{0};  // boot clock
  bool told_wedged_ = false;
};

}  // namespace jetmem
