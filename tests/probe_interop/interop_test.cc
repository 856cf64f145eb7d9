// SPDX-License-Identifier: Apache-2.0
// The kinds that hand memory between CUDA and others, against a stand-in of NVIDIA's libraries
// (fake_nvidia.c): each failing call is reported, all that was allocated is freed whichever it was,
// and nothing is believed of a library that is not as expected.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "probes/program/cuda/session.h"
#include "probes/program/gpu.h"
#include "probes/program/kinds.h"
#include "probes/program/pattern.h"
#include "tests/temp_dir.h"

using testing::HasSubstr;
using testing::SizeIs;

namespace {

// As fake_nvidia.c has it.
struct Control {
  int fail_at, import_answer, keeps_fd, array_frames, no_egl_device, spoil, short_export,
      fail_answer;
  int calls;
  char failed[64];
  char misuse[128];
  int taken;
  char order[4096];
  long anonymous_bytes;
};

jetmem::probe::Gpu the_gpu;
std::unique_ptr<const jetmem::probe::Driver> the_driver;
bool gpu_is_idle = false;  // does nothing of what it is asked for, and says that it did
int (*fake_call)(const char*) = nullptr;
std::string brackets;  // what the CPU and the GPU did with a DMA-BUF, in order

}  // namespace

// The kernel's DMA-BUFs: /dev/null stands in for /dev/udmabuf, and the file that it is asked to
// make one of, for the DMA-BUF.
extern "C" int ioctl(int fd, unsigned long request, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const auto answer = [](const char* call) {
    if (fake_call(call) == 0) return 0;
    errno = EIO;
    return -1;
  };
  if (_IOC_TYPE(request) == 'u') {
    const std::uint32_t file = *static_cast<std::uint32_t*>(argument);
    return answer("UDMABUF_CREATE") == 0 ? ::fcntl(static_cast<int>(file), F_DUPFD_CLOEXEC, 3) : -1;
  }
  if (_IOC_TYPE(request) == 'b') {
    const std::uint64_t flags = *static_cast<std::uint64_t*>(argument);
    brackets += (flags & 3) != 3 ? "?" : (flags & 4) != 0 ? ")" : "(cpu";
    return answer("DMA_BUF_IOCTL_SYNC");
  }
  return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
}

// What the program has in cuda/session.cc.
namespace jetmem::probe {

const Gpu& gpu() { return the_gpu; }
const Driver& cuda() { return *the_driver; }
driver::Device gpu_device() { return 0; }
bool gpu_was_queried() { return true; }
bool gpu_usable(Run& run, const char* kind) {
  if (the_gpu.state == State::kOk) return true;
  run.add_result(kind, "", the_gpu.state, the_gpu.reason);
  return false;
}
bool gpu_modify(Recorder& recorder, Pattern& pattern, driver::Address for_gpu,
                std::uint64_t bytes) {
  const bool well = recorder.step(step::kGpuRmw, bytes, [&] {
    if (!recorder.call("cuLaunchKernel", fake_call("cuLaunchKernel") == 0,
                       "CUDA_ERROR_LAUNCH_FAILED")) {
      return false;
    }
    brackets += " gpu ";
    auto* const words = reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(for_gpu));
    for (std::uint64_t i = 0; i < bytes / 8 && !gpu_is_idle; ++i) {
      words[i] = words[i] * kModifyFactor + kModifyTerm;
    }
    return true;
  });
  pattern.modify();
  return well;
}
driver::Stream gpu_stream() { return &the_gpu; }
bool wait_for_gpu(Recorder& recorder) {
  return cuda_call(recorder, "cuStreamSynchronize", cuda().cuStreamSynchronize(gpu_stream()));
}
bool gpu_can(const char* what) {
  const auto found = the_gpu.can.find(what);
  return found != the_gpu.can.end() && found->second;
}

}  // namespace jetmem::probe

