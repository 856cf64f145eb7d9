// SPDX-License-Identifier: Apache-2.0
#include "daemon/parts/children.h"

#include <utility>

#include "collectors/kernel_log/source.h"
#include "collectors/sampler/registry.h"
#include "daemon/children/child_process_stats.h"
#include "daemon/children/nvml_program.h"
#include "daemon/children/tegrastats_program.h"
#include "daemon/probe/probe_program.h"

namespace jetmem {
namespace {

std::vector<std::unique_ptr<Program>> make_all_programs(const ProgramContext& context) {
  std::vector<std::unique_ptr<Program>> programs;
  programs.push_back(std::make_unique<TegrastatsProgram>(context));
  programs.push_back(std::make_unique<NvmlProgram>(context, NvmlProgramOptions{}));
  programs.push_back(std::make_unique<ProbeProgram>(context, ProbeProgramOptions{}));
  return programs;
}

}  // namespace

std::vector<std::span<const Descriptor>> program_metrics() {
  return {child_process_metrics(), probe_stats_metrics(), probe_program_metrics(),
          fit_prediction_metrics()};
}

Children::Children(DaemonContext& context, const Settings& settings, const Sampling& sampling,
                   const ProbeWindow& probe_window, const Program::Done& done,
                   std::function<DeviceNow()> look, std::function<void()> before_answers,
                   std::function<void(UniqueFd)> dispose)
    : context_(context) {
  reader::ClientOptions reader;
  // Another root is nothing that systemd's reader could serve.
  if (context.is_live()) reader.socket = settings.reader.socket;
  reader.program =
      settings.reader.program.empty() ? reader::find_reader_program() : settings.reader.program;
  reader.root = context.options.root_directory;
  reader.deadline = settings.reader.deadline;
  reader.max_wedged = settings.reader.max_wedged;
  reader.before_answers = std::move(before_answers);
  reader.stream_source = KernelLogSource::kInfo.name;
  reader.dispose = std::move(dispose);
  reader_ =
      std::make_unique<reader::Client>(std::move(reader), context.clock, context.spawner, done);
  if (!context.is_live()) return;
  programs_ = make_all_programs(
      {context.clock, context.spawner, context.log, done, &sampling.sampler->readings(),
       probe_window, source_states(*sampling.sampler), context.runtime_directory, std::move(look)});
}

Result<void> Children::start() {
  auto ok = reader_->attach(context_.loop);
  for (const std::unique_ptr<Program>& program : programs_) {
    if (ok) ok = program->start(context_.loop);
  }
  return ok;
}

void Children::apply(const Settings& settings) {
  reader_->set_limits(settings.reader.deadline, settings.reader.max_wedged);
  for (const std::unique_ptr<Program>& program : programs_) {
    program->apply(settings);
    const SourceSettings* source = settings.find_source(program->source());
    if (source != nullptr && !source->enabled) program->stop();
  }
}

void Children::run_program(std::string_view source) {
  for (const std::unique_ptr<Program>& program : programs_) {
    if (program->source() == source) program->due();
  }
}

std::string_view Children::missing(std::string_view source, const Labels& labels) const {
  for (const std::unique_ptr<Program>& program : programs_) {
    if (program->source() == source) return program->missing(labels);
  }
  return {};
}

void Children::log_reader_state(bool is_under_systemd) {
  if (const std::string& part = reader_->read_in_part(); part != logged_part_) {
    context_.log.write(
        {part.empty() ? LogLevel::kInfo : LogLevel::kWarning,
         part.empty() ? "source " + logged_part_ + ": read whole again"
                      : "source " + part +
                            ": read in part, as a whole reading did not return; jetmem sources "
                            "shows what is absent",
         {},
         false});
    logged_part_ = part;
  }
  const std::string& reason = reader_->fallback_reason();
  if (reason == logged_fallback_) return;
  logged_fallback_ = reason;
  if (reason.empty()) {
    context_.log.info("jetmem-reader is systemd's now, with its privilege");
    return;
  }
  // Without systemd that is how it should be.
  context_.log.write({is_under_systemd ? LogLevel::kWarning : LogLevel::kInfo,
                      "jetmem-reader runs with only the daemon's own rights: " + reason +
                          "; the socket is tried again every minute",
                      {},
                      false});
}

void Children::fill(DaemonCounters& counters) const {
  const reader::ClientCounters& reader = reader_->counters();
  counters.reader_starts = reader.starts;
  counters.reader_timeouts = reader.timeouts;
  counters.reader_failures = reader.failures;
  counters.readers_wedged = reader_->wedged();
  counters.reader_from_socket = reader_->kind() == reader::ReaderKind::kSocket;
  counters.reader_spawned = reader_->kind() == reader::ReaderKind::kSpawned;
}

void Children::write(SampleWriter& out) const {
  for (const std::unique_ptr<Program>& program : programs_) program->write(out);
}

void Children::write_usage(SampleWriter& out) const {
  const auto write = [&](pid_t pid, std::string_view name) {
    if (pid > 0) write_process_usage(out, context_.own_facts, pid, name);
  };
  write(reader_->pid(), "jetmem-reader");
  for (const std::unique_ptr<Program>& program : programs_) write(program->pid(), program->name());
}

std::uint64_t Children::suppressed() const {
  std::uint64_t count = 0;
  for (const std::unique_ptr<Program>& program : programs_) count += program->suppressed();
  return count;
}

void Children::stop() {
  reader_.reset();
  for (const std::unique_ptr<Program>& program : programs_) program->stop();
}

}  // namespace jetmem
