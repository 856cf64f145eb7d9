// SPDX-License-Identifier: Apache-2.0
// One run: its options, the results so far, and the way each kind of memory goes through
// its steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/program/options.h"
#include "probes/program/pattern.h"
#include "probes/program/result.h"

namespace jetmem::probe {

// Times one step and keeps it as the last of `steps`. `work` is a bool().
template <class Work>
bool timed_step(std::vector<Step>& steps, const char* name, std::uint64_t bytes, Work&& work) {
  steps.push_back({name, 0, bytes, {}});
  const auto begin = std::chrono::steady_clock::now();
  const bool well = work();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  steps.back().seconds = elapsed.count();
  return well;
}

// Records the steps of one rung. After a step failed, further ones are not done, but for those
// that give back what was taken.
class Recorder {
 public:
  Recorder(Result& result, SizeStep& size_step,
           const std::function<void(const char* step)>& progress)
      : result_(result), size_step_(size_step), progress_(progress) {}

  // Does one step and times it. `work` is a bool(): false when it failed, which call() or
  // call_errno() has recorded. `bytes`: moved by it, for a bandwidth.
  template <class Work>
  bool step(const char* name, std::uint64_t bytes, Work&& work) {
    return failed_ ? false : timed(name, bytes, std::forward<Work>(work));
  }
  // Done also after a failure: gives something back.
  template <class Work>
  bool cleanup(const char* name, Work&& work) {
    return timed(name, 0, std::forward<Work>(work));
  }

  // Within a step: notes a call and what it answered. The first that was not well is the reason of
  // the failure. Returns `well`.
  bool call(const char* name, bool well, const std::string& result, const std::string& why = "");
  // A system call: 0, or its errno.
  bool call_errno(const char* name, int error);

  // The CPU's steps with `memory`, of `bytes` bytes. touch(): one byte of each page; `moved` as in
  // step().
  bool touch(void* memory, std::uint64_t bytes, std::uint64_t moved);
  bool write(const Pattern& pattern, void* memory, std::uint64_t bytes);
  bool verify(const Pattern& pattern, const void* memory, std::uint64_t bytes);

  // Within a step: the outcome of the comparison.
  void mismatches(std::uint64_t words);
  // Notes what of this kind cannot be checked here.
  void not_checked(std::string what) { result_.not_checked = std::move(what); }
  // Ends the kind with this state in place of a failure: found out to be unsupported, say.
  void end_as(State state, std::string reason);

  bool failed() const { return failed_; }

 private:
  template <class Work>
  bool timed(const char* name, std::uint64_t bytes, Work&& work) {
    progress_(name);
    const bool well = timed_step(size_step_.steps, name, bytes, std::forward<Work>(work));
    if (!well) fail(name);
    return well;
  }
  void fail(const char* step);

  Result& result_;
  SizeStep& size_step_;
  const std::function<void(const char* step)>& progress_;
  bool failed_ = false;
  std::string error_;  // of the call that failed
  std::string why_;
};

class Run {
 public:
  // `out`: for report_progress().
  explicit Run(const Options& options, std::FILE* out = stdout) : options_(options), out_(out) {}

  // From now on results are of this GPU: "gpu1" stands behind their targets. Empty: the first one.
  void set_gpu(std::string name) { gpu_ = std::move(name); }

  const Options& options() const { return options_; }
  const std::vector<Result>& results() const { return results_; }

  // The work of one kind with a buffer of `bytes`, a multiple of the page size.
  using Work = std::function<void(Recorder& recorder, std::uint64_t bytes)>;
  // Once to warm up, then with each size of the ladder until one fails. The reference is valid
  // until the next result.
  Result& run_ladder(std::string kind, std::string target, const Work& work);
  // Only with the frame's size, and only once: for memory that others may need the next moment.
  Result& run_once(std::string kind, std::string target, const Work& work);
  // A kind, or one target of it, that is not tried.
  Result& add_result(std::string kind, std::string target, State state, std::string reason);

  // Finds the largest size, up to the requested limit, with which `work` succeeds: for
  // --bisect, in place of run_ladder(). `work` only allocates and frees. The limit is cut to what
  // may be taken of this machine; a failed allocation fails the result only if not even a page
  // could be allocated. Its only rung is that of the largest size. No try begins after half the
  // deadline: the last one and the result must fit in. `contiguous`: of a CMA area, whose
  // free pages other kinds cannot have.
  Result& bisect(std::string kind, std::string target, const Work& work, bool contiguous = false);

  // Called with each result once it is final: before the next one begins, and by
  // finish_results().
  void when_finished(std::function<void(const Result& result)> notify) {
    tell_ = std::move(notify);
  }
  void finish_results();

  // Says on stdout where it is, where that was asked for: whoever waits can then tell where it
  // hangs or died.
  void report_progress(std::string_view kind, std::string_view target, const char* step,
                       std::uint64_t bytes) const;

 private:
  Result& add(std::string kind, std::string target);
  // One rung, into `result`; true while that is ok.
  bool try_size(Result& result, SizeStep& size_step, std::uint64_t bytes, const Work& work) const;

  const Options& options_;
  std::FILE* out_;
  // The deadline is the run's, not each kind's.
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::vector<Result> results_;
  std::string gpu_;
  std::function<void(const Result&)> tell_;
  std::size_t logged_ = 0;
};

// The sizes of the ladder: from 64 KiB on four times as large each, the last is the frame.
std::vector<std::uint64_t> ladder(std::uint64_t frame_bytes);

std::uint64_t page_size();

// "ENOMEM"; "errno 512" for one without a name.
std::string errno_name(int error);

}  // namespace jetmem::probe