namespace jetmem::probe {
namespace {

struct Kind {
  const char* name;
  void (*probe)(Run&);
  std::size_t result;  // which of its results
  const char* label;
};
// In the names of tests, where bytes would be another name each time.
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.label; }
const Kind kExport{"dmabuf_export", probe_dmabuf_export, 0, "Export"};
const Kind kImport{"dmabuf_import", probe_dmabuf_import, 1, "ImportOfExported"};
const Kind kImportUdmabuf{"dmabuf_import", probe_dmabuf_import, 0, "ImportOfUdmabuf"};
const Kind kSurface{"nvbufsurface", probe_nvbufsurface, 0, "Surface"};
const Kind kStream{"eglstream", probe_eglstream, 0, "Stream"};

std::size_t open_descriptors() {
  std::size_t count = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir("/proc/self/fd"), ::closedir);
  while (::readdir(entries.get()) != nullptr) ++count;
  return count;
}

// Of files in memory, of which the stand-ins' memory is.
std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:") != std::string::npos) ++count;
  }
  return count;
}

class WithLibraries : public testing::Test {
 protected:
  void SetUp() override {
    use("now");
    the_gpu = Gpu();
    the_gpu.state = State::kOk;
    the_gpu.integrated = true;
    the_gpu.driver = 13000;
    the_gpu.can["dma_buf"] = true;
    gpu_is_idle = false;
    options_.frame_bytes = 64U << 10;
    options_.heap_directory = "/nonexistent";
  }
  void TearDown() override { expect_given_back(0); }
  // All that was taken but `kept`, which is not looked for again.
  void expect_given_back(std::size_t kept) {
    descriptors_ += kept;
    mappings_ += kept;
    EXPECT_EQ(open_descriptors(), descriptors_);
    EXPECT_EQ(mappings(), mappings_);
    EXPECT_EQ(control_->taken, static_cast<int>(kept)) << control_->order;
    EXPECT_STREQ(control_->misuse, "") << control_->order;
    *control_ = Control();
  }

