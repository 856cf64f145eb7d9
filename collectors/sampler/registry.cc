// SPDX-License-Identifier: Apache-2.0
#include "collectors/sampler/registry.h"

namespace jetmem {
namespace {

template <class List>
struct Expand;

template <class... S>
struct Expand<std::tuple<S...>> {
  static constexpr std::array<const SourceInfo*, sizeof...(S)> kInfos{&S::kInfo...};

  static std::vector<std::unique_ptr<Source>> make() {
    std::vector<std::unique_ptr<Source>> sources;
    sources.reserve(sizeof...(S));
    (sources.push_back(std::make_unique<S>()), ...);
    return sources;
  }
};

}  // namespace

std::span<const SourceInfo* const> all_source_infos() { return Expand<AllSources>::kInfos; }

std::vector<KnownSource> known_sources() {
  std::vector<KnownSource> known;
  for (const SourceInfo* info : all_source_infos()) {
    known.push_back({info->name, info->interval, info->shortest_interval});
  }
  return known;
}

std::vector<std::unique_ptr<Source>> make_all_sources() { return Expand<AllSources>::make(); }

}  // namespace jetmem
