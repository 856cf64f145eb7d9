// SPDX-License-Identifier: Apache-2.0
// Holds the map of contiguous memory to the truth: tools/cma_play allocates and releases, and after
// each of its steps the map is compared with the kernel's bitmap page by page, and owners with what
// its processes were given.
//
//   cma_truth SEED STEPS
//
// Two maps are made of the same readings: one as jetmemd makes it, and one that is given the
// bitmap in two of a hundred readings only, so that it stands on events. Prints differences, and a
// line for each map at the end; exits with 0 where nothing was wrong and enough was compared.
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "base/root/root.h"
#include "base/root/snapshot.h"
#include "collectors/cma/gather.h"
#include "collectors/cma/map.h"
#include "collectors/cma/source.h"

namespace {

using jetmem::CmaBounds;
using jetmem::CmaMap;
using jetmem::CmaMapper;
using jetmem::CmaPiece;
using jetmem::CmaTrace;

// After so many steps come more events than the rings hold.
constexpr int kBurst = 2500;

using Bytes = std::map<std::string, double>;  // by name of a process

class Player {
 public:
  explicit Player(unsigned seed) {
    for (const char* heap : {"reserved", "default_cma_region", "linux,cma", "default-pool"}) {
      if (::access((std::string("/dev/dma_heap/") + heap).c_str(), R_OK) == 0) name_ = heap;
    }
    std::array<int, 2> orders{};
    if (::pipe2(orders.data(), O_CLOEXEC) != 0) std::exit(2);
    ::dup2(orders[0], STDIN_FILENO);  // of popen's child
    orders_ = ::fdopen(orders[1], "w");
    answers_ = ::popen(("cma_play " + name_ + " " + std::to_string(seed)).c_str(), "re");
    if (name_.empty() || orders_ == nullptr || answers_ == nullptr) std::exit(2);
  }

  // Who has how much then.
  Bytes play(int steps) {
    std::fprintf(orders_, "%d 0\n", steps);
    std::fflush(orders_);
    Bytes out;
    std::array<char, 128> line{};
    while (std::fgets(line.data(), line.size(), answers_) != nullptr) {
      std::array<char, 32> name{};
      double number = 0;
      unsigned refused = 0;
      if (std::sscanf(line.data(), "end %lf %u", &number, &refused) == 2) {
        refused_ += refused;
        return out;
      }
      if (std::sscanf(line.data(), "%31s %lf", name.data(), &number) == 2) {
        out[name.data()] += number;
      }
    }
    std::exit(2);
  }

  std::uint64_t refused() const { return refused_; }

 private:
  std::string name_;
  std::FILE* orders_ = nullptr;
  std::FILE* answers_ = nullptr;
  std::uint64_t refused_ = 0;
};

bool is_set(const CmaBounds& bounds, std::uint64_t pfn) {
  const std::uint64_t bit = (pfn - *bounds.base_pfn) >> bounds.order;
  return ((bounds.bitmap[bit / 32] >> (bit % 32)) & 1) != 0;
}

struct Held {
  CmaMapper mapper;
  CmaMap map;
  std::uint64_t compared = 0, unclear = 0, known = 0, pages = 0, wrong = 0;
  std::uint64_t whole = 0, runs_wrong = 0, owners_exact = 0, owners_wrong = 0;
  int printed = 0;

  void compare(const CmaTrace& trace, const std::vector<CmaBounds>& bounds, const Bytes& truth,
               int step) {
    if (!mapper.take(trace, map)) {
      ++unclear;
      return;
    }
    for (const CmaBounds& each : bounds) {
      const auto area = std::find_if(map.areas.begin(), map.areas.end(), [&](const auto& known) {
        return known.base_pfn == each.base_pfn;
      });
      if (area != map.areas.end() && each.has_bitmap) compare(*area, each, truth, step);
    }
  }

