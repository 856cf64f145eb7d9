// SPDX-License-Identifier: Apache-2.0
#include "collectors/cma/map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "tests/collectors/cma/cma_kernel.h"

namespace jetmem {
namespace {

using Thread = CmaKernel::Thread;

// Threads that allocate, pass on, split and release for thousands of steps, and one that looks.
class Life {
 public:
  struct Options {
    CmaFormat format = CmaFormat::k61;
    bool with_places = true;
    bool with_bitmaps = false;
    bool with_trouble = false;  // overruns, other readers, clears
    std::size_t areas = 2;
    bool with_slow = false;          // allocations that move pages away first
    bool goes_on_meanwhile = false;  // events come while it is read
  };

  Life(const Options& options, unsigned seed)
      : options_(options), kernel_(options.format, kCpus, 64), rng_(seed) {
    kernel_.add_area("linux,cma", 0xada00, 1500);
    if (options.areas > 1) kernel_.add_area("vpr", 0xc0000, 700);
    for (std::uint32_t i = 0; i < 6; ++i)
      threads_.push_back({400 + i, "camera-" + std::to_string(i), i % kCpus});
  }

  void step() {
    kernel_.pass(1 + below(3'000'000));
    const unsigned what = below(100);
    if (what < 40) {
      allocate();
    } else if (what < 60) {
      release();
    } else if (what < 70) {
      release_part();
    } else if (what < 75) {
      const std::size_t area = below(kernel_.areas.size());
      kernel_.trace_failure(thread(), area, below(100), 1 + below(80));
    } else if (what < 82) {
      release_late();
    } else if (what < 85) {
      kernel_.trace_other(thread());
    } else if (options_.with_slow && what < 90) {
      allocate_slowly();
    } else if (options_.with_trouble && what == 99 && below(4) == 0) {
      trouble();
    }
    if (blocks_.size() > 40) release();
    if (below(6) == 0) finish_slow();
  }

  // A release that the kernel has done and not yet traced, or the other way round, ends.
  void finish_late() {
    if (!late_) return;
    kernel_.trace_release(late_->by, late_->area, late_->at, late_->pages);
    late_.reset();
  }

  void look() {
    Snapshot snapshot;
    kernel_.render(snapshot, options_.with_places, options_.with_bitmaps);
    if (options_.goes_on_meanwhile) go_on(snapshot);
    const auto parsed = parse_cma_trace(snapshot, trace_);
    ASSERT_TRUE(parsed) << parsed.error().message;
    ++(mapper_.take(trace_, map) ? used : unused);
  }

  // How many pages are known; each of them is what the kernel's bit says.
  std::uint64_t check() const {
    std::uint64_t known = 0;
    for (const CmaMap::Area& area : map.areas) {
      const auto truth = std::find_if(
          kernel_.areas.begin(), kernel_.areas.end(),
          [&](const auto& each) { return each.name == area.name || area.name.empty(); });
      if (truth == kernel_.areas.end()) continue;
      std::uint64_t last = 0;
      for (const CmaPiece& piece : area.pieces) {
        EXPECT_LE(last, piece.pfn);
        last = piece.end();
        for (std::uint64_t pfn = piece.pfn; pfn < piece.end(); ++pfn) {
          ++known;
          const std::uint64_t at = pfn - truth->base;
          if (is_late(area.name, at)) continue;
          if (truth->taken[at] != (piece.state != CmaPiece::State::kFree)) {
            ADD_FAILURE() << area.name << " page " << at << ": known as "
                          << static_cast<int>(piece.state) << ", bit " << truth->taken[at];
            return known;
          }
        }
      }
      if (area.is_whole()) {
        std::uint64_t run = 0;
        std::uint64_t largest = 0;
        for (const bool taken : truth->taken)
          largest = std::max(largest, run = taken ? 0 : run + 1);
        if (!late_ && !slow_) {
          EXPECT_EQ(area.largest_free_run(), largest);
        }
      }
    }
    return known;
  }
  // Each page that is known by an event belongs to the thread that took it last.
  void check_owners() const {
    for (const Block& block : blocks_) {
      for (const CmaMap::Area& area : map.areas) {
        if (area.name != kernel_.areas[block.area].name) continue;
        const std::uint64_t pfn = kernel_.areas[block.area].base + block.at;
        for (const CmaPiece& piece : area.pieces) {
          if (piece.state != CmaPiece::State::kTaken || piece.pfn > pfn || piece.end() <= pfn)
            continue;
          EXPECT_EQ(map.owners[piece.owner].comm, block.by.comm);
        }
      }
    }
  }
  void clear_one() { kernel_.clear(below(kCpus)); }
  void forget() {
    mapper_ = CmaMapper();
    map = CmaMap();
  }
  std::uint64_t all_pages() const {
    std::uint64_t sum = 0;
    for (const auto& area : kernel_.areas) sum += area.taken.size();
    return sum;
  }
  unsigned below(std::size_t n) { return static_cast<unsigned>(rng_() % n); }

