// SPDX-License-Identifier: Apache-2.0
// Each time is the best of several, after one that does not count: these are to show what the
// machine can do, not what else it was doing.
#include "probes/program/cuda/ratios.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "probes/program/cuda/kernels.h"
#include "probes/program/cuda/session.h"
#include "probes/program/gpu.h"
#include "probes/program/host_buffer.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {
namespace {

constexpr std::uint64_t kMostRead = 4U << 20;
constexpr std::uint64_t kMostCopied = 16U << 20;
constexpr int kTimes = 5;
constexpr unsigned kLeastPasses = 8;
constexpr unsigned kMostPasses = 4096;
// Below this a kernel's time is its launch's.
constexpr double kLeastKernelSeconds = 200e-6;

// How long something took, or which call failed and how: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY".
struct Measured {
  double seconds = 0;
  std::string error_reason = "not tried";  // empty: it was measured
  bool well() const { return error_reason.empty(); }
};
Measured elapsed(double seconds) { return {seconds, ""}; }
Measured not_measured(std::string why) { return {0, std::move(why)}; }

// Of several calls the first that failed; none is made after it.
class Calls {
 public:
  template <class Call>
  Calls& then(const char* name, Call&& call) {
    if (!failed_.empty()) return *this;
    const driver::Result answer = call();
    if (answer != driver::kSuccess) failed_ = std::string(name) + ": " + cuda().name_of(answer);
    return *this;
  }
  const std::string& failed() const { return failed_; }

 private:
  std::string failed_;
};

struct GpuBuffer {
  driver::Address memory = 0;
  std::string error_reason;
  explicit GpuBuffer(std::uint64_t bytes) {
    error_reason =
        Calls().then("cuMemAlloc", [&] { return cuda().cuMemAlloc_v2(&memory, bytes); }).failed();
    if (!error_reason.empty()) memory = 0;
  }
  GpuBuffer(const GpuBuffer&) = delete;
  GpuBuffer& operator=(const GpuBuffer&) = delete;
  ~GpuBuffer() {
    if (memory != 0) (void)cuda().cuMemFree_v2(memory);
  }
};

struct PinnedBuffer {
  void* memory = nullptr;
  driver::Address for_gpu = 0;
  std::string error_reason;     // there is none
  std::string gpu_skip_reason;  // the GPU has no address of it
  explicit PinnedBuffer(std::uint64_t bytes) {
    Calls calls;
    error_reason =
        calls
            .then(
                "cuMemHostAlloc",
                [&] { return cuda().cuMemHostAlloc(&memory, bytes, driver::kHostAllocDeviceMap); })
            .failed();
    if (!error_reason.empty()) memory = nullptr;
    gpu_skip_reason =
        calls
            .then("cuMemHostGetDevicePointer",
                  [&] { return cuda().cuMemHostGetDevicePointer_v2(&for_gpu, memory, 0); })
            .failed();
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() {
    if (memory != nullptr) (void)cuda().cuMemFreeHost(memory);
  }
};

// Waits without spinning, and measures the GPU's own time between two marks.
class Events {
 public:
  Events() {
    for (driver::Event& event : events_) {
      made_.then("cuEventCreate",
                 [&] { return cuda().cuEventCreate(&event, driver::kEventBlockingSync); });
      if (!made_.failed().empty()) event = nullptr;
    }
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    for (const driver::Event event : events_) {
      if (event != nullptr) (void)cuda().cuEventDestroy_v2(event);
    }
  }

  template <class Launch>
  Measured time(Launch&& launch) {
    float milliseconds = 0;
    Calls calls = made_;
    calls.then("cuEventRecord", [&] { return cuda().cuEventRecord(events_[0], gpu_stream()); })
        .then("cuLaunchKernel", launch)
        .then("cuEventRecord", [&] { return cuda().cuEventRecord(events_[1], gpu_stream()); })
        .then("cuEventSynchronize", [&] { return cuda().cuEventSynchronize(events_[1]); })
        .then("cuEventElapsedTime",
              [&] { return cuda().cuEventElapsedTime(&milliseconds, events_[0], events_[1]); });
    if (!calls.failed().empty()) return not_measured(calls.failed());
    return elapsed(static_cast<double>(milliseconds) / 1e3);
  }

