// SPDX-License-Identifier: Apache-2.0
// eglstream: frames handed over by an EGLStream, as a camera's library hands them to CUDA. Here the
// GPU is at both ends: what the consumer is given must be what the producer presented.

#include <cstring>
#include <utility>

#include "probes/program/cuda/device_buffer.h"
#include "probes/program/cuda/frames/egl.h"
#include "probes/program/cuda/session.h"
#include "probes/program/cuda/share/exported.h"
#include "probes/program/gpu.h"
#include "probes/program/kinds.h"

namespace jetmem::probe {
namespace {

constexpr const char* kKind = "eglstream";
constexpr unsigned kBytesOfPixel = 4;
constexpr unsigned kRowBytes = 4096;  // every buffer is rows of it
constexpr unsigned kAcquireTimeoutUs = 1'000'000;

// A stream with CUDA at both ends. Its destructor frees what release_buffer() did not.
class Stream {
 public:
  Stream(Recorder& recorder, const Egl& egl)
      : recorder_(recorder), egl_(egl), cuda_stream_(gpu_stream()) {}
  ~Stream() {
    take_down([](const char*, bool, const std::string&) {});
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Within a step, each.
  bool connect(unsigned rows) {
    stream_ = egl_.create_stream();
    if (!recorder_.call("eglCreateStreamKHR", stream_ != nullptr,
                        stream_ != nullptr ? "ok" : egl_.last_error())) {
      return false;
    }
    has_consumer_ = refusable_call(recorder_, "cuEGLStreamConsumerConnect",
                                   cuda().cuEGLStreamConsumerConnect(&consumer_, stream_));
    if (!has_consumer_) return false;
    has_producer_ = refusable_call(
        recorder_, "cuEGLStreamProducerConnect",
        cuda().cuEGLStreamProducerConnect(&producer_, stream_, kRowBytes / kBytesOfPixel,
                                          static_cast<std::int32_t>(rows)));
    return has_producer_;
  }

  bool present(driver::Address address, unsigned rows) {
    driver::EglFrame frame;
    frame.planes[0] = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    frame.width = kRowBytes / kBytesOfPixel;
    frame.height = rows;
    frame.depth = 1;
    frame.pitch = kRowBytes;
    frame.plane_count = 1;
    frame.channels = kBytesOfPixel;
    frame.frame_type = driver::kEglFramePitch;
    frame.color_format = driver::kEglColorArgb;
    frame.array_format = driver::kArrayUnsignedInt8;
    return refusable_call(recorder_, "cuEGLStreamProducerPresentFrame",
                          cuda().cuEGLStreamProducerPresentFrame(&producer_, frame, &cuda_stream_));
  }

  bool acquire(driver::EglFrame& frame) {
    if (!refusable_call(recorder_, "cuEGLStreamConsumerAcquireFrame",
                        cuda().cuEGLStreamConsumerAcquireFrame(&consumer_, &acquired_,
                                                               &cuda_stream_, kAcquireTimeoutUs))) {
      acquired_ = nullptr;
      return false;
    }
    return refusable_call(recorder_, "cuGraphicsResourceGetMappedEglFrame",
                          cuda().cuGraphicsResourceGetMappedEglFrame(&frame, acquired_, 0, 0));
  }

  bool release_buffer() {
    bool well = true;
    take_down([&](const char* name, bool is_well, const std::string& result) {
      well = recorder_.call(name, is_well, result) && well;
    });
    return well;
  }

  bool is_there() const { return stream_ != nullptr; }
  // Frames must not be freed before the producer is disconnected.
  bool may_hold_frames() const { return may_hold_frames_; }

 private:
  // In the order in which frames and ends depend on each other. `note` gets every call.
  template <class Note>
  void take_down(Note&& note) {
    const auto noted = [&](const char* name, driver::Result result) {
      note(name, result == driver::kSuccess, cuda().name_of(result));
    };
    if (acquired_ != nullptr) {
      noted("cuEGLStreamConsumerReleaseFrame",
            cuda().cuEGLStreamConsumerReleaseFrame(&consumer_, std::exchange(acquired_, nullptr),
                                                   &cuda_stream_));
    }
    // The producer does not ask for it back (cuEGLStreamProducerReturnFrame): a stream's last frame
    // stays in it until a later one is acquired, and goes when the ends are disconnected.
    if (std::exchange(has_consumer_, false)) {
      noted("cuEGLStreamConsumerDisconnect", cuda().cuEGLStreamConsumerDisconnect(&consumer_));
    }
    if (std::exchange(has_producer_, false)) {
      const driver::Result result = cuda().cuEGLStreamProducerDisconnect(&producer_);
      may_hold_frames_ = result != driver::kSuccess;
      noted("cuEGLStreamProducerDisconnect", result);
    }
    if (stream_ != nullptr) {
      const bool well = egl_.destroy_stream(std::exchange(stream_, nullptr));
      note("eglDestroyStreamKHR", well, well ? "ok" : egl_.last_error());
    }
  }

  Recorder& recorder_;
  const Egl& egl_;
  driver::Stream cuda_stream_;
  void* stream_ = nullptr;
  driver::EglConnection consumer_ = nullptr;
  driver::EglConnection producer_ = nullptr;
  bool has_consumer_ = false;
  bool has_producer_ = false;
  bool may_hold_frames_ = false;
  void* acquired_ = nullptr;  // the frame, as a resource of CUDA
};

// Within a step: the consumer's frame into `to`. The driver may hand it on as it was presented, or
// as an array of its own.
bool copy_frame(Recorder& recorder, const driver::EglFrame& frame, unsigned rows, HostBuffer& to) {
  const bool is_pitch = frame.frame_type == driver::kEglFramePitch;
  if (frame.height != rows || frame.planes[0] == nullptr || (is_pitch && frame.pitch < kRowBytes)) {
    return recorder.call("EGL frame", false,
                         std::to_string(frame.width) + "x" + std::to_string(frame.height) +
                             " pitch " + std::to_string(frame.pitch),
                         "it is not the frame that was presented");
  }
  driver::Copy2D copy;
  if (is_pitch) {
    copy.from_type = driver::kMemoryDevice;
    copy.from_device = reinterpret_cast<std::uintptr_t>(frame.planes[0]);
    copy.from_pitch = frame.pitch;
  } else {
    copy.from_type = driver::kMemoryArray;
    copy.from_array = frame.planes[0];
  }
  copy.to_type = driver::kMemoryHost;
  copy.to_host = to.get();
  copy.to_pitch = kRowBytes;
  copy.width_bytes = kRowBytes;
  copy.height = rows;
  const bool copied =
      cuda_call(recorder, "cuMemcpy2DAsync", cuda().cuMemcpy2DAsync_v2(&copy, gpu_stream()));
  return DeviceBuffer::settle(recorder, to) && copied;
}

void use(Recorder& recorder, const Egl& egl, std::uint64_t bytes) {
  const auto rows = static_cast<unsigned>(bytes / kRowBytes);
  DeviceBuffer memory(recorder, bytes, DeviceBuffer::kSharedGrain);
  // Goes before the memory does, which must not be freed while a stream has it.
  Stream stream(recorder, egl);
  Pattern pattern;
  driver::EglFrame frame;
  memory.allocate();
  memory.map_copy();
  memory.write(pattern);
  memory.modify(pattern, memory.address());
  HostBuffer seen = memory.take_copy();
  // A copy that does nothing is seen.
  if (seen.get() != nullptr && !recorder.failed()) std::memset(seen.get(), 0, bytes);
  recorder.step(step::kExport, 0,
                [&] { return stream.connect(rows) && stream.present(memory.address(), rows); });
  recorder.step(step::kImport, 0, [&] { return stream.acquire(frame); });
  recorder.step(step::kCopyFromGpu, bytes, [&] { return copy_frame(recorder, frame, rows, seen); });
  recorder.verify(pattern, seen.get(), bytes);
  if (stream.is_there()) {
    recorder.cleanup(step::kRelease, [&] { return stream.release_buffer(); });
  }
  if (stream.may_hold_frames()) memory.keep();
  memory.free();
}

}  // namespace

void probe_eglstream(Run& run) {
  if (!can_be_tried(run, kKind,
                    {"cuEGLStreamConsumerConnect", "cuEGLStreamConsumerDisconnect",
                     "cuEGLStreamConsumerAcquireFrame", "cuEGLStreamConsumerReleaseFrame",
                     "cuEGLStreamProducerConnect", "cuEGLStreamProducerDisconnect",
                     "cuEGLStreamProducerPresentFrame", "cuGraphicsResourceGetMappedEglFrame",
                     "cuMemcpy2DAsync_v2"})) {
    return;
  }
  run.report_progress(kKind, "", "display", 0);
  const Egl egl(run.options().library_directory, gpu_device(), gpu().integrated);
  if (egl.state() != State::kOk) {
    run.add_result(kKind, "", egl.state(), egl.reason()).error = egl.error();
    return;
  }
  run.run_ladder(kKind, "",
                 [&](Recorder& recorder, std::uint64_t bytes) { use(recorder, egl, bytes); });
}

}  // namespace jetmem::probe