  CmaMap map;
  int used = 0;  // readings
  int unused = 0;

 private:
  static constexpr std::size_t kCpus = 3;
  struct Block {
    std::size_t area = 0;
    std::uint64_t at = 0;
    std::uint64_t pages = 0;
    Thread by;
  };

  const Thread& thread() { return threads_[below(threads_.size())]; }

  // The counters before are of then, all else of now.
  void go_on(Snapshot& snapshot) {
    Snapshot now;
    for (unsigned i = below(12); i > 0; --i) step();
    finish_late();
    kernel_.render(now, options_.with_places, options_.with_bitmaps);
    Snapshot out;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const FileText file = now[i];
      const bool is_before = file.path.ends_with("/stats") && !file.path.starts_with(kCmaAfter);
      out.add(file.path, is_before ? *snapshot.text_of(file.path) : file.text, 0);
    }
    snapshot = std::move(out);
  }
  // Its bits are set long before it is traced, or it fails.
  void allocate_slowly() {
    finish_slow();
    const Block block{below(kernel_.areas.size()), 0, 1 + below(90), thread()};
    const std::int64_t at = kernel_.find(block.area, block.pages);
    if (at < 0) return;
    slow_ = block;
    slow_->at = static_cast<std::uint64_t>(at);
    kernel_.set(slow_->area, slow_->at, slow_->pages, true);
  }
  void finish_slow() {
    if (!slow_) return;
    const Block block = *std::exchange(slow_, std::nullopt);
    if (below(3) == 0) {
      kernel_.set(block.area, block.at, block.pages, false);
      kernel_.trace_failure(block.by, block.area, block.at, block.pages);
    } else {
      kernel_.trace_alloc(block.by, block.area, block.at, block.pages);
      blocks_.push_back(block);
    }
  }
  void allocate() {
    const std::size_t area = below(kernel_.areas.size());
    const std::uint64_t pages = 1 + below(90);
    const Thread& by = thread();
    const std::int64_t at = kernel_.find(area, pages);
    if (at < 0) return kernel_.trace_failure(by, area, 0, pages);
    const Block block{area, static_cast<std::uint64_t>(at), pages, by};
    kernel_.set(area, block.at, pages, true);
    kernel_.trace_alloc(by, area, block.at, pages, below(3) == 0 ? "vb2_dc_alloc" : "");
    blocks_.push_back(block);
  }
  Block take_any() {
    const std::size_t i = below(blocks_.size());
    const Block block = blocks_[i];
    blocks_.erase(blocks_.begin() + static_cast<long>(i));
    return block;
  }
  // Whoever holds it last releases it: any thread.
  void release(bool is_traced = true) {
    if (blocks_.empty()) return;
    const Block block = take_any();
    kernel_.set(block.area, block.at, block.pages, false);
    if (is_traced) kernel_.trace_release(thread(), block.area, block.at, block.pages);
  }
  void release_part() {
    if (blocks_.empty()) return;
    Block block = take_any();
    const std::uint64_t begin = below(block.pages);
    const std::uint64_t pages = 1 + below(block.pages - begin);
    kernel_.set(block.area, block.at + begin, pages, false);
    kernel_.trace_release(thread(), block.area, block.at + begin, pages);
    if (begin > 0) blocks_.push_back({block.area, block.at, begin, block.by});
    const std::uint64_t rest = block.pages - begin - pages;
    if (rest > 0) blocks_.push_back({block.area, block.at + begin + pages, rest, block.by});
  }
  // The bits are clear, another takes some of them, and only then the release is traced.
  void release_late() {
    finish_late();
    if (blocks_.empty()) return;
    late_ = take_any();
    kernel_.set(late_->area, late_->at, late_->pages, false);
    allocate();
    if (below(2) == 0) finish_late();
  }
  void trouble() {
    const unsigned what = below(4);
    if (what == 0) kernel_.consume(below(kCpus), 1 + below(20));
    if (what == 1) kernel_.clear();
    if (what == 2) {
      // Something is lost that was never written.
      const std::size_t cpu = below(kCpus);
      release(false);
      kernel_.drop(cpu);
    }
    // More than a ring holds.
    for (int i = 0; what == 3 && i < 400; ++i) {
      allocate();
      release();
    }
  }
  bool is_late(const std::string& area, std::uint64_t at) const {
    const auto has = [&](const std::optional<Block>& block) {
      return block && kernel_.areas[block->area].name == area && at >= block->at &&
             at < block->at + block->pages;
    };
    return has(late_) || has(slow_);
  }