  void use(const std::string& age) {
    options_.library_directory = std::string(FAKE_NVIDIA) + "/" + age;
    the_driver = std::make_unique<const Driver>(options_.library_directory);
    void* const library =
        ::dlopen((options_.library_directory + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    control_ = static_cast<Control*>(::dlsym(library, "fake_control"));
    fake_call = reinterpret_cast<int (*)(const char*)>(::dlsym(library, "fake_call"));
    *control_ = Control();
    descriptors_ = open_descriptors();
    mappings_ = mappings();
  }

  Result run(const Kind& kind) {
    brackets.clear();
    options_.udmabuf = kind.label == kImportUdmabuf.label ? "/dev/null" : "/nonexistent";
    // Of the two targets that this kind has, the one that is meant.
    if (kind.label == kImportUdmabuf.label) the_gpu.can["dma_buf"] = false;
    probe::Run requested(options_);  // gtest has a Run() of its own
    kind.probe(requested);
    results_ = requested.results();
    // A kind that is skipped as a whole has one result.
    if (results_.empty()) return {};
    return results_[std::min(kind.result, results_.size() - 1)];
  }

  // Runs it with each of its calls failing once.
  void run_failing(const Kind& kind, int answer,
                   const std::function<void(const Result&, const std::string& failed)>& look) {
    run(kind);
    const int calls = control_->calls;
    ASSERT_GT(calls, 12);
    *control_ = Control();
    for (int call = 1; call <= calls; ++call) {
      control_->fail_at = call;
      control_->fail_answer = answer;
      const Result result = run(kind);
      const std::string failed = control_->failed;
      SCOPED_TRACE(failed + ", call " + std::to_string(call) + " of " + control_->order);
      look(result, failed);
      // A frame that may still be somebody's is not freed under him.
      expect_given_back(failed == "cuEGLStreamProducerDisconnect" ? 1 : 0);
    }
  }
  // With one of fake_nvidia.c's ways to spoil a surface.
  Result run_spoiled(int spoil) {
    *control_ = Control();
    control_->spoil = spoil;
    return run(kSurface);
  }

  Options options_;
  Control* control_ = nullptr;
  std::vector<Result> results_;
  std::size_t descriptors_ = 0;
  std::size_t mappings_ = 0;
};

class Interop : public WithLibraries, public testing::WithParamInterface<Kind> {
 protected:
  Result run() { return WithLibraries::run(GetParam()); }
};

void expect_unsupported(const Result& result, const std::string& part_of_reason) {
  EXPECT_EQ(result.state, State::kUnsupported);
  EXPECT_THAT(result.reason, HasSubstr(part_of_reason));
}

TEST_P(Interop, WorksAndGivesEverythingBack) {
  const Result result = run();
  EXPECT_EQ(result.kind, GetParam().name);
  EXPECT_EQ(result.state, State::kOk) << result.reason;
  ASSERT_TRUE(result.warm_up);
  ASSERT_THAT(result.size_steps, SizeIs(1));
  EXPECT_EQ(result.size_steps[0].mismatches, 0U);
  EXPECT_STREQ(result.size_steps[0].steps.back().step, "free");
}

TEST_P(Interop, SeesAGpuThatDidNothing) {
  gpu_is_idle = true;
  const Result result = run();
  EXPECT_EQ(result.state, State::kMismatch);
  EXPECT_EQ(result.failed_step, "cpu_verify");
  EXPECT_EQ(result.warm_up->mismatches, (64U << 10) / 8);
}

// Whichever call fails: it is reported, there is no other result, nothing stays allocated, and
// nobody touches what the GPU has (fake_nvidia.c would end this program).
TEST_P(Interop, EveryFailureIsReportedAndNothingIsKept) {
  run_failing(GetParam(), 0, [](const Result& result, const std::string& failed) {
    ASSERT_NE(failed, "");
    EXPECT_NE(result.state, State::kOk);
    EXPECT_NE(result.state, State::kMismatch);
    EXPECT_NE(result.reason, "");
    if (result.state == State::kFailed && result.failed_step.empty()) {
      EXPECT_NE(result.error, "");
    } else if (result.state == State::kFailed) {
      EXPECT_THAT(result.reason, HasSubstr(failed));
    }
  });
}

TEST_P(Interop, WithoutAGpuTheReasonIsTheGpus) {
  the_gpu.state = State::kDenied;
  the_gpu.reason = "not for you";
  const Result result = run();
  EXPECT_EQ(result.state, State::kDenied);
  EXPECT_EQ(result.reason, "not for you");
  EXPECT_THAT(results_, SizeIs(1));
  EXPECT_EQ(control_->calls, 0);
}

TEST_P(Interop, WithoutADriverTheLoaderSaysWhy) {
  the_driver = std::make_unique<const Driver>("/nonexistent");
  expect_unsupported(run(), "libcuda.so.1");
}

TEST_P(Interop, IsNotBisected) {
  options_.bisect_limit = 1U << 30;
  EXPECT_EQ(run().state, State::kUnsupported);
  EXPECT_EQ(control_->calls, 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Interop,
                         testing::Values(kExport, kImport, kImportUdmabuf, kSurface, kStream),
                         [](const auto& kind) { return std::string(kind.param.label); });

TEST_F(WithLibraries, ExportsWhatTheDriverLets) {
  for (const Kind& kind : {kExport, kImport}) {
    the_gpu.can["dma_buf"] = false;
    const Result result = run(kind);
    expect_unsupported(result, "the driver says that this GPU's memory cannot be a DMA-BUF");
    EXPECT_EQ(result.target, kind.result == 1 ? "cuda_export" : "");
    the_gpu.can.clear();
    EXPECT_EQ(run(kind).reason,
              "the driver does not say whether this GPU's memory can be a DMA-BUF");
    the_gpu.failed_to_say["dma_buf"] = "CUDA_ERROR_UNKNOWN";
    const Result failed = run(kind);
    the_gpu.failed_to_say.clear();
    EXPECT_EQ(failed.state, State::kFailed);
    EXPECT_EQ(failed.error, "CUDA_ERROR_UNKNOWN");
    EXPECT_EQ(failed.target, kind.result == 1 ? "cuda_export" : "");
  }
}

// Each call of the driver that can be refused, with the state of its kind when it is.
TEST_F(WithLibraries, WhatTheDriverRefusesIsUnsupported) {
  std::map<std::string, State> states;
  for (const Kind& kind : {kSurface, kStream}) {
    run_failing(kind, 801, [&](const Result& result, const std::string& failed) {
      const std::string key = std::string(kind.label) + " " + failed;
      EXPECT_TRUE(states.emplace(key, result.state).first->second == result.state) << key;
    });
  }
  for (const char* refused :
       {"Surface cuGraphicsEGLRegisterImage", "Surface cuGraphicsResourceGetMappedEglFrame",
        "Stream cuGraphicsResourceGetMappedEglFrame", "Stream cuEGLStreamConsumerConnect",
        "Stream cuEGLStreamProducerConnect", "Stream cuEGLStreamProducerPresentFrame"}) {
    EXPECT_EQ(states.at(refused), State::kUnsupported) << refused;
  }
  for (const char* failed : {"Stream cuMemAlloc", "Stream cuMemcpy2DAsync",
                             "Stream cuStreamSynchronize", "Surface cuLaunchKernel"}) {
    EXPECT_EQ(states.at(failed), State::kFailed) << failed;
  }
}

TEST_F(WithLibraries, NothingIsReportedOfTheSpeedOfWhatMovesNothing) {
  const Result result = run(kSurface);
  ASSERT_THAT(result.size_steps, SizeIs(1));
  for (const Step& step : result.size_steps[0].steps) {
    const std::string name = step.step;
    const bool moves = name == step::kCpuWrite || name == step::kGpuRmw || name == step::kCpuVerify;
    EXPECT_EQ(step.bytes, moves ? 64U << 10 : 0U) << name;
  }
}

TEST_F(WithLibraries, AStreamTakesTheCpuOneBufferOfTheFrame) {
  options_.frame_bytes = 64U << 20;
  long before = 0;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "RssAnon:") status >> before;
  }
  EXPECT_EQ(run(kStream).state, State::kOk);
  // The smaller sizes before it may not be quite gone yet.
  EXPECT_LT(control_->anonymous_bytes - before * 1024, 112L << 20);
  EXPECT_GT(control_->anonymous_bytes - before * 1024, 56L << 20);
}

TEST_F(WithLibraries, OfTwoHeapsOfOneAreaOneIsTaken) {
  const TempDir folder;
  options_.heap_directory = folder.path();
  options_.largest_runs["reserved"] = 1U << 30;
  const std::string first = options_.heap_directory + "/default_cma_region";
  const std::string second = options_.heap_directory + "/reserved";
  const bool made = ::mknod(first.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0 &&
                    ::mknod(second.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
  if (made) run(kImport);
  if (!made) GTEST_SKIP() << "may not make device nodes";
  ASSERT_GE(results_.size(), 2U);
  EXPECT_EQ(results_[0].target, "default_cma_region");
  EXPECT_NE(results_[0].state, State::kSkipped);
  EXPECT_EQ(results_[1].target, "reserved");
  EXPECT_EQ(results_[1].state, State::kSkipped);
  EXPECT_EQ(results_[1].reason, "the same memory as the heap default_cma_region");
}

TEST_F(WithLibraries, AnExportThatIsShortIsAFailure) {
  control_->short_export = 1;
  const Result result = run(kExport);
  EXPECT_EQ(result.state, State::kFailed);
  EXPECT_EQ(result.failed_step, "export");
  EXPECT_EQ(result.error, "2093056 bytes");
  EXPECT_EQ(result.reason, "lseek: the DMA-BUF should have 2097152 (2093056 bytes)");
}

TEST_F(WithLibraries, NamesTheFunctionThatADriverLacks) {
  use("old");
  EXPECT_EQ(run(kExport).reason, "the driver has no cuMemGetHandleForAddressRange()");
  EXPECT_EQ(run(kImport).reason, "the driver has no cuMemGetHandleForAddressRange()");
  EXPECT_EQ(run(kImport).target, "cuda_export");
  EXPECT_EQ(run(kSurface).reason, "this libnvbufsurface.so has no NvBufSurfaceMapEglImage()");
  for (const Result& result : results_) EXPECT_EQ(result.state, State::kUnsupported);
}

TEST_F(WithLibraries, ARefusedImportIsUnsupported) {
  control_->import_answer = 801;
  const Result result = run(kImport);
  expect_unsupported(result, "the driver refuses it: CUDA_ERROR_NOT_SUPPORTED (801)");
  EXPECT_EQ(result.failed_step, "");
  const std::vector<Step>& done = result.warm_up->steps;
  const auto import = std::find_if(done.begin(), done.end(), [](const Step& step) {
    return step.step == std::string(step::kImport);
  });
  ASSERT_NE(import, done.end());
  EXPECT_EQ(import->calls.back().result, "CUDA_ERROR_NOT_SUPPORTED");
  EXPECT_THAT(result.size_steps, SizeIs(0));
  // An older driver does not know of it.
  control_->import_answer = 1;
  EXPECT_EQ(run(kImport).state, State::kFailed);
  the_gpu.driver = 12060;
  expect_unsupported(run(kImport), "a driver older than CUDA 13 imports no DMA-BUF");
}

TEST_F(WithLibraries, TheCpuIsAtADmaBufBetweenBracketsOnly) {
  EXPECT_EQ(run(kImportUdmabuf).state, State::kOk);
  EXPECT_EQ(brackets, "(cpu) gpu (cpu)(cpu) gpu (cpu)");
  gpu_is_idle = true;
  EXPECT_EQ(run(kImportUdmabuf).state, State::kMismatch);
}

TEST_F(WithLibraries, ImportsWithoutUdmabufAndClosesItsDescriptorOnce) {
  run(kImport);
  ASSERT_THAT(results_, SizeIs(2));
  EXPECT_EQ(results_[0].target, "udmabuf");
  expect_unsupported(results_[0], "/nonexistent");
  // TearDown() counts them.
  control_->keeps_fd = 1;
  EXPECT_EQ(run(kImport).state, State::kOk);
}

TEST_F(WithLibraries, ASurfaceThatIsLaidOutOtherwiseIsNotUsed) {
  for (int spoil = 1; spoil <= 13; ++spoil) {
    const Result result = run_spoiled(spoil);
    SCOPED_TRACE("spoil " + std::to_string(spoil) + ": " + result.reason);
    expect_unsupported(result, "not laid out as this program knows them: it");
    EXPECT_EQ(std::string(control_->order),
              spoil == 13 ? "NvBufSurfaceCreate " : "NvBufSurfaceCreate NvBufSurfaceDestroy ");
    EXPECT_EQ(control_->taken, 0);
  }
}

TEST_F(WithLibraries, ASurfaceWithoutAddressOrImageFails) {
  for (const int spoil : {14, 15}) {
    const Result result = run_spoiled(spoil);
    EXPECT_EQ(result.state, State::kFailed);
    EXPECT_EQ(result.failed_step, spoil == 14 ? "map" : "import");
    EXPECT_EQ(control_->taken, 0);
  }
  // Surfaces are Jetson's.
  *control_ = Control();
  the_gpu.integrated = false;
  expect_unsupported(run(kSurface), "Jetson");
  EXPECT_EQ(control_->calls, 0);
}

TEST_F(WithLibraries, TheGpuHasASurfaceBetweenTheSyncs) {
  EXPECT_EQ(run(kSurface).state, State::kOk);
  const std::string once =
      "NvBufSurfaceCreate NvBufSurfaceMap NvBufSurfaceSyncForCpu NvBufSurfaceSyncForDevice "
      "NvBufSurfaceMapEglImage cuGraphicsEGLRegisterImage cuGraphicsResourceGetMappedEglFrame "
      "cuLaunchKernel NvBufSurfaceSyncForCpu cuGraphicsUnregisterResource "
      "NvBufSurfaceUnMapEglImage "
      "NvBufSurfaceUnMap NvBufSurfaceDestroy ";
  EXPECT_EQ(control_->order, once + once);
}

TEST_F(WithLibraries, AStreamNeedsTheGpusOwnEglDeviceAndTakesArrays) {
  control_->no_egl_device = 1;
  the_gpu.integrated = false;
  expect_unsupported(run(kStream), "EGL here has no device that is this GPU");
  // Its frames may come as arrays.
  *control_ = Control();
  control_->array_frames = 1;
  EXPECT_EQ(run(kStream).state, State::kOk);
}

}  // namespace
}  // namespace jetmem::probe
