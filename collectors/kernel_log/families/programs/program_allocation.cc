// SPDX-License-Identifier: Apache-2.0
// Allocation failures in programs' own words: CUDA and the runtimes above it, NPUs, GStreamer,
// cameras and the plain C and C++ library. Each prints them in its own way and release by release a
// little differently, so one row holds what its releases have in common.
#include <algorithm>
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr EventKind kCuda = EventKind::kCudaAllocFailure;
constexpr EventKind kProgram = EventKind::kProgramAllocFailure;

// How a line takes part in a report of several.
enum class Part : std::uint8_t { kAlone, kFirst, kSecond, kThird };

struct Wording {
  std::string_view text;     // every such line holds it
  std::string_view also;     // and this; empty: nothing more
  std::string_view library;  // who prints it; empty: several do
  EventKind kind = kProgram;
  std::string_view size{};  // stands right before the size; empty: none is printed
  Part part = Part::kAlone;
};

// The C library's words for ENOMEM, which any call may answer for reasons of its own.
constexpr std::string_view kNoMemory = "Cannot allocate memory";

// Looked for in every line of every service. The first that fits decides.
constexpr std::array kWordings{
    // llama.cpp, whisper.cpp, ollama: up to three lines for one refusal
    Wording{"cudaMalloc failed", "ggml", "ggml", kCuda, "allocating ", Part::kFirst},
    Wording{"cudaMalloc failed", "", "", kCuda, "allocating ", Part::kFirst},
    Wording{"AllocateRawInternal", "requested buffer of size", "onnxruntime", kProgram,
            "requested buffer of size "},
    Wording{"requested buffer of size ", "allocate", "onnxruntime", kProgram,
            "requested buffer of size "},
    Wording{"buffer of size ", "failed to allocate CUDA", "ggml", kCuda, "buffer of size ",
            Part::kSecond},
    Wording{"buffer of size ", "failed to allocate", "ggml", kProgram, "buffer of size ",
            Part::kSecond},
    Wording{"unable to allocate CUDA", "buffer", "ggml", kCuda, "", Part::kThird},
    Wording{"unable to allocate ", "error loading model", "ggml", kProgram, "", Part::kThird},
    Wording{"failed to allocate buffer for kv cache", "", "ggml"},
    Wording{"failed to allocate compute ", "buffer", "ggml"},
    Wording{"ggml_aligned_malloc: insufficient memory", "", "ggml", kProgram,
            "attempted to allocate "},
    Wording{" of pinned memory", "failed to allocate", "ggml", kCuda, "failed to allocate "},
    Wording{"Device memory allocation of size ", "", "ggml", kProgram,
            "Device memory allocation of size "},
    Wording{"requires more system memory (", "", "ollama", kProgram, "system memory ("},
    Wording{"model request too large for system", "", "ollama", kProgram, "requested=\""},
    Wording{"memory layout cannot be allocated", "", "ollama"},

    // TensorRT
    Wording{"could not be allocated", "Requested amount of GPU memory", "tensorrt", kCuda,
            "GPU memory ("},
    Wording{"could not be allocated", "Requested amount of memory", "tensorrt", kCuda, "memory ("},
    Wording{"OutOfMemory (Requested size was ", "", "tensorrt", kCuda, "Requested size was "},
    Wording{"User allocator error allocating ", "", "tensorrt", kCuda, "error allocating "},
    Wording{"-byte allocation", "CUDA error", "tensorrt", kCuda, " for "},
    Wording{"Cuda Runtime (out of memory)", "", "tensorrt", kCuda},
    Wording{"allocate: 2 (out of memory)", "", "tensorrt", kCuda},
    Wording{"OutOfMemory Error in ", "", "tensorrt", kCuda},

    // PyTorch
    Wording{"CUDA out of memory. Tried to allocate ", "", "pytorch", kCuda, "Tried to allocate "},
    Wording{"llocator: ", "you tried to allocate ", "pytorch", kProgram, "you tried to allocate "},
    Wording{"CUDACachingAllocator.cpp", "INTERNAL ASSERT FAILED", "pytorch", kCuda},
    Wording{"CUDA out of memory", "", "", kCuda},

    // TensorFlow, JAX, Paddle
    Wording{"ran out of memory trying to allocate ", "_bfc", "tensorflow", kCuda,
            "trying to allocate "},
    Wording{"OOM when allocating tensor", "", "tensorflow"},
    Wording{"CUDA_ERROR_OUT_OF_MEMORY", "from device", "tensorflow", kCuda, "ailed to allocate "},
    Wording{"ut of memory while trying to allocate ", "", "xla", kProgram, "trying to allocate "},
    Wording{"Out of memory error on GPU ", "", "paddle", kCuda, "Cannot allocate "},

    // CUDA's own names
    Wording{"CUDA_ERROR_OUT_OF_MEMORY", "", "", kCuda, "ailed to allocate "},
    Wording{"cudaErrorMemoryAllocation", "", "", kCuda, "ailed to allocate "},
    Wording{"CUDA error: out of memory", "", "", kCuda},
    Wording{"CUDA driver error: out of memory", "", "", kCuda},
    // cuBLAS: a handle takes memory of its own.
    Wording{"CUDA error: the resource allocation failed", "", "", kCuda},
    Wording{"CUBLAS_STATUS_ALLOC_FAILED", "", "", kCuda},
    Wording{"CUDA failure 2: out of memory", "", "onnxruntime", kCuda},
    Wording{"out of memory (error 2)", "", "", kCuda},
    Wording{"cudaAlloc", "failed to allocate", "", kCuda, "failed to allocate "},
    Wording{"No available memory for the cache blocks", "", "vllm", kCuda},
    Wording{"CUDA error 2 at ", "out of memory", "ggml", kCuda},

    // Cameras, video, displays
    Wording{"Failed to allocate required memory", "", "gstreamer"},
    Wording{"ailed to allocate a buffer", "gst", "gstreamer"},
    Wording{"activate buffer", "ailed to", "gstreamer"},
    Wording{"Error InsufficientMemory", "", "argus"},
    Wording{"failed to allocate capture buffers", "", "libcamera"},
    Wording{"dmaHeap allocation failure", "", "libcamera"},
    Wording{":ENOMEM)", "mmal", "mmal"},
    Wording{"(-4:Insufficient memory)", "", "opencv", kProgram, "Failed to allocate "},
    Wording{"Gpu API call", "out of memory", "opencv", kCuda},
    Wording{"EGL_BAD_ALLOC", "", "egl"},
    Wording{"GL_OUT_OF_MEMORY", "", "opengl"},
    Wording{"ErrorOutOfDeviceMemory", "", "vulkan"},
    Wording{"VK_ERROR_OUT_OF_DEVICE_MEMORY", "", "vulkan"},
    Wording{"VK_ERROR_OUT_OF_HOST_MEMORY", "", "vulkan"},

    // NPUs
    Wording{"failed to allocate handle, ret: ", "errno: ", "rknn", kProgram, "", Part::kFirst},
    Wording{"failed to convert handle(", "errno: ", "rknn", kProgram, "", Part::kFirst},
    Wording{"failed to malloc npu memory", "", "rknn", kProgram, "size: ", Part::kSecond},
    Wording{"RKNN_ERR_MALLOC_FAIL", "", "rknn"},
    Wording{"HAILO_OUT_OF_", "MEMORY", "hailo"},

    // Any program
    Wording{" for an array with shape ", "nable to allocate ", "numpy", kProgram,
            "nable to allocate "},
    Wording{"std::bad_alloc", "", "c++"},
    Wording{"memory allocation of ", " bytes failed", "rust", kProgram, "memory allocation of "},
    Wording{"failed to allocate ", "GLib", "glib", kProgram, "failed to allocate "},
    Wording{"fatal error: runtime: out of memory", "", "go"},
    Wording{"fatal error: runtime: cannot allocate memory", "", "go"},
    Wording{"virtual memory exhausted", "", ""},
    Wording{"out of memory allocating ", "", "", kProgram, "out of memory allocating "},
    Wording{kNoMemory, "", ""},
};

