// SPDX-License-Identifier: Apache-2.0
#include "cli/client/local_snapshot.h"

#include <algorithm>
#include <utility>

#include "base/process/poll_loop.h"
#include "base/root/manifest.h"
#include "base/spawn.h"
#include "base/text/print_error.h"
#include "base/text/text.h"
#include "cli/client/site_messages_input.h"
#include "collectors/kernel_log/kmsg.h"
#include "collectors/reader/client.h"
#include "collectors/sampler/registry.h"
#include "config/yaml_fields.h"
#include "health/registry.h"
#include "report/events/kernel_event_record.h"

namespace jetmem {
namespace {

constexpr std::size_t kRecordsAtOnce = 4096;
constexpr int kMostOfDevice = 64;  // times that many: more than any ring holds

}  // namespace

Result<std::unique_ptr<LocalSnapshot>> LocalSnapshot::read(const std::string& root_directory,
                                                           const std::vector<std::string>& only,
                                                           LocalSnapshotOptions options) {
  Root root = Root::live();
  if (!root_directory.empty()) {
    auto other = Root::at(root_directory);
    if (!other) return tl::unexpected(std::move(other.error()).within("--root"));
    root = std::move(*other);
  }
  std::unique_ptr<LocalSnapshot> shot(
      new LocalSnapshot(std::move(root), root_directory, std::move(options)));
  if (auto ok = shot->choose(only); !ok) return tl::unexpected(std::move(ok.error()));
  shot->read_all();
  return shot;
}

LocalSnapshot::LocalSnapshot(Root root, std::string root_directory, LocalSnapshotOptions options)
    : root_(std::move(root)),
      root_directory_(std::move(root_directory)),
      options_(std::move(options)) {}

Result<void> LocalSnapshot::choose(const std::vector<std::string>& only) {
  std::vector<std::unique_ptr<Source>> sources = make_all_sources();
  std::vector<std::string_view> names;
  for (const auto& source : sources) names.push_back(source->info().name);
  for (const std::string& needed : only) {
    if (std::find(names.begin(), names.end(), needed) != names.end()) continue;
    return fail(Errc::kInvalid, "unknown source '" + printable(needed, 60) + "'" +
                                    did_you_mean(needed, names) + "; `jetmem sources` lists them");
  }
  // Sources that were not selected are not created.
  if (!only.empty()) {
    std::erase_if(sources, [&](const std::unique_ptr<Source>& source) {
      return std::find(only.begin(), only.end(), source->info().name) == only.end();
    });
  }
  for (const std::unique_ptr<Source>& source : sources) {
    auto* kernel_log = dynamic_cast<KernelLogSource*>(source.get());
    if (kernel_log != nullptr) kernel_log_source_ = kernel_log;
  }
  Sampler::Options options;
  options.with_timing = false;
  sampler_ = std::make_unique<Sampler>(root_, clock_, table_, std::move(sources),
                                       make_derived_metrics(), options);
  return {};
}

void LocalSnapshot::read_all() {
  reader::ClientOptions options;
  options.program = reader::find_reader_program();
  options.root = root_directory_;
  if (root_.is_live()) options.socket = options_.reader_socket;
  options.in_part = options_.in_part;
  SystemSpawner spawner;
  PollLoop loop;
  bool again = false;
  reader::Client client(
      options, clock_, spawner,
      [&](std::string_view name, Result<const Snapshot*> snapshot, Nanoseconds read_time) {
        for (std::size_t i = 0; i < sampler_->size(); ++i) {
          if (sampler_->info(i).name != name) continue;
          UniqueFd stream = client.take_descriptor();
          if (stream.valid()) {
            read_kernel_log(i, std::move(stream));
          } else if (snapshot && sampler_->info(i).access == Access::kStream) {
            seen(i, **snapshot);
            const std::string_view path = sampler_->info(i).paths.front();
            sampler_->reject(i, (*snapshot)->find(path).as_error());
          } else if (snapshot) {
            seen(i, **snapshot);
            sampler_->accept(i, **snapshot, read_time);
          } else if (snapshot.error().code == Errc::kTimeout && sampler_->info(i).can_spare &&
                     !std::exchange(again, true)) {
            client.request(name);  // in part
          } else {
            sampler_->reject(i, std::move(snapshot.error()));
          }
        }
      });
  const auto attached = client.attach(loop);
  // Cheap sources first, as in the daemon: the gates of the expensive ones use them.
  for (std::size_t i = 0; i < sampler_->size(); ++i) {
    const Access access = sampler_->info(i).access;
    if (access == Access::kProgram && root_.is_live()) {
      if (!take_text(i)) sampler_->skip(i, "needs jetmemd");
    } else if (access == Access::kDirect || access == Access::kProgram) {
      collect(i);
    }
  }
  for (std::size_t i = 0; i < sampler_->size(); ++i) {
    const Access access = sampler_->info(i).access;
    if (access == Access::kDirect || access == Access::kProgram) continue;
    if (options.program.empty() && options.socket.empty() && access == Access::kStream) {
      int error = 0;
      const std::string_view path = sampler_->info(i).paths.front();
      UniqueFd stream = root_.open_stream(path, error);
      if (stream.valid()) {
        read_kernel_log(i, std::move(stream));
      } else {
        Snapshot refused;
        refused.add(path, {}, error);
        seen(i, refused);
        sampler_->reject(i, FileText{path, {}, error}.as_error());
      }
    } else if (options.program.empty() && options.socket.empty()) {
      collect(i);
    } else if (!attached) {
      sampler_->reject(i, attached.error());
    } else if (sampler_->admit(i)) {
      options_.begins(sampler_->info(i).name);
      client.request(sampler_->info(i).name);
    }
  }
  loop.run_until([&] { return client.idle(); });
  sampler_->finish_cycle();
}

void LocalSnapshot::seen(std::size_t i, const Snapshot& snapshot) const {
  if (options_.seen) options_.seen(sampler_->info(i), snapshot);
}

void LocalSnapshot::collect(std::size_t i) {
  options_.begins(sampler_->info(i).name);
  if (!options_.seen) return sampler_->collect(i);
  if (!sampler_->admit(i)) return;
  const SourceInfo& info = sampler_->info(i);
  const Nanoseconds begin = clock_.mono();
  SnapshotReader reader(info.paths, info.limits, info.gather, info.name);
  const Snapshot& snapshot = reader.read(root_);
  seen(i, snapshot);
  sampler_->accept(i, snapshot, clock_.mono() - begin);
}

bool LocalSnapshot::take_text(std::size_t i) {
  const std::string path(sampler_->info(i).paths.front());
  const auto text = options_.texts.find(path);
  if (text == options_.texts.end()) return false;
  Snapshot snapshot;
  snapshot.add(path, text->second, 0);
  seen(i, snapshot);
  sampler_->accept(i, snapshot, Nanoseconds(0));
  return true;
}

void LocalSnapshot::read_kernel_log(std::size_t i, UniqueFd fd) {
  messages_ = site_messages_for(options_.config, root_);
  if (options_.kernel_log) options_.kernel_log(fd.get(), messages_->catalogue());
  kernel_log::KernelLog::Options options;
  const kernel_log::SocFound found = kernel_log::find_soc(root_);
  options.soc = found.soc;
  if (!found.problem.empty()) {
    print_error("jetmem: unknown SoC: " + found.problem +
                "; SMMU faults may lack their client's name");
  }
  kernel_log_ = std::make_unique<kernel_log::KernelLog>(
      clock_, options,
      [this](const kernel_log::Event& event, const kernel_log::Occurrence& occurrence) {
        events_.push_back(kernel_event_record(event, occurrence.entry->origin, occurrence.time));
        if (events_.size() > kMaxEvents) events_.pop_front();
      });
  kernel_log_->set_site_messages(messages_->catalogue());
  if (!root_.is_live()) kernel_log_->set_captured();
  kernel_log::KmsgReader kmsg(*kernel_log_);
  auto drained = kmsg.attach(std::move(fd));
  // Where records come faster than they are read there would be no end; a file has one.
  for (int n = 0; drained && !kernel_log_->is_caught_up(); ++n) {
    if (n == kMostOfDevice && !kmsg.is_file()) kernel_log_->caught_up();
    auto all = kmsg.drain(kRecordsAtOnce);
    if (!all) drained = tl::unexpected(std::move(all.error()));
    if (all && *all) kernel_log_->caught_up();
  }
  if (!drained) {
    sampler_->reject(i, std::move(drained.error()));
    return;
  }
  KernelLogReading reading;
  reading.log = kernel_log_.get();
  reading.input = kmsg.is_file() ? KernelLogInput::kFile : KernelLogInput::kKmsg;
  std::optional<Nanoseconds> wall_offset;
  if (root_.is_live()) {
    wall_offset = clock_.wall() - clock_.boot();
  } else if (root_.facts().boot_time) {
    wall_offset = std::chrono::seconds(*root_.facts().boot_time);
  }
  reading.wall_offset = wall_offset;
  const Manifest* manifest = root_.manifest();
  if (!root_.is_live() && manifest != nullptr && manifest->capture) {
    if (const auto& seconds = manifest->capture->log_seconds) {
      reading.captured_at =
          std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(*seconds));
    }
  }
  for (EventRecord& event : events_) {
    if (wall_offset && event.at) event.wall = *wall_offset + *event.at;
  }
  kernel_log_source_->set_reading(reading);
  sampler_->accept(i, Snapshot(), Nanoseconds(0));
}

}  // namespace jetmem
