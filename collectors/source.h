// SPDX-License-Identifier: Apache-2.0
// What a source is: which files, how often, what they mean.
//
// A source is one pair of files and one line in collectors/sampler/registry.h. Inside, always in
// this order: what it reads and since which kernel; the reading; its metric descriptors; parse;
// write.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "base/root/facts.h"
#include "base/root/gatherer.h"
#include "base/root/snapshot.h"
#include "metrics/sample.h"

namespace jetmem {

// Who opens a source's files.
enum class Access {
  kDirect,   // the daemon's loop: world readable, answered by the kernel from memory
  kReader,   // jetmem-reader: needs privilege, or may block in a driver, firmware or file system
  kStream,   // followed, not read at intervals: jetmem-reader opens its first path that exists and
             // hands over the descriptor
  kProgram,  // what a program prints, which the daemon runs on a live machine
             // (daemon/children/program.h). Its paths are where a captured root keeps that text;
             // there nothing is run
};

// Whom the person asks about: "daemon", "reader" or "program".
constexpr std::string_view access_name(Access access) {
  if (access == Access::kDirect) return "daemon";
  return access == Access::kProgram ? "program" : "reader";
}

struct SourceInfo {
  std::string_view name;
  // For `jetmem sources` and docs: what the source measures, in a few words.
  std::string_view what{};
  // Absolute paths; '*' stands for any run of characters within one component.
  std::span<const std::string_view> paths{};
  Access access = Access::kDirect;
  std::chrono::milliseconds interval{1000};
  // Shorter intervals are refused by the settings: they would cost the device.
  std::chrono::milliseconds shortest_interval{100};
  // What to do when reading is denied, for the person who wants the data.
  std::string_view grant{};
  // What reading costs grows with the machine (processes, buffers): where it takes long the source
  // is read less often, so that about a thousandth of the time goes into it; but at least every
  // tenth interval, since what is slow may be what is failing.
  bool throttled = false;
  // write() also makes what derived metrics read: the Sampler never puts it off.
  bool write_at_once = false;
  std::span<const Descriptor> metrics{};
  ReadLimits limits{};
  // What patterns cannot name; after the paths.
  Gather gather = nullptr;
  // Whether gather honours Gatherer::is_sparing(): then the source is read in part while whole
  // readings of it do not return.
  bool can_spare = false;
};

// The row of a source's table that has this name: a name that is not there does not compile.
template <std::size_t N>
struct MetricTable {
  const std::array<Descriptor, N>& rows;

  consteval const Descriptor& operator()(std::string_view name) const {
    for (const Descriptor& row : rows) {
      if (row.name == name) return row;
    }
    throw "no such metric";
  }
};
template <std::size_t N>
MetricTable(const std::array<Descriptor, N>&) -> MetricTable<N>;

class Source;

// What the sources last read, by type. A reading is there only while its source is ok and fresh,
// so that nothing is derived from what is no longer true.
class Readings {
 public:
  // One per reading type: its address is the type's identity.
  template <class R>
  static const void* tag() {
    static constexpr char kTag = 0;
    return &kTag;
  }

  template <class R>
  const R* get() const {
    for (const Entry& entry : entries_) {
      if (entry.tag == tag<R>())
        return entry.valid ? static_cast<const R*>(entry.reading) : nullptr;
    }
    return nullptr;
  }

  // Which of its readings get() shows: another number is another reading.
  template <class R>
  std::uint64_t number() const {
    for (const Entry& entry : entries_) {
      if (entry.tag == tag<R>()) return entry.number;
    }
    return 0;
  }

  void add(const void* tag, const void* reading) { entries_.push_back({tag, reading}); }
  // Called with true after each reading.
  void set_valid(std::size_t index, bool valid) {
    entries_[index].valid = valid;
    if (valid) ++entries_[index].number;
  }

 private:
  struct Entry {
    const void* tag;
    const void* reading;
    bool valid = false;
    std::uint64_t number = 0;
  };
  std::vector<Entry> entries_;
};

// Values that were unavailable although their source is fine (a powered-off thermal zone). They
// are omitted from the samples and counted here, by reason.
class AbsentValues {
 public:
  struct Count {
    std::string_view reason;  // static text
    std::uint64_t count = 0;
  };