// One anchor for each text, without those that hold another.
constexpr auto anchors_of() {
  std::array<std::string_view, kWordings.size()> anchors{};
  std::size_t size = 0;
  for (const Wording& wording : kWordings) {
    bool known = false;
    for (std::size_t i = 0; i < size; ++i) known = known || anchors[i] == wording.text;
    if (!known) anchors[size++] = wording.text;
  }
  return std::pair(anchors, size);
}
constexpr auto kAnchorList = anchors_of();
constexpr std::span<const std::string_view> kProgramAnchors(kAnchorList.first.data(),
                                                            kAnchorList.second);

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// In front of kNoMemory stands what failed: it must be a call that allocates.
bool names_allocation(std::string_view before) {
  constexpr std::array<std::string_view, 11> kCalls{"alloc",   "ALLOC",  "Alloc",     "mmap",
                                                    "brk",     "fork",   "clone",     "REQBUFS",
                                                    "CREATE_", "dmabuf", "memory for"};
  return contains_any(before, kCalls);
}

// "6637.69 MiB", "622329856 bytes", "2.13GiB", "146.00 MiB", "1024": as printed, without what is
// behind.
std::string_view size_text(std::string_view text) {
  std::size_t n = 0;
  // A comma where the locale has one: "1900,00 MiB".
  const auto is_point = [&](std::size_t at) {
    return text[at] == '.' || (text[at] == ',' && at + 1 < text.size() && is_digit(text[at + 1]));
  };
  while (n < text.size() && (is_digit(text[n]) || (n > 0 && is_point(n)))) ++n;
  if (n == 0) return {};
  std::size_t unit = n;
  if (unit < text.size() && text[unit] == ' ') ++unit;
  constexpr std::string_view kPrefixes = "KkMGT";
  std::size_t end = unit;
  if (end < text.size() && kPrefixes.find(text[end]) != std::string_view::npos) ++end;
  if (end > unit && end < text.size() && text[end] == 'i') ++end;
  if (end < text.size() && text[end] == 'B') ++end;
  const bool whole = end == text.size() || !is_name_char(text[end]);
  if (end == unit || !whole) return text.substr(0, n - (text[n - 1] == '.' ? 1 : 0));
  return text.substr(0, end);
}