  Options options_;
  CmaKernel kernel_;
  std::mt19937 rng_;
  std::vector<Thread> threads_;
  std::vector<Block> blocks_;
  std::optional<Block> late_;
  std::optional<Block> slow_;
  CmaTrace trace_;
  CmaMapper mapper_;
};

#ifdef JETMEM_QUICK
constexpr int kSteps = 2'000;  // five minutes under sanitizers otherwise
#else
constexpr int kSteps = 10'000;
#endif
constexpr int kFewer = kSteps / 5;

class CmaMapTruth : public testing::TestWithParam<CmaFormat> {
 protected:
  void live(Life::Options options, unsigned seed) {
    options.format = GetParam();
    life = std::make_unique<Life>(options, seed);
  }
  // So many steps, each with `each` behind it, to the first failure.
  template <class Each>
  void steps(int count, Each each) {
    for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
      life->step();
      each(i);
    }
  }
  void look_and_check() {
    life->finish_late();
    life->look();
    known += life->check();
    life->check_owners();
  }
  double share_known(int looks) const {
    return static_cast<double>(known) / static_cast<double>(life->all_pages()) / looks;
  }

  std::unique_ptr<Life> life;
  std::uint64_t known = 0;
};

TEST_P(CmaMapTruth, EqualsTheBitmapOrIsUnknown) {
  for (const bool with_bitmaps : {false, true}) {
    const int count = with_bitmaps ? kFewer : kSteps;
    live({.with_bitmaps = with_bitmaps, .with_trouble = true}, with_bitmaps ? 7 : 5);
    steps(300, [](int) {});  // jetmem begins in the middle
    known = 0;
    steps(count, [&](int i) {
      // Two readings are a second apart, and no release is under way for so long.
      if (with_bitmaps ? i % 2 == 0 : life->below(5) > 0) life->finish_late();
      if (life->below(3000) == 0) life->forget();
      life->look();
      known += life->check();
      if (i % 10 == 0) life->check_owners();
    });
    life->finish_late();
    // It is no map that knows nothing.
    EXPECT_GT(share_known(count), with_bitmaps ? 0.95 : 0.3);
    EXPECT_GT(life->map.losses, 0U);
    if (!with_bitmaps) {
      EXPECT_EQ(life->map.corrected_pages, 0U);
    }
  }
}