  void add(std::string_view reason, std::uint64_t count = 1) {
    for (Count& entry : counts_) {
      if (entry.reason == reason) {
        entry.count += count;
        return;
      }
    }
    counts_.push_back({reason, count});
  }
  void add(const AbsentValues& others) {
    for (const Count& entry : others.counts_) {
      if (entry.count > 0) add(entry.reason, entry.count);
    }
  }
  // Reasons stay listed with 0, so that their series do not come and go.
  void reset() {
    for (Count& entry : counts_) entry.count = 0;
  }
  const std::vector<Count>& counts() const { return counts_; }

 private:
  std::vector<Count> counts_;
};

// A reading of which some values may be absent, beside those that write() finds.
struct Reading {
  AbsentValues absent;
};

// Everything that turns a reading into samples besides the reading itself.
struct WriteContext {
  const Facts& facts;
  const Readings& readings;
  AbsentValues& absent;
  Nanoseconds now{0};    // boot clock
  Nanoseconds awake{0};  // of sources: the same without time in suspend, for rates
};

class Source {
 public:
  virtual ~Source() = default;

  virtual const SourceInfo& info() const = 0;

  // Called before each read of a live machine. An error (Errc::kSkipped) says why reading now
  // would cost the device too much.
  virtual std::optional<Error> gate(const Readings& /*readings*/) { return std::nullopt; }

  // Called with the raw text each time it was read, and with how long reading took. Fills the
  // reading. Pure but for the reading: the same text always gives the same result.
  // What a source remembers beyond that (an index given to a zone) is a member of it, and bounded.
  // An error leaves the reading unspecified; it is not looked at.
  virtual Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) = 0;

  // Called after a successful parse. Writes every sample of the source, each time in the same
  // order. Must not allocate when nothing but values changed.
  virtual void write(SampleWriter& out, WriteContext& context) const = 0;

  virtual const void* reading_tag() const = 0;
  virtual const void* reading_address() const = 0;
  // Of the reading: to be counted before write() adds others. Null: it keeps none.
  virtual const AbsentValues* absent() const = 0;
};

// The base of every source: owns the typed reading. `Self` is the class itself, which has kInfo.
template <class Self, class R>
class SourceOf : public Source {
  static_assert(std::is_base_of_v<Reading, R> || !requires(R r) { r.absent; },
                "the absent values of a reading are those of Reading");

 public:
  const SourceInfo& info() const final { return Self::kInfo; }
  const R& reading() const { return reading_; }
  const void* reading_tag() const final { return Readings::tag<R>(); }
  const void* reading_address() const final { return &reading_; }
  const AbsentValues* absent() const final {
    if constexpr (std::is_base_of_v<Reading, R>) return &reading_.absent;
    return nullptr;
  }

 protected:
  R reading_;
};

// A source that remembers nothing but its reading: `Parse` makes one of the snapshot, or of the
// text of the one file that it reads.
template <class Self, class R, auto Parse>
class ParsedSource : public SourceOf<Self, R> {
 public:
  Result<void> parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) final {
    if constexpr (std::is_invocable_v<decltype(Parse), const Snapshot&, R&>) {
      return Parse(snapshot, this->reading_);
    } else {
      const auto text = snapshot.text_of(Self::kInfo.paths[0]);
      if (!text) return tl::unexpected(text.error());
      return Parse(*text, this->reading_);
    }
  }
};

struct DerivedInfo {
  std::string_view name;
  // Without which it is blind: who judges by its metrics must know.
  std::span<const std::string_view> sources{};
  std::span<const Descriptor> metrics{};
  // Written after the sources of each cycle in which one was read: up to every second, and as often
  // for a reading that did not change. Else only when the page, the rules or the history reads it,
  // and what it remembers is as coarse as that: every five seconds or less, with --speed every
  // evaluation of the rules or value of the history.
  bool write_at_once = false;
};

// Readings put together into something that no single file says (health/).
class DerivedMetric {
 public:
  virtual ~DerivedMetric() = default;
  virtual const DerivedInfo& info() const = 0;
  // What it remembers of earlier cycles (a trend) is a member of it, and bounded. Must not allocate
  // when nothing but values changed.
  virtual void write(SampleWriter& out, WriteContext& context) = 0;
};

}  // namespace jetmem