// Bytes where the program prints bytes; what it rounded stays as it printed it.
void set_size(Event& event, std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '(')) text.remove_prefix(1);
  const std::string_view printed = size_text(text);
  if (printed.empty()) return;
  std::string_view rest = printed;
  const auto bytes = take_u64(rest);
  const bool exact = bytes && *bytes <= INT64_MAX && (rest.empty() || rest == " B" || rest == "B");
  if (exact) {
    event.set_number("size", static_cast<std::int64_t>(*bytes));
    return;
  }
  event.set_text("size_text", printed);
  // "3.56G (3822520832 bytes)", "16.07MiB (rounded to 16850944)"
  Scan behind(text.substr(printed.size()));
  behind.blanks();
  if (!behind.literal("(")) return;
  behind.literal("rounded to ");
  if (const auto number = behind.number(); number && *number > 0 && !behind.at_end()) {
    event.set_number("size", *number);
  }
}

// "ggml_backend_cuda_buffer_type_alloc_buffer: ", the last such name before the failure, of the
// nearest few: a service's line may be kilobytes of JSON.
void set_function(Event& event, std::string_view before) {
  constexpr int kMostHeads = 4;
  std::size_t end = before.rfind(": ");
  for (int i = 0; i < kMostHeads && end != std::string_view::npos && end > 0; ++i) {
    std::size_t begin = end;
    while (begin > 0 && is_name_char(before[begin - 1])) --begin;
    const std::string_view name = before.substr(begin, end - begin);
    if (is_c_name(name) && name.find('_') != std::string_view::npos) {
      const bool sentence_is_safe =
          std::none_of(kWordings.begin(), kWordings.end(), [&](const Wording& wording) {
            return name.find(wording.text) != std::string_view::npos;
          });
      if (sentence_is_safe) {
        event.set_text("function", name);
        return;
      }
    }
    end = before.rfind(": ", end - 1);
  }
}

void set_device(Event& event, std::string_view text, std::string_view key) {
  Scan scan(text);
  if (event.has("device") || !scan.past(key)) return;
  take_count(scan, event, "device");
}

Piece piece_of(Part part) {
  switch (part) {
    case Part::kFirst:
      return {.role = Role::kOpens};
    case Part::kSecond:
      return {.role = Role::kFollowsOrOpens, .step = 1};
    case Part::kThird:
      return {.role = Role::kFollowsOrOpens, .step = 2, .last = true};
    case Part::kAlone:
      break;
  }
  return {.role = Role::kWhole};
}

