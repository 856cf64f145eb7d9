#include "cli/one_shot.h"

#include <poll.h>

#include <algorithm>

#include "base/spawn.h"
#include "base/text.h"
#include "collectors/reader/client.h"
#include "collectors/registry.h"
#include "health/registry.h"

namespace jetmem {

Result<std::unique_ptr<OneShot>> OneShot::read(const std::string& root_directory,
                                               const std::vector<std::string>& only) {
  Root root = Root::live();
  if (!root_directory.empty()) {
    auto other = Root::at(root_directory);
    if (!other) return tl::unexpected(std::move(other.error()).within("--root"));
    root = std::move(*other);
  }
  std::unique_ptr<OneShot> shot(new OneShot(std::move(root), root_directory));
  if (auto ok = shot->choose(only); !ok) return tl::unexpected(std::move(ok.error()));
  shot->read_chosen();
  return shot;
}

OneShot::OneShot(Root root, std::string root_directory)
    : root_(std::move(root)), root_directory_(std::move(root_directory)) {}

Result<void> OneShot::choose(const std::vector<std::string>& only) {
  std::vector<std::unique_ptr<Source>> sources = make_all_sources();
  std::vector<std::string_view> names;
  for (const auto& source : sources) names.push_back(source->info().name);
  for (const std::string& wanted : only) {
    if (std::find(names.begin(), names.end(), wanted) != names.end()) continue;
    std::string message = "no source is called '" + printable(wanted, 60) + "'";
    const std::string_view near = nearest_name(wanted, names);
    if (!near.empty()) message += "; did you mean '" + std::string(near) + "'?";
    message += (near.empty() ? "; " : " ") + std::string("`jetmem sources` lists them");
    return fail(Errc::kInvalid, std::move(message));
  }
  // A source left out is not made at all: nothing is said of what was not asked for.
  if (!only.empty()) {
    std::erase_if(sources, [&](const std::unique_ptr<Source>& source) {
      return std::find(only.begin(), only.end(), source->info().name) == only.end();
    });
  }
  Sampler::Options options;
  options.with_timing = false;
  sampler_ = std::make_unique<Sampler>(root_, clock_, table_, std::move(sources),
                                       make_all_derivations(), options);
  for (std::size_t i = 0; i < sampler_->size(); ++i) chosen_.push_back(i);
  return {};
}

void OneShot::read_chosen() {
  reader::ClientOptions options;
  options.program = reader::find_reader_program();
  options.root = root_directory_;
  SystemSpawner spawner;
  reader::Client client(
      options, clock_, spawner,
      [&](std::string_view name, Result<const Snapshot*> snapshot, Nanoseconds read_time) {
        for (const std::size_t i : chosen_) {
          if (sampler_->info(i).name != name) continue;
          if (snapshot) {
            sampler_->accept(i, **snapshot, read_time);
          } else {
            sampler_->reject(i, std::move(snapshot.error()));
          }
        }
      });
  // Cheap sources first, as in the daemon: the gates of the dear ones look at them.
  for (const std::size_t i : chosen_) {
    if (sampler_->info(i).access == Access::kDirect) sampler_->collect(i);
  }
  for (const std::size_t i : chosen_) {
    if (sampler_->info(i).access != Access::kReader) continue;
    if (options.program.empty()) {
      sampler_->collect(i);
    } else if (sampler_->admit(i)) {
      client.request(sampler_->info(i).name);
    }
  }
  while (!client.idle()) {
    pollfd ready{client.fd(), POLLIN, 0};
    if (::poll(&ready, 1, -1) > 0) client.dispatch();
  }
  sampler_->finish_round();
}

std::size_t OneShot::series_of(std::size_t source) const {
  for (const SampleTable::Section& section : table_.sections()) {
    if (section.name == sampler_->info(source).name) return section.slots.size();
  }
  return 0;
}

}  // namespace jetmem
