// Each time is the best of several, after one that does not count: these are to show what the
// machine can do, not what else it was doing.
#include "probes/program/cuda/ratios.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include "probes/program/cuda/calls.h"
#include "probes/program/cuda/host_buffer.h"
#include "probes/program/cuda/kernels.h"
#include "probes/program/gpu.h"
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

using Seconds = std::optional<double>;

struct DeviceBuffer {
  void* memory = nullptr;
  explicit DeviceBuffer(std::uint64_t bytes) {
    if (cudaMalloc(&memory, bytes) != cudaSuccess) memory = nullptr;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { (void)cudaFree(memory); }
};

struct PinnedBuffer {
  void* memory = nullptr;
  void* for_gpu = nullptr;
  explicit PinnedBuffer(std::uint64_t bytes) {
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocMapped) != cudaSuccess) memory = nullptr;
    if (memory == nullptr || cudaHostGetDevicePointer(&for_gpu, memory, 0) != cudaSuccess) {
      for_gpu = nullptr;
    }
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() { (void)cudaFreeHost(memory); }
};

// Waits without spinning, and tells the GPU's own time between two marks.
class Events {
 public:
  Events() {
    for (cudaEvent_t& event : events_) {
      if (cudaEventCreateWithFlags(&event, cudaEventBlockingSync) != cudaSuccess) event = nullptr;
    }
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    for (cudaEvent_t event : events_) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
  }

  template <class Launch>
  Seconds time(Launch&& launch) {
    float milliseconds = 0;
    if (events_[0] == nullptr || events_[1] == nullptr ||
        cudaEventRecord(events_[0], stream()) != cudaSuccess || launch() != cudaSuccess ||
        cudaEventRecord(events_[1], stream()) != cudaSuccess ||
        cudaEventSynchronize(events_[1]) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, events_[0], events_[1]) != cudaSuccess) {
      return std::nullopt;
    }
    return static_cast<double>(milliseconds) / 1e3;
  }

 private:
  cudaEvent_t events_[2] = {};
};

// `once` is a Seconds().
template <class Once>
Seconds best(Once&& once) {
  Seconds least;
  for (int i = 0; i <= kTimes; ++i) {
    const Seconds took = once();
    if (!took) return std::nullopt;
    if (i > 0) least = std::min(least.value_or(*took), *took);
  }
  return least;
}

// How much is read: what the GPU's cache in front of the memory can hold well, or there would be
// nothing to lose by not being cached.
std::uint64_t bytes_to_read(std::uint64_t bytes) {
  int cache = 0;
  const bool known = cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, 0) == cudaSuccess;
  std::uint64_t most = kMostRead;
  if (known && cache > 0) most = std::min(most, static_cast<std::uint64_t>(cache) / 2);
  return std::max(page_size(), std::min(bytes, most) / page_size() * page_size());
}

// Of one pass.
Seconds gpu_read(Events& events, const void* memory, std::uint64_t bytes, std::uint64_t* sum) {
  if (memory == nullptr || sum == nullptr) return std::nullopt;
  const auto passes_take = [&](unsigned passes) {
    return best([&] {
      return events.time([&] {
        return launch_read(static_cast<const std::uint64_t*>(memory), bytes / 8, passes, sum,
                           stream());
      });
    });
  };
  unsigned passes = kLeastPasses;
  Seconds took = passes_take(passes);
  while (took && *took < kLeastKernelSeconds && passes < kMostPasses) {
    passes *= 4;
    took = passes_take(passes);
  }
  if (!took) return std::nullopt;
  return *took / passes;
}