void set_details(const Wording& wording, std::string_view text, std::size_t at, Event& event) {
  if (!wording.size.empty()) {
    Scan scan(text);
    if (scan.past(wording.size)) set_size(event, scan.rest());
  }
  // What follows a first line must not replace its function.
  if (wording.part == Part::kAlone || wording.part == Part::kFirst) {
    set_function(event, text.substr(0, at + 1));
  }
  if (wording.library == "ggml" || wording.kind == kCuda) {
    for (const std::string_view key : {"on device ", "allocate CUDA", "GPU ", "GPU_"}) {
      set_device(event, text, key);
    }
    if (wording.library == "pytorch") {
      Scan scan(text);
      if (scan.past("of which ")) {
        event.set_text("free_text", size_text(scan.rest()));
      } else if (const std::size_t free = text.find(" free;"); free != std::string_view::npos) {
        const std::size_t begin = text.rfind("; ", free);
        if (begin != std::string_view::npos) {
          event.set_text("free_text", size_text(text.substr(begin + 2)));
        }
      }
    }
  }
  if (wording.library == "ollama") {
    Scan scan(text);
    if (scan.past("is available (") || scan.past(" available=")) {
      if (const std::string_view size = size_text(scan.rest()); !size.empty()) {
        event.set_text("available_text", size);
      }
    }
  }
  if (wording.library == "argus") {
    Scan scan(text);
    if (scan.past("InsufficientMemory: ")) set_if(event, "detail", trim(scan.up_to("(")));
    if (scan.past("function ")) {
      if (const std::string_view name = scan.up_to("("); is_c_name(name) && !scan.at_end()) {
        event.set_text("function", name);
      }
    }
  }
  if (wording.library == "rknn") {
    Scan scan(text);
    if (scan.past("errno: ")) take_count(scan, event, "errno");
  }
  if (wording.text == kNoMemory) event.set_number("errno", 12);
  // Pinned memory has a fallback, and some allocators only try.
  if (has(text, "is not a failure") || wording.text == " of pinned memory") {
    event.set_bool("fallback", true);
  }
}

// Strings that a device gives itself, source code, and the kernel's graphics drivers: not what a
// program reports.
bool quotes(std::string_view before) {
  constexpr std::array<std::string_view, 6> kQuotes{
      "Product: ", "Manufacturer: ", "SerialNumber: ", "input: ", "catch (", "#define "};
  return contains_any(before, kQuotes) || before.starts_with("[drm");
}

Piece decode_program_allocation(std::string_view text, Event& event) {
  for (const Wording& wording : kWordings) {
    const std::size_t at = text.find(wording.text);
    if (at == std::string_view::npos || quotes(text.substr(0, at))) continue;
    if (!wording.also.empty() && !has(text, wording.also)) continue;
    if (wording.text == kNoMemory && !names_allocation(text.substr(0, at))) continue;
    EventKind kind = wording.kind;
    // Runtimes whose allocators print the same words for the CPU and the GPU.
    const bool either = wording.library == "onnxruntime" || wording.library == "tensorflow";
    if (either && (has(text, "CUDA") || has(text, "Cuda") || has(text, "GPU"))) kind = kCuda;
    event.reset(kind);
    set_if(event, "library", wording.library);
    set_details(wording, text, at, event);
    return piece_of(wording.part);
  }
  return {};
}

// As the program printed it; a bare number is bytes.
void add_size(std::string& out, std::string_view printed, std::string_view after) {
  if (printed.empty()) return;
  const auto bytes = parse_u64(printed);
  out.append(" with ").append(bytes ? size_in_words(static_cast<std::int64_t>(*bytes / 1024))
                                    : quote_in_words(printed));
  out.append(after);
}

void describe_program_allocation(const Event& event, std::string& out) {
  const bool cuda = event.kind() == kCuda;
  if (!cuda && event.kind() != kProgram) return;
  const std::string_view library = event.text("library");
  out += library.empty() ? "a program" : "a program using " + name_in_words(library);
  const std::string_view rounded = event.text("size_text");
  if (const auto size = event.number("size")) {
    out += " requested " + size_in_words(*size / 1024);
  } else if (!rounded.empty()) {
    out += " requested " + quote_in_words(rounded);
  } else {
    out += " requested memory";
  }
  if (cuda) out += " from CUDA";
  add_number(out, event, "device", " (device ", ")");
  out += " and was refused";
  add_size(out, event.text("available_text"), " available");
  add_size(out, event.text("free_text"), " free");
  if (const auto number = event.number("errno")) out += ", errno " + std::to_string(*number);
  if (event.boolean("fallback").value_or(false)) out += "; it continues without it";
  add_name(out, event, "function", ", in ", {}, 60);
}

}  // namespace

const Family kProgramAllocation{.name = "program_allocation",
                                .anchors = kProgramAnchors,
                                .decode = decode_program_allocation,
                                .describe = describe_program_allocation,
                                .user_space = true};

}  // namespace jetmem::kernel_log