// Without trouble nothing becomes unknown again, and nothing has to be corrected.
TEST_P(CmaMapTruth, OnAQuietMachineNothingIsLost) {
  live({.with_bitmaps = true}, 3);
  life->look();
  life->look();
  steps(kFewer, [&](int) { look_and_check(); });
  EXPECT_EQ(known, life->all_pages() * kFewer);
  EXPECT_EQ(life->map.losses, 0U);
  EXPECT_EQ(life->map.corrected_pages, 0U);
  // Looking seldom is as good, as long as the rings hold what came.
  live({}, 11);
  life->look();
  steps(kSteps, [&](int i) {
    if (i % 15 == 0) look_and_check();
  });
  EXPECT_EQ(life->map.losses, 0U);
  // An allocation sets its bits, moves pages away for some readings, and only then is traced, or
  // fails without a word.
  live({.with_bitmaps = true, .with_slow = true}, 17);
  known = 0;
  steps(kFewer, [&](int) { look_and_check(); });
  EXPECT_EQ(life->map.losses, 0U);
  EXPECT_EQ(life->map.corrected_pages, 0U);
  EXPECT_GT(share_known(kFewer), 0.9);
}

// What others released meanwhile, and whose it was before, is not known then.
TEST_P(CmaMapTruth, OneRingIsCleared) {
  live({}, 23);
  life->look();
  steps(kFewer, [&](int i) {
    life->finish_late();
    if (i % 50 == 49) life->clear_one();
    look_and_check();
  });
  EXPECT_GT(life->map.losses, kFewer / 100U);
  EXPECT_LE(life->map.losses, kFewer / 50U);
}

// A text whose ring overwrote events meanwhile is not used, and the next one goes on.
TEST_P(CmaMapTruth, EventsWhileItIsRead) {
  live({.goes_on_meanwhile = true}, 19);
  life->look();
  for (int i = 0; i < kFewer && !testing::Test::HasFailure(); ++i) {
    const int unused = life->unused;
    life->look();
    if (life->unused != unused) continue;
    known += life->check();
    life->check_owners();
  }
  EXPECT_EQ(life->map.losses, 0U);
  EXPECT_GT(known, 0U);
  EXPECT_GT(life->unused, kFewer / 20);
  EXPECT_GT(life->used, kFewer / 4);
}

// Where the area lies is known from nowhere: what events said is known all the same.
TEST_P(CmaMapTruth, WithoutPlaces) {
  live({.with_places = false, .with_trouble = true, .areas = 1}, 13);
  steps(kFewer, [&](int) { look_and_check(); });
  EXPECT_GT(known, 0U);
  ASSERT_EQ(life->map.areas.size(), 1U);
  EXPECT_FALSE(life->map.areas[0].is_whole());
  EXPECT_EQ(life->map.areas[0].unknown_pages(), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Kernels, CmaMapTruth,
                         testing::Values(CmaFormat::k510, CmaFormat::k61, CmaFormat::k612));

TEST(CmaRequest, IsAlignedToItsSizeUpToAMebibyte) {
  const auto fits = [](std::uint64_t pages, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t align = std::min<std::uint64_t>(std::bit_ceil(pages), 256);
    return (begin + align - 1) / align * align + pages <= end;
  };
  for (std::uint64_t begin = 0; begin < 300; begin += 7) {
    for (std::uint64_t end = begin; end < 800; end += 11) {
      std::uint64_t most = 0;
      for (std::uint64_t pages = 1; pages <= end - begin; ++pages) {
        if (fits(pages, begin, end)) most = pages;
      }
      ASSERT_EQ(cma_request_in(begin, end), most) << begin << ' ' << end;
    }
  }
  EXPECT_EQ(cma_request_in(0x10001, 0x10401), 0x301U);
}

}  // namespace
}  // namespace jetmem
