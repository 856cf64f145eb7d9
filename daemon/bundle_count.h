// How many bundles lie in a folder, and how large they are. The folder is on a disk, which may take
// for ever to answer: it is looked at by a thread that lives for that, and nobody waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace jetmem {

struct BundlesSeen {
  std::uint64_t bundles = 0;
  std::uint64_t bytes = 0;  // what killed captures left behind included
  // Number of a bundle, or of what is left of one (base/bundle_name.h).
  std::uint64_t highest = 0;
  // When each bundle was written, since 1970.
  std::vector<Nanoseconds> written;
};

class BundleCount {
 public:
  // Looks at the folder anew, once the look under way has ended; a folder that is not there has
  // none. First of all it removes what a killed capture left of this bundle, where one is named.
  void ask(const std::string& folder, const std::string& remove_parts_of = {});
  struct Look {
    std::optional<BundlesSeen> seen;  // absent: the folder cannot be read
  };
  // What the last look found, once.
  std::optional<Look> take();
  bool is_asked() const;

 private:
  // Outlives this where the disk does not answer.
  struct Shared;
  static void run(Shared& shared);
  std::shared_ptr<Shared> shared_;
};

}  // namespace jetmem
