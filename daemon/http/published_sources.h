// SPDX-License-Identifier: Apache-2.0
// What the loop passes to the web thread beside pages and alerts: the sources' states, and the last
// raw text of programs that only the daemon runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/root/snapshot.h"
#include "collectors/processes/group/groups.h"
#include "collectors/sampler/sampler.h"
#include "daemon/http/published.h"
#include "report/device/device_now.h"

namespace jetmem {

struct PublishedSources {
  std::vector<SourceNow> sources;
  std::vector<Processes::Newcomer> newcomers;  // none where processes are not known
  std::optional<CmaMap> cma_map;
  bool operator==(const PublishedSources&) const = default;
};

PublishedSources sources_now(const Sampler& sampler);

// The files of one source that a program reports, by path.
struct ProgramText {
  std::vector<std::pair<std::string, std::string>> files;
  std::size_t left_out = 0;  // files longer than the room for them
};

class ProgramTexts {
 public:
  // All sources together, and so each of a few.
  static constexpr std::size_t kMaxBytes = 1U << 20;

  // Before there are threads: of each source that a program reports, and of the history of boots,
  // which only jetmemd and root can read.
  explicit ProgramTexts(const Sampler& sampler);

  // For the loop. Null: there is none now. Of another kind of source it is ignored.
  void take(std::string_view source, const Snapshot* snapshot);

  // For the web thread: of all sources.
  std::vector<std::shared_ptr<const ProgramText>> newest() const;

 private:
  std::map<std::string_view, Published<ProgramText>> sources_;
};

}  // namespace jetmem
