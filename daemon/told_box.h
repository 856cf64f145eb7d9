// What the loop tells the web thread beside pages and alerts: the sources' states, and the last raw
// text of programs that only the daemon runs. Handed over when something changed, into storage that
// is used again: no lock, and no allocation while nothing grows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/snapshot.h"
#include "collectors/sampler.h"
#include "daemon/page_box.h"
#include "report/device_now.h"

namespace jetmem {

struct ToldSources {
  std::vector<SourceNow> sources;
  std::uint64_t changes = 0;  // grows with each
};

class SourcesBox {
 public:
  // For the loop, after each round: cheap where nothing changed.
  void tell(const Sampler& sampler);
  // For the web thread; valid until the next call.
  const ToldSources& latest() { return box_.latest(); }

 private:
  ToldSources now_;
  NewestBox<ToldSources> box_;
};

// The files of one source that a program tells.
struct ToldText {
  struct File {
    std::string path;
    std::string text;
  };
  std::vector<File> files;
  std::size_t used = 0;      // of the files: the others only keep their storage
  std::size_t left_out = 0;  // files longer than the room for them
};

class TextsBox {
 public:
  // All sources together, and so each of a few: three copies are kept of what changes.
  static constexpr std::size_t kMaxBytes = 1U << 20;

  // Before there are threads: one box for each source that a program tells.
  explicit TextsBox(const Sampler& sampler);

  // For the loop. Null: there is none now. Of another kind of source it is ignored.
  void tell(std::string_view source, const Snapshot* snapshot);

  // For the web thread: files there was no room for.
  std::size_t left_out() {
    std::size_t out = 0;
    for (Source& source : sources_) out += source.box.latest().left_out;
    return out;
  }
  // For the web thread: calls put(path, text) for each.
  template <class Put>
  void each(Put put) {
    for (Source& source : sources_) {
      const ToldText& told = source.box.latest();
      for (std::size_t i = 0; i < told.used; ++i) put(told.files[i].path, told.files[i].text);
    }
  }

 private:
  struct Source {
    std::string_view name;
    NewestBox<ToldText> box;
  };
  std::vector<Source> sources_;
};

}  // namespace jetmem