  void compare(const CmaMap::Area& area, const CmaBounds& bounds, const Bytes& truth, int step) {
    ++compared;
    known += area.known_pages();
    pages += *area.pages;
    Bytes owners;
    bool has_before = false;
    for (const CmaPiece& piece : area.pieces) {
      for (std::uint64_t pfn = piece.pfn; pfn < piece.end(); ++pfn) {
        if (is_set(bounds, pfn) == (piece.state != CmaPiece::State::kFree)) continue;
        ++wrong;
        if (++printed < 20) std::printf("step %d: page %#lx differs\n", step, pfn);
      }
      has_before = has_before || piece.state == CmaPiece::State::kBefore;
      if (piece.state != CmaPiece::State::kTaken) continue;
      const jetmem::CmaOwner& owner = map.owners[piece.owner];
      owners[owner.comm.empty() ? owner.name : owner.comm] +=
          static_cast<double>(piece.pages) * 4096;
    }
    const bool is_exact = area.is_whole() && !has_before;
    owners_exact += is_exact ? 1 : 0;
    for (const auto& [name, bytes] : owners) {
      const auto found = truth.find(name);
      const double has = found == truth.end() ? 0 : found->second;
      if (bytes <= has && (!is_exact || (bytes == has && owners.size() == truth.size()))) continue;
      ++owners_wrong;
      if (++printed < 20) {
        std::printf("step %d: %s has %.0f, not %.0f\n", step, name.c_str(), has, bytes);
      }
    }
    if (!area.is_whole()) return;
    ++whole;
    std::uint64_t most = 0;
    for (const char* prefix : {"", "cma-"}) {  // to 5.12
      std::ifstream("/sys/kernel/debug/cma/" + (prefix + area.name) + "/maxchunk") >> most;
      if (most > 0) break;
    }
    if (most != area.largest_free_run()) ++runs_wrong;
  }

  bool print(const char* which) const {
    std::printf(
        "%s: %lu comparisons, %lu unclear; %.1f %% of pages known, %lu wrong, %lu corrected; "
        "owners exact %lu times, %lu wrong; largest run %lu times, %lu wrong; %lu losses\n",
        which, compared, unclear,
        100 * static_cast<double>(known) / static_cast<double>(std::max<std::uint64_t>(pages, 1)),
        wrong, map.corrected_pages, owners_exact, owners_wrong, whole, runs_wrong, map.losses);
    return wrong + owners_wrong + runs_wrong + map.corrected_pages == 0 &&
           unclear * 100 <= compared && whole * 2 > compared && owners_exact > 0;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: cma_truth SEED STEPS\n");
    return 2;
  }
  const int steps = std::atoi(argv[2]);
  Player player(static_cast<unsigned>(std::atoi(argv[1])));
  const jetmem::Root root = jetmem::Root::live();
  jetmem::SnapshotReader reader(jetmem::CmaMapSource::kInfo.paths, jetmem::kCmaMapLimits,
                                jetmem::gather_cma_map);
  CmaTrace trace;
  Held both;
  Held by_events;
  int not_read = 0;
  for (int step = 0; step < steps; ++step) {
    const Bytes truth = player.play(step % kBurst == kBurst - 1 ? 1500 : 1);
    if (const auto parsed = parse_cma_trace(reader.read(root), trace); !parsed) {
      std::printf("step %d: %s\n", step, parsed.error().message.c_str());
      ++not_read;
      continue;
    }
    const std::vector<CmaBounds> bounds = trace.bounds;
    both.compare(trace, bounds, truth, step);
    for (CmaBounds& each : trace.bounds) each.has_bitmap = each.has_bitmap && step % 100 < 2;
    by_events.compare(trace, bounds, truth, step);
  }
  utsname kernel{};
  ::uname(&kernel);
  std::printf("kernel %s, seed %s, %d steps, %lu allocations refused\n", kernel.release, argv[1],
              steps, player.refused());
  const bool is_right = both.print("as jetmemd makes it");
  const bool has_lost = steps < kBurst || (both.map.losses > 0 && by_events.map.losses > 0);
  return by_events.print("of events alone") && is_right && has_lost && not_read == 0 ? 0 : 1;
}
