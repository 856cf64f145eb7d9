// SPDX-License-Identifier: Apache-2.0
// nvbufsurface: the buffers of Jetson's multimedia libraries, as a camera's or a decoder's frames
// come; with CUDA up to 12 the one way to hand such memory to the GPU: as an EGLImage.

#include <utility>

#include "probes/program/cuda/driver.h"
#include "probes/program/cuda/frames/nvbuf.h"
#include "probes/program/cuda/session.h"
#include "probes/program/cuda/share/exported.h"
#include "probes/program/gpu.h"
#include "probes/program/kinds.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {
namespace {

constexpr const char* kKind = "nvbufsurface";
constexpr std::uint32_t kBytesOfPixel = 4;
// Every buffer is rows of it: a multiple of what any Jetson pads a row to.
constexpr std::uint32_t kRowBytes = 4096;

// One surface, with what was done to it so far. Its destructor undoes what was not undone.
class Frame {
 public:
  Frame(Recorder& recorder, const nvbuf::Library& library)
      : recorder_(recorder), library_(library) {}
  ~Frame() {
    take_from_gpu([](const char*, bool, const std::string&) {});
    if (is_mapped_) library_.NvBufSurfaceUnMap(surface_, 0, 0);
    if (surface_ != nullptr) library_.NvBufSurfaceDestroy(surface_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // Within a step, each.
  bool create(std::uint64_t bytes) {
    nvbuf::CreateParams needed;
    needed.width = kRowBytes / kBytesOfPixel;
    needed.height = static_cast<std::uint32_t>(bytes / kRowBytes);
    needed.color_format = nvbuf::kRgba;
    needed.layout = nvbuf::kPitchLinear;
    needed.mem_type = nvbuf::kSurfaceArray;
    if (!call("NvBufSurfaceCreate", library_.NvBufSurfaceCreate(&surface_, 1, &needed))) {
      surface_ = nullptr;
      return false;
    }
    std::string why = nvbuf::error_reason(surface_, needed);
    if (why.empty() && surface_->list->planes.pitch[0] != kRowBytes) {
      why = "its rows are padded";
    }
    if (why.empty()) return true;
    // Where it is memory at all, to destroy it is the library's affair.
    if (!nvbuf::is_readable(surface_, sizeof *surface_)) surface_ = nullptr;
    recorder_.call("NvBufSurface", false, "unknown layout");
    recorder_.end_as(State::kUnsupported,
                     "this libnvbufsurface.so makes surfaces that are not laid out as this program "
                     "knows them: " +
                         why);
    return false;
  }

  bool map(std::uint64_t bytes) {
    is_mapped_ =
        call("NvBufSurfaceMap", library_.NvBufSurfaceMap(surface_, 0, 0, nvbuf::kMapReadWrite));
    if (!is_mapped_) return false;
    const auto* const first = static_cast<const unsigned char*>(memory());
    const bool is_there = first != nullptr && nvbuf::is_readable(first, 1) &&
                          nvbuf::is_readable(first + bytes - 1, 1);
    return is_there || recorder_.call("NvBufSurfaceMap", false, "no address",
                                      "what it gave is not the surface's memory");
  }
  bool sync_for_cpu() {
    return call("NvBufSurfaceSyncForCpu", library_.NvBufSurfaceSyncForCpu(surface_, 0, 0));
  }
  bool sync_for_device() {
    return call("NvBufSurfaceSyncForDevice", library_.NvBufSurfaceSyncForDevice(surface_, 0, 0));
  }
  bool hand_to_gpu() {
    has_image_ = call("NvBufSurfaceMapEglImage", library_.NvBufSurfaceMapEglImage(surface_, 0));
    if (!has_image_) return false;
    void* const image = surface_->list->mapped.egl_image;
    if (image == nullptr) {
      return recorder_.call("NvBufSurfaceMapEglImage", false, "no image");
    }
    if (!refusable_call(recorder_, "cuGraphicsEGLRegisterImage",
                        cuda().cuGraphicsEGLRegisterImage(&resource_, image, 0))) {
      resource_ = nullptr;
      return false;
    }
    if (!refusable_call(recorder_, "cuGraphicsResourceGetMappedEglFrame",
                        cuda().cuGraphicsResourceGetMappedEglFrame(&frame_, resource_, 0, 0))) {
      return false;
    }
    if (frame_.frame_type == driver::kEglFramePitch && frame_.planes[0] != nullptr &&
        frame_.pitch == kRowBytes && frame_.height == surface_->list->height) {
      return true;
    }
    return recorder_.call("EGL frame", false,
                          std::to_string(frame_.width) + "x" + std::to_string(frame_.height) +
                              " pitch " + std::to_string(frame_.pitch),
                          "it is not the surface's memory, row by row");
  }
  bool take_from_gpu() {
    bool well = true;
    take_from_gpu([&](const char* name, bool is_well, const std::string& result) {
      well = recorder_.call(name, is_well, result) && well;
    });
    return well;
  }
  bool unmap() {
    is_mapped_ = false;
    return call("NvBufSurfaceUnMap", library_.NvBufSurfaceUnMap(surface_, 0, 0));
  }
  bool destroy() {
    return call("NvBufSurfaceDestroy",
                library_.NvBufSurfaceDestroy(std::exchange(surface_, nullptr)));
  }

  bool is_there() const { return surface_ != nullptr; }
  bool is_mapped() const { return is_mapped_; }
  bool has_image() const { return has_image_; }
  void* memory() const { return is_mapped_ ? surface_->list->mapped.planes[0] : nullptr; }
  driver::Address for_gpu() const { return reinterpret_cast<std::uintptr_t>(frame_.planes[0]); }

 private:
  bool call(const char* name, int answer) {
    return recorder_.call(name, answer == 0, answer == 0 ? "ok" : std::to_string(answer));
  }
  template <class Note>
  void take_from_gpu(Note&& note) {
    if (resource_ != nullptr) {
      const driver::Result result =
          cuda().cuGraphicsUnregisterResource(std::exchange(resource_, nullptr));
      note("cuGraphicsUnregisterResource", result == driver::kSuccess, cuda().name_of(result));
    }
    if (std::exchange(has_image_, false)) {
      const int answer = library_.NvBufSurfaceUnMapEglImage(surface_, 0);
      note("NvBufSurfaceUnMapEglImage", answer == 0, answer == 0 ? "ok" : std::to_string(answer));
    }
  }

  Recorder& recorder_;
  const nvbuf::Library& library_;
  nvbuf::Surface* surface_ = nullptr;
  bool is_mapped_ = false;
  bool has_image_ = false;
  void* resource_ = nullptr;
  driver::EglFrame frame_;
};

void use(Recorder& recorder, const nvbuf::Library& library, std::uint64_t bytes) {
  Frame frame(recorder, library);
  Pattern pattern;
  recorder.step(step::kAllocate, 0, [&] { return frame.create(bytes); });
  recorder.step(step::kMap, 0, [&] { return frame.map(bytes); });
  // The pages are there already, and no sync is known to move any of their bytes: no bandwidth.
  recorder.step(step::kFirstTouch, 0, [&] {
    if (!frame.sync_for_cpu()) return false;
    touch_pages(frame.memory(), bytes);
    return true;
  });
  recorder.write(pattern, frame.memory(), bytes);
  recorder.step(step::kToGpu, 0, [&] { return frame.sync_for_device(); });
  recorder.step(step::kImport, 0, [&] { return frame.hand_to_gpu(); });
  gpu_modify(recorder, pattern, frame.for_gpu(), bytes);
  // Only when the GPU has been seen to be done does the CPU look again.
  recorder.step(step::kToCpu, 0, [&] { return frame.sync_for_cpu(); });
  recorder.verify(pattern, frame.memory(), bytes);
  if (frame.has_image()) recorder.cleanup(step::kRelease, [&] { return frame.take_from_gpu(); });
  if (frame.is_mapped()) recorder.cleanup(step::kUnmap, [&] { return frame.unmap(); });
  if (frame.is_there()) recorder.cleanup(step::kFree, [&] { return frame.destroy(); });
}

}  // namespace

void probe_nvbufsurface(Run& run) {
  const std::string& directory = run.options().library_directory;
  if (!can_be_tried(run, kKind,
                    {"cuGraphicsEGLRegisterImage", "cuGraphicsUnregisterResource",
                     "cuGraphicsResourceGetMappedEglFrame"})) {
    return;
  }
  std::string reason;
  State state = State::kUnsupported;
  if (!gpu().integrated) {
    reason = "only Jetson's GPUs, which share the CPU's memory, have such buffers";
  }
  // NvBufSurface makes the images with it.
  if (reason.empty() && open_library(directory, {"libEGL.so.1"}, reason) == nullptr &&
      !is_missing_library(reason, {"libEGL.so.1"})) {
    state = State::kFailed;
  }
  if (reason.empty()) {
    const nvbuf::Library library(directory);
    reason = library.problem;
    if (library.is_damaged) state = State::kFailed;
    if (reason.empty()) {
      run.run_ladder(kKind, "", [&](Recorder& recorder, std::uint64_t bytes) {
        use(recorder, library, bytes);
      });
    }
  }
  if (!reason.empty()) run.add_result(kKind, "", state, reason);
}

}  // namespace jetmem::probe
