// SPDX-License-Identifier: Apache-2.0
#include "probes/program/run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace jetmem::probe {

const char* state_name(State state) {
  switch (state) {
    case State::kOk:
      return "ok";
    case State::kFailed:
      return "failed";
    case State::kMismatch:
      return "mismatch";
    case State::kUnsupported:
      return "unsupported";
    case State::kDenied:
      return "denied";
    case State::kSkipped:
      return "skipped";
  }
  return "failed";
}

std::uint64_t page_size() {
  static const long size = ::sysconf(_SC_PAGESIZE);
  return size > 0 ? static_cast<std::uint64_t>(size) : 4096;
}

std::string errno_name(int error) {
  // strerrorname_np() is younger than the C library of JetPack 5.
  switch (error) {
#define NAME(name) \
  case name:       \
    return #name
    NAME(EPERM);
    NAME(ENOENT);
    NAME(EINTR);
    NAME(EIO);
    NAME(ENXIO);
    NAME(EBADF);
    NAME(EAGAIN);
    NAME(ENOMEM);
    NAME(EACCES);
    NAME(EFAULT);
    NAME(EFBIG);
    NAME(EBUSY);
    NAME(ENODEV);
    NAME(EINVAL);
    NAME(ENFILE);
    NAME(EMFILE);
    NAME(ENOTTY);
    NAME(ENOSPC);
    NAME(ENOSYS);
    NAME(EOPNOTSUPP);
    NAME(ETIMEDOUT);
#undef NAME
    default:
      return "errno " + std::to_string(error);
  }
}

bool Recorder::call(const char* name, bool well, const std::string& result,
                    const std::string& why) {
  if (!size_step_.steps.empty()) size_step_.steps.back().calls.push_back({name, result});
  if (!well && error_.empty()) {
    error_ = result;
    why_ = std::string(name) + ": " + (why.empty() ? result : why + " (" + result + ")");
  }
  return well;
}

bool Recorder::call_errno(const char* name, int error) {
  return call(name, error == 0, error == 0 ? "ok" : errno_name(error),
              error == 0 ? "" : std::strerror(error));
}

bool Recorder::touch(void* memory, std::uint64_t bytes, std::uint64_t moved) {
  return step(step::kFirstTouch, moved, [&] {
    touch_pages(memory, bytes);
    return true;
  });
}

bool Recorder::write(const Pattern& pattern, void* memory, std::uint64_t bytes) {
  return step(step::kCpuWrite, bytes, [&] {
    pattern.write(memory, bytes);
    return true;
  });
}

bool Recorder::verify(const Pattern& pattern, const void* memory, std::uint64_t bytes) {
  return step(step::kCpuVerify, bytes, [&] {
    mismatches(pattern.count_mismatches(memory, bytes));
    return true;
  });
}

void Recorder::mismatches(std::uint64_t words) {
  size_step_.mismatches = words;
  if (words == 0 || result_.state != State::kOk) return;
  result_.state = State::kMismatch;
  result_.failed_step = size_step_.steps.empty() ? "" : size_step_.steps.back().step;
  result_.failed_bytes = size_step_.bytes;
  result_.error = "mismatch";
  result_.reason = std::to_string(words) + " of " + std::to_string(size_step_.bytes / 8) +
                   " words are not what was written";
  failed_ = true;
}

void Recorder::end_as(State state, std::string reason) {
  failed_ = true;
  result_.state = state;
  result_.reason = std::move(reason);
  result_.failed_step.clear();
  result_.failed_bytes = 0;
  result_.error.clear();
}

void Recorder::fail(const char* step) {
  failed_ = true;
  if (result_.state != State::kOk) return;
  result_.state = State::kFailed;
  result_.failed_step = step;
  result_.failed_bytes = size_step_.bytes;
  result_.error = error_;
  result_.reason = why_;
}

void Run::finish_results() {
  for (; logged_ < results_.size(); ++logged_) {
    if (tell_) tell_(results_[logged_]);
  }
}

Result& Run::add(std::string kind, std::string target) {
  finish_results();
  results_.emplace_back();
  results_.back().kind = std::move(kind);
  if (!gpu_.empty()) target += (target.empty() ? "" : "@") + gpu_;
  results_.back().target = std::move(target);
  return results_.back();
}

bool Run::try_size(Result& result, SizeStep& size_step, std::uint64_t bytes,
                   const Work& work) const {
  size_step.bytes = bytes;
  const std::function<void(const char*)> progress = [&](const char* step) {
    report_progress(result.kind, result.target, step, bytes);
  };
  Recorder recorder(result, size_step, progress);
  work(recorder, bytes);
  return result.state == State::kOk;
}

Result& Run::run_ladder(std::string kind, std::string target, const Work& work) {
  Result& result = add(std::move(kind), std::move(target));
  const std::vector<std::uint64_t> sizes = ladder(options_.frame_bytes);
  if (!try_size(result, result.warm_up.emplace(), sizes.front(), work)) return result;
  for (const std::uint64_t bytes : sizes) {
    if (!try_size(result, result.size_steps.emplace_back(), bytes, work)) break;
  }
  return result;
}

Result& Run::run_once(std::string kind, std::string target, const Work& work) {
  Result& result = add(std::move(kind), std::move(target));
  try_size(result, result.size_steps.emplace_back(), ladder(options_.frame_bytes).back(), work);
  return result;
}

Result& Run::add_result(std::string kind, std::string target, State state, std::string reason) {
  Result& result = add(std::move(kind), std::move(target));
  result.state = state;
  result.reason = std::move(reason);
  return result;
}

void Run::report_progress(std::string_view kind, std::string_view target, const char* step,
                          std::uint64_t bytes) const {
  if (!options_.progress) return;
  // A target is the name of a device node: one word, or not shown.
  const bool is_word = !target.empty() && target.find_first_of(" \n\t") == target.npos;
  std::fprintf(out_, "at %.*s %.*s %s %llu\n", static_cast<int>(kind.size()), kind.data(),
               is_word ? static_cast<int>(target.size()) : 1, is_word ? target.data() : "-", step,
               static_cast<unsigned long long>(bytes));
  std::fflush(out_);
}

std::vector<std::uint64_t> ladder(std::uint64_t frame_bytes) {
  const std::uint64_t page = page_size();
  const std::uint64_t frame = std::max(page, (frame_bytes + page - 1) / page * page);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = 64U << 10; bytes < frame; bytes *= 4) sizes.push_back(bytes);
  sizes.push_back(frame);
  return sizes;
}

}  // namespace jetmem::probe
