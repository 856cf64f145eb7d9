// SPDX-License-Identifier: Apache-2.0
// What the loop passes to the web thread beside pages and alerts: the sources' states, and the last
// raw text of programs that only the daemon runs. Handed over when something changed, into storage
// that is used again: no lock, and no allocation while nothing grows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/root/snapshot.h"
#include "collectors/processes/group/groups.h"
#include "collectors/sampler/sampler.h"
#include "daemon/http/triple_buffer.h"
#include "report/device/device_now.h"

namespace jetmem {

struct PublishedSources {
  std::vector<SourceNow> sources;
  std::vector<Processes::Newcomer> newcomers;  // none where processes are not known
  std::uint64_t changes = 0;                   // grows with each
};

class SourceStatesBuffer {
 public:
  // For the loop, after each cycle: cheap where nothing changed.
  void notify(const Sampler& sampler);
  // For the web thread; valid until the next call.
  const PublishedSources& latest() { return buffer_.latest(); }

 private:
  PublishedSources now_;
  TripleBuffer<PublishedSources> buffer_;
};

// The files of one source that a program reports.
struct PublishedText {
  struct File {
    std::string path;
    std::string text;
  };
  std::vector<File> files;
  std::size_t used = 0;      // of the files: the others only keep their storage
  std::size_t left_out = 0;  // files longer than the room for them
};

class ProgramTextsBuffer {
 public:
  // All sources together, and so each of a few: three copies are kept of what changes.
  static constexpr std::size_t kMaxBytes = 1U << 20;

  // Before there are threads: one buffer for each source that a program reports, and one for the
  // history of boots, which only jetmemd and root can read.
  explicit ProgramTextsBuffer(const Sampler& sampler);

  // For the loop. Null: there is none now. Of another kind of source it is ignored.
  void notify(std::string_view source, const Snapshot* snapshot);

  // For the web thread: files there was no room for.
  std::size_t left_out() {
    std::size_t out = 0;
    for (Source& source : sources_) out += source.buffer.latest().left_out;
    return out;
  }
  // For the web thread: calls put(path, text) for each.
  template <class Put>
  void each(Put put) {
    for (Source& source : sources_) {
      const PublishedText& published = source.buffer.latest();
      for (std::size_t i = 0; i < published.used; ++i)
        put(published.files[i].path, published.files[i].text);
    }
  }

 private:
  struct Source {
    std::string_view name;
    TripleBuffer<PublishedText> buffer;
  };
  std::vector<Source> sources_;
};

}  // namespace jetmem