 private:
  Calls made_;
  driver::Event events_[2] = {};
};

// `once` is a Measured().
template <class Once>
Measured best(Once&& once) {
  Measured least = once();
  if (!least.well()) return least;
  for (int i = 0; i < kTimes; ++i) {
    Measured one = once();
    if (!one.well()) return one;
    if (i == 0 || one.seconds < least.seconds) least = std::move(one);
  }
  return least;
}

// How much is read: what the GPU's cache in front of the memory can hold well, or there would be
// nothing to lose by not being cached.
std::uint64_t bytes_to_read(std::uint64_t bytes) {
  int cache = 0;
  const bool known = cuda().cuDeviceGetAttribute(&cache, driver::kAttributeL2CacheSize,
                                                 gpu_device()) == driver::kSuccess;
  std::uint64_t most = kMostRead;
  if (known && cache > 0) most = std::min(most, static_cast<std::uint64_t>(cache) / 2);
  return std::max(page_size(), std::min(bytes, most) / page_size() * page_size());
}

// Of one pass.
Measured gpu_read(Events& events, driver::Address memory, std::uint64_t bytes,
                  driver::Address sum) {
  if (gpu().kernels->state != State::kOk) {
    return not_measured("it needs a kernel: " + gpu().kernels->error);
  }
  const auto passes_take = [&](unsigned passes) {
    return best(
        [&] { return events.time([&] { return launch_read(memory, bytes / 8, passes, sum); }); });
  };
  unsigned passes = kLeastPasses;
  Measured all = passes_take(passes);
  while (all.well() && all.seconds < kLeastKernelSeconds && passes < kMostPasses) {
    passes *= 4;
    all = passes_take(passes);
  }
  all.seconds /= passes;
  return all;
}

// `mismatches`: words that were not what they should have been; no speed is worth telling then.
Measured cpu_read(const Pattern& pattern, const void* memory, std::uint64_t bytes,
                  std::uint64_t& mismatches) {
  return best([&] {
    const auto begin = std::chrono::steady_clock::now();
    mismatches = pattern.count_mismatches(memory, bytes);
    if (mismatches != 0) return not_measured("the bytes came back changed");
    return elapsed(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  });
}

// `start` begins the copy.
template <class Begin>
Measured copy(const char* call, Begin&& start) {
  return best([&] {
    const auto begin = std::chrono::steady_clock::now();
    Calls calls;
    calls.then(call, start).then("cuStreamSynchronize", [] {
      return cuda().cuStreamSynchronize(gpu_stream());
    });
    if (!calls.failed().empty()) return not_measured(calls.failed());
    return elapsed(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  });
}

struct Times {
  Measured gpu_reads_pinned, gpu_reads_device;
  Measured cpu_reads_pinned, cpu_reads_pageable;
  Measured pinned_to_gpu, pinned_from_gpu;
  Measured pageable_to_gpu, pageable_from_gpu;
  std::uint64_t pinned_mismatches = 0;
  std::uint64_t pageable_mismatches = 0;
};

// What was not copied there is not copied back: it would be other bytes.
void copy_there_and_back(void* host, const GpuBuffer& device, std::uint64_t bytes, Measured& to,
                         Measured& from) {
  const driver::Address memory = device.memory;
  to = !device.error_reason.empty()
           ? not_measured(device.error_reason)
           : copy("cuMemcpyHtoDAsync",
                  [&] { return cuda().cuMemcpyHtoDAsync_v2(memory, host, bytes, gpu_stream()); });
  from = !to.well() ? to : copy("cuMemcpyDtoHAsync", [&] {
    return cuda().cuMemcpyDtoHAsync_v2(host, memory, bytes, gpu_stream());
  });
}

void measure_with_pinned(std::uint64_t bytes, Times& times) {
  const Pattern pattern;
  PinnedBuffer pinned(bytes);
  if (!pinned.error_reason.empty()) {
    for (Measured* each : {&times.gpu_reads_pinned, &times.cpu_reads_pinned, &times.pinned_to_gpu,
                           &times.pinned_from_gpu}) {
      *each = not_measured(pinned.error_reason);
    }
    return;
  }
  pattern.write(pinned.memory, bytes);
  {
    // A page more, for the sum.
    GpuBuffer device(bytes + page_size());
    Events events;
    copy_there_and_back(pinned.memory, device, bytes, times.pinned_to_gpu, times.pinned_from_gpu);
    const std::uint64_t read = bytes_to_read(bytes);
    const std::string& error_reason =
        device.error_reason.empty() ? pinned.gpu_skip_reason : device.error_reason;
    if (error_reason.empty()) {
      const driver::Address sum = device.memory + bytes;
      times.gpu_reads_pinned = gpu_read(events, pinned.for_gpu, read, sum);
      times.gpu_reads_device = gpu_read(events, device.memory, read, sum);
    } else {
      times.gpu_reads_pinned = not_measured(error_reason);
    }
  }
  // What went to the GPU and came back, unless it is unknown what came back.
  if (times.pinned_to_gpu.well() && !times.pinned_from_gpu.well()) {
    times.cpu_reads_pinned = times.pinned_from_gpu;
    return;
  }
  times.cpu_reads_pinned = cpu_read(pattern, pinned.memory, bytes, times.pinned_mismatches);
  HostBuffer pageable;
  if (const int error = pageable.allocate(bytes)) {
    times.cpu_reads_pageable = not_measured("mmap: " + errno_name(error));
    return;
  }
  pattern.write(pageable.get(), bytes);
  times.cpu_reads_pageable = cpu_read(pattern, pageable.get(), bytes, times.pageable_mismatches);
}

void measure_with_pageable(std::uint64_t bytes, Times& times) {
  HostBuffer pageable;
  if (const int error = pageable.allocate(bytes)) {
    times.pageable_to_gpu = times.pageable_from_gpu = not_measured("mmap: " + errno_name(error));
    return;
  }
  touch_pages(pageable.get(), bytes);
  const GpuBuffer device(bytes);
  copy_there_and_back(pageable.get(), device, bytes, times.pageable_to_gpu,
                      times.pageable_from_gpu);
}

constexpr double kNoBound = std::numeric_limits<double>::infinity();
constexpr const char* kWorse = "worse_than_expected";
constexpr const char* kUnknown = "unknown";

// What is known of this GPU's kind, in words and as bounds; nothing, where there are no words.
struct Expected {
  const char* words = nullptr;
  double least = 0;
  double most = kNoBound;
  const char* if_less = kUnknown;
  const char* if_more = kWorse;
};

Ratio evaluate(const char* name, double value, const Expected& expected) {
  if (expected.words == nullptr) return {name, value, "not known for a GPU of this kind", kUnknown};
  const char* judgement = "as_expected";
  if (value < expected.least) judgement = expected.if_less;
  if (value > expected.most) judgement = expected.if_more;
  return {name, value, expected.words, judgement};
}

Expected expected_gpu_read() {
  if (gpu_can("pageable_memory_access_uses_host_page_tables")) return {};
  if (!gpu().integrated) {
    return {"2 or more: a discrete GPU reads pinned memory over the bus each time", 2};
  }
  // Coherent with the CPU's caches: Thor.
  if (gpu_can("pageable_memory_access")) return {};
  return {"1 or more: the caches of an integrated GPU do not hold pinned memory", 1};
}

Expected expected_cpu_read() {
  const int capability = gpu().capability_major * 10 + gpu().capability_minor;
  if (gpu().integrated && capability < 72) {
    return {"1.5 or more: below compute capability 7.2 the CPU's caches do not hold pinned memory",
            1.5};
  }
  return {"4 or less: the CPU's caches hold both", 0, 4};
}

Expected expected_copy() {
  if (gpu().integrated) return {};
  return {"0.7 or more: pageable memory is staged, pinned memory goes straight over the bus", 0.7,
          kNoBound, kWorse};
}

// Counted with the largest size, so that it reaches the metric of which the alert is.
void set_mismatch(Result& pinned, std::uint64_t bytes, std::uint64_t words, std::string reason) {
  pinned.state = State::kMismatch;
  pinned.reason = std::move(reason);
  pinned.failed_step = step::kCpuVerify;
  pinned.failed_bytes = bytes;
  pinned.error = "mismatch";
  if (pinned.size_steps.empty()) pinned.size_steps.push_back({bytes, {}, {}});
  auto& counted = pinned.size_steps.back().mismatches;
  counted = counted.value_or(0) + words;
}

}  // namespace

void measure_ratios(const Run& run, Result& pinned) {
  // Not a timed step; progress for the reader.
  const std::uint64_t page = page_size();
  const std::uint64_t frame = (run.options().frame_bytes + page - 1) / page * page;
  const std::uint64_t bytes = std::min(frame, kMostCopied);
  run.report_progress(pinned.kind, "", "ratios", bytes);
  Times times;
  measure_with_pinned(bytes, times);
  measure_with_pageable(bytes, times);
  // What one call answered is in the ratios; what is left after that stays, and was made here.
  const driver::Result left = cuda().cuCtxSynchronize();
  if (left != driver::kSuccess) {
    pinned.state = State::kFailed;
    pinned.reason = "after its ratios were measured: cuCtxSynchronize: " + cuda().described(left);
    pinned.error = cuda().name_of(left);
  }
  const std::string of_words = " of " + std::to_string(bytes / 8) + " words ";
  if (times.pinned_mismatches > 0) {
    set_mismatch(pinned, bytes, times.pinned_mismatches,
                 std::to_string(times.pinned_mismatches) + of_words +
                     "came back changed from a copy to the GPU and back");
  } else if (times.pageable_mismatches > 0) {
    set_mismatch(pinned, bytes, times.pageable_mismatches,
                 std::to_string(times.pageable_mismatches) + of_words +
                     "of ordinary memory, which the GPU never had, were read back changed");
  }
  const auto add = [&](const char* name, const Measured& one, const Measured& other,
                       const Expected& expected) {
    std::string error_reason = one.well() ? other.error_reason : one.error_reason;
    if (error_reason.empty() && other.seconds <= 0) error_reason = "it took no time";
    if (error_reason.empty()) {
      pinned.ratios.push_back(evaluate(name, one.seconds / other.seconds, expected));
    } else {
      pinned.ratios.push_back({name, std::nullopt, "not measured: " + error_reason, kUnknown});
    }
  };
  add("gpu_repeated_read_pinned_to_device", times.gpu_reads_pinned, times.gpu_reads_device,
      expected_gpu_read());
  add("cpu_read_pinned_to_pageable", times.cpu_reads_pinned, times.cpu_reads_pageable,
      expected_cpu_read());
  add("copy_pageable_to_pinned_to_gpu", times.pageable_to_gpu, times.pinned_to_gpu,
      expected_copy());
  add("copy_pageable_to_pinned_from_gpu", times.pageable_from_gpu, times.pinned_from_gpu,
      expected_copy());
}

}  // namespace jetmem::probe