// `mismatches`: words that were not what they should have been; no speed is worth telling then.
Seconds cpu_read(const Pattern& pattern, const void* memory, std::uint64_t bytes,
                 std::uint64_t& mismatches) {
  return best([&]() -> Seconds {
    const auto begin = std::chrono::steady_clock::now();
    mismatches = pattern.count_mismatches(memory, bytes);
    if (mismatches != 0) return std::nullopt;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
}

Seconds copy(void* to, const void* from, std::uint64_t bytes, cudaMemcpyKind way) {
  if (to == nullptr || from == nullptr) return std::nullopt;
  return best([&]() -> Seconds {
    const auto begin = std::chrono::steady_clock::now();
    if (cudaMemcpyAsync(to, from, bytes, way, stream()) != cudaSuccess ||
        cudaStreamSynchronize(stream()) != cudaSuccess) {
      return std::nullopt;
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
}

struct Times {
  Seconds gpu_reads_pinned, gpu_reads_device;
  Seconds cpu_reads_pinned, cpu_reads_pageable;
  Seconds pinned_to_gpu, pinned_from_gpu;
  Seconds pageable_to_gpu, pageable_from_gpu;
  std::uint64_t pinned_mismatches = 0;
};

void measure_with_pinned(std::uint64_t bytes, Times& times) {
  const Pattern pattern;
  PinnedBuffer pinned(bytes);
  if (pinned.memory == nullptr) return;
  pattern.write(pinned.memory, bytes);
  {
    // A page more, for the sum.
    DeviceBuffer device(bytes + page_size());
    auto* words = static_cast<std::uint64_t*>(device.memory);
    std::uint64_t* sum = words == nullptr ? nullptr : words + bytes / 8;
    Events events;
    times.pinned_to_gpu = copy(device.memory, pinned.memory, bytes, cudaMemcpyHostToDevice);
    times.pinned_from_gpu = copy(pinned.memory, device.memory, bytes, cudaMemcpyDeviceToHost);
    const std::uint64_t read = bytes_to_read(bytes);
    times.gpu_reads_pinned = gpu_read(events, pinned.for_gpu, read, sum);
    times.gpu_reads_device = gpu_read(events, words, read, sum);
  }
  // What went to the GPU and came back.
  times.cpu_reads_pinned = cpu_read(pattern, pinned.memory, bytes, times.pinned_mismatches);
  HostBuffer pageable;
  if (pageable.allocate(bytes) != 0) return;
  pattern.write(pageable.get(), bytes);
  std::uint64_t mismatches = 0;
  times.cpu_reads_pageable = cpu_read(pattern, pageable.get(), bytes, mismatches);
}

void measure_with_pageable(std::uint64_t bytes, Times& times) {
  HostBuffer pageable;
  if (pageable.allocate(bytes) != 0) return;
  touch_pages(pageable.get(), bytes);
  DeviceBuffer device(bytes);
  times.pageable_to_gpu = copy(device.memory, pageable.get(), bytes, cudaMemcpyHostToDevice);
  times.pageable_from_gpu = copy(pageable.get(), device.memory, bytes, cudaMemcpyDeviceToHost);
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

Ratio judge(const char* name, double value, const Expected& expected) {
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

}  // namespace

void measure_ratios(const Run& run, Result& pinned) {
  // Not one of the steps with a time: a place, for whoever waits.
  const std::uint64_t page = page_size();
  const std::uint64_t frame = (run.options().frame_bytes + page - 1) / page * page;
  const std::uint64_t bytes = std::min(frame, kMostCopied);
  run.at(pinned.kind, "", "ratios", bytes);
  Times times;
  measure_with_pinned(bytes, times);
  measure_with_pageable(bytes, times);
  (void)cudaGetLastError();
  if (times.pinned_mismatches > 0) {
    pinned.state = State::kMismatch;
    pinned.reason = std::to_string(times.pinned_mismatches) + " of " + std::to_string(bytes / 8) +
                    " words came back changed from a copy to the GPU and back";
    pinned.failed_step = step::kCpuVerify;
    pinned.failed_bytes = bytes;
    pinned.error = "mismatch";
  }
  const auto add = [&](const char* name, const Seconds& one, const Seconds& other,
                       const Expected& expected) {
    if (!one || !other || *other <= 0) return;
    pinned.ratios.push_back(judge(name, *one / *other, expected));
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
