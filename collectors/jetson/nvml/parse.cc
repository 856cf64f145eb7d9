// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/nvml/parse.h"

#include <algorithm>
#include <limits>

#include "base/text/text.h"
#include "collectors/fields.h"
#include "collectors/jetson/nvml/source.h"

namespace jetmem {
namespace {

using Gpu = Nvml::Gpu;
using Process = Nvml::Process;

constexpr std::string_view kFirstLine = "jetmem-nvml 1";
constexpr std::uint64_t kNotAvailable = std::numeric_limits<std::uint64_t>::max();

// What NVML answered to one question.
struct Status {
  enum class Kind : std::uint8_t { kNotQueried, kOk, kNotSupported, kDenied, kFailed };
  Kind kind = Kind::kNotQueried;

  bool ok() const { return kind == Kind::kOk; }
  bool none() const { return kind == Kind::kNotSupported || kind == Kind::kNotQueried; }
};

Status status_of(std::string_view code) {
  if (code == "NOT_SUPPORTED" || code == "FUNCTION_NOT_FOUND") return {Status::Kind::kNotSupported};
  if (code == "NO_PERMISSION") return {Status::Kind::kDenied};
  return {Status::Kind::kFailed};
}

std::string_view reason_for_status(Status status, std::string_view not_supported,
                                   std::string_view denied, std::string_view failed) {
  if (status.none()) return not_supported;
  return status.kind == Status::Kind::kDenied ? denied : failed;
}

std::optional<std::uint32_t> take_u32(std::string_view& text) {
  std::string_view rest = text;
  const auto value = take_u64(rest);
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  text = rest;
  return static_cast<std::uint32_t>(*value);
}

// A number or N/A; the latter is kNotAvailable, as in NVML itself.
std::optional<std::uint64_t> take_bytes(std::string_view& text) {
  std::string_view rest = text;
  if (take_word(rest) == "N/A") {
    text = rest;
    return kNotAvailable;
  }
  return take_u64(text);
}

std::optional<std::uint64_t> known(std::uint64_t bytes) {
  return bytes == kNotAvailable ? std::nullopt : std::optional(bytes);
}

class NvmlParser {
 public:
  explicit NvmlParser(Nvml& out) : out_(out) {}

  Result<void> parse(std::string_view text) {
    Lines lines(text);
    std::string_view line;
    if (!lines.next(line) || line != kFirstLine) {
      std::string message = "expected '";
      message.append(kFirstLine).append("', found '").append(printable(line, 60)).append("'");
      return lines.malformed(message);
    }
    while (lines.next(line) && line != "end") take_line(line);
    if (line != "end" || !lines.rest().empty() || text.back() != '\n') {
      return lines.malformed("expected 'end' as the last line, found '" + printable(line, 60) +
                             "': the text was cut");
    }
    return finish();
  }

 private:
  struct Answer {
    Status status;
    std::string_view text = "jetmem-nvml does not report it";  // of an error
  };
  struct QueryResult {
    Status memory;
    Status bar1;
    std::uint64_t bar1_bytes = 0;
    Status utilization;
    std::array<Status, 3> lists;
    std::uint64_t announced = 0;
    std::uint64_t listed = 0;
  };

  void take_line(std::string_view line) {
    const std::string_view subject = take_word(line);
    if (subject == "gpu") {
      take_gpu_line(line);
    } else if (subject == "library") {
      library_ = take_answer(line);
    } else if (subject == "init") {
      init_ = take_answer(line);
    } else if (subject == "device") {
      take_word(line);
      const std::string_view code = take_word(line);
      device_denied_ = code == "EACCES" || code == "EPERM";
    } else if (subject == "driver") {
      if (!take_status(line).ok()) return;
      skip_blanks(line);
      out_.driver = line.substr(0, nvml::kMaxName);
    } else if (subject == "gpus") {
      count_ = take_answer(line);
      if (count_.status.ok()) listed_gpus_ = take_u64(line).value_or(0);
    }
  }

  // Leaves what follows "ok", or "CODE text".
  Status take_status(std::string_view& line) {
    const std::string_view word = take_word(line);
    if (word == "ok") return {Status::Kind::kOk};
    if (word != "error") {
      malformed();
      return {Status::Kind::kFailed};
    }
    skip_blanks(line);
    std::string_view rest = line;
    return status_of(take_word(rest));
  }

  Answer take_answer(std::string_view& line) {
    const Status status = take_status(line);
    return {status, line};
  }

  void take_gpu_line(std::string_view line) {
    const auto index = take_u32(line);
    if (!index) return malformed();
    const std::size_t at = find(*index);
    if (at == nvml::kMaxGpus) return;
    Gpu& gpu = out_.gpus[at];
    QueryResult& requested = requested_[at];
    const std::string_view what = take_word(line);
    if (what == "process") return take_process(line, gpu, requested);
    static constexpr std::array<std::string_view, 3> kKinds{"compute", "graphics", "mps"};
    const auto* const kind = std::find(kKinds.begin(), kKinds.end(), what);
    const bool is_list = kind != kKinds.end();
    if (!is_list && what != "handle" && what != "name" && what != "memory" && what != "bar1" &&
        what != "utilization") {
      return;
    }
    const Status status = take_status(line);
    if (!status.ok() && !status.none() && first_error_.empty()) first_error_ = line;
    if (what == "handle") {
      // Without it nothing else can be asked.
      requested.memory = requested.utilization = requested.lists[0] = status;
    } else if (is_list) {
      requested.lists[static_cast<std::size_t>(kind - kKinds.begin())] = status;
      const auto count = status.ok() ? take_u64(line) : std::nullopt;
      if (status.ok() && !count) {
        lists_understood_ = false;
        return malformed();
      }
      requested.announced += count.value_or(0);
    } else if (what == "name") {
      skip_blanks(line);
      if (status.ok()) gpu.name = line.substr(0, nvml::kMaxName);
    } else if (what == "memory") {
      requested.memory = status;
      if (status.ok()) take_memory(line, gpu);
    } else if (what == "bar1") {
      requested.bar1 = status;
      requested.bar1_bytes = status.ok() ? known(take_bytes(line).value_or(0)).value_or(0) : 0;
    } else {
      requested.utilization = status;
      if (!status.ok()) return;
      const auto percent = take_u32(line);
      if (!percent || *percent > 100) return malformed();
      gpu.utilization_percent = percent;
    }
  }

  void take_memory(std::string_view line, Gpu& gpu) {
    Fields fields(out_.absent);
    bool is_known = true;
    for (auto* const bytes : {&gpu.total, &gpu.used, &gpu.free}) {
      const std::string_view word = take_word(line);
      if (word == "N/A") {
        is_known = false;
      } else {
        *bytes = fields.number(word, kMostMemory);
      }
    }
    for (auto* const part : {&gpu.used, &gpu.free}) fields.bound(*part, gpu.total);
    if (!is_known) out_.absent.add("memory_not_available");
  }

  void take_process(std::string_view line, Gpu& gpu, QueryResult& requested) {
    take_word(line);
    const auto pid = take_u32(line);
    const auto bytes = take_bytes(line);
    if (!pid || *pid == 0 || !bytes) {
      lists_understood_ = false;
      return malformed();
    }
    if (out_.processes.size() == nvml::kMaxProcesses) return;
    ++requested.listed;
    out_.processes.push_back({gpu.index, *pid, *bytes});
  }

  // The place of a GPU in the lists; kMaxGpus when there is none left.
  std::size_t find(std::uint32_t index) {
    const auto at = std::ranges::find(out_.gpus, index, &Gpu::index) - out_.gpus.begin();
    const auto found = static_cast<std::size_t>(at);
    if (found == out_.gpus.size() && found < nvml::kMaxGpus) out_.gpus.emplace_back().index = index;
    return found;
  }

  Result<void> finish() {
    if (!library_.status.ok()) {
      const bool missing = library_.text.starts_with("MISSING");
      return fail(missing ? Errc::kAbsent : Errc::kIo,
                  "NVML cannot be loaded: " + printable(library_.text));
    }
    if (!init_.status.ok()) return fail(init_code(), "NVML: nvmlInit: " + printable(init_.text));
    if (!count_.status.ok()) {
      return fail(Errc::kIo, "NVML: nvmlDeviceGetCount: " + printable(count_.text));
    }
    if (out_.gpus.empty()) return fail(Errc::kAbsent, "NVML lists no GPU");
    bool any = false;
    bool all_unsupported = true;
    for (std::size_t i = 0; i < out_.gpus.size(); ++i) {
      const QueryResult& requested = requested_[i];
      const auto snapshot = [&](Status status) {
        any = any || status.ok();
        all_unsupported = all_unsupported && status.none();
      };
      snapshot(requested.memory);
      snapshot(requested.utilization);
      for (const Status list : requested.lists) snapshot(list);
    }
    if (!any && all_unsupported) {
      return fail(Errc::kAbsent,
                  "NVML supports nothing of this GPU: where its driver is nvgpu, "
                  "nvmap has the memory of processes");
    }
    if (!any) return fail(Errc::kIo, "NVML: " + printable(first_error_));
    const std::size_t found = out_.gpus.size();
    if (listed_gpus_ > found) out_.absent.add("too_many_gpus", listed_gpus_ - found);
    put_processes_together();
    out_.processes_whole = lists_understood_ && listed_gpus_ <= found;
    for (std::size_t i = 0; i < found; ++i) {
      put_together(out_.gpus[i], requested_[i]);
      out_.processes_whole &= out_.gpus[i].process_bytes.has_value();
      for (const Status list : requested_[i].lists) out_.has_lists |= !list.none();
    }
    print_integrated();
    return {};
  }

  Errc init_code() const {
    if (device_denied_ || init_.status.kind == Status::Kind::kDenied) return Errc::kDenied;
    // NVML is asked only where the driver is there: its device nodes are not, as for a while at
    // boot.
    if (init_.text.starts_with("DRIVER_NOT_LOADED")) return Errc::kUnavailable;
    return init_.status.none() ? Errc::kAbsent : Errc::kIo;
  }

  void put_together(Gpu& gpu, const QueryResult& requested) {
    if (!requested.memory.ok()) {
      out_.absent.add(reason_for_status(requested.memory, "memory_not_supported", "memory_denied",
                                        "memory_failed"));
    }
    if (!requested.utilization.ok()) {
      out_.absent.add(reason_for_status(requested.utilization, "utilization_not_supported",
                                        "utilization_denied", "utilization_failed"));
    }
    // The bars of a card lead into memory of its own. Without them, a GPU of which NVML tells
    // memory may be either (GH200 has its own).
    if (requested.memory.kind == Status::Kind::kNotSupported && !requested.bar1.ok() &&
        requested.bar1.none()) {
      gpu.integrated = true;
    } else if (gpu.total.value_or(0) > 0 && requested.bar1_bytes > 0) {
      gpu.integrated = false;
    }
    Status worst{Status::Kind::kNotSupported};
    bool any = false;
    for (const Status list : requested.lists) {
      any = any || list.ok();
      if (!list.ok() && !list.none()) worst = list;
    }
    if (!any || !worst.none()) {
      gpu.processes.reset();
      gpu.process_bytes.reset();
      out_.absent.add(reason_for_status(worst, "processes_not_supported", "processes_denied",
                                        "processes_failed"));
    } else if (requested.announced > requested.listed) {
      gpu.processes.reset();
      gpu.process_bytes.reset();
      out_.absent.add("too_many_processes", requested.announced - requested.listed);
    }
  }

  // One entry for each process, and each GPU's sums.
  void put_processes_together() {
    std::vector<Process>& all = out_.processes;
    // Unknown values sort last.
    std::sort(all.begin(), all.end(), [](const Process& a, const Process& b) {
      if (a.gpu != b.gpu) return a.gpu < b.gpu;
      if (a.pid != b.pid) return a.pid < b.pid;
      if ((a.bytes == kNotAvailable) != (b.bytes == kNotAvailable)) return b.bytes == kNotAvailable;
      return a.bytes > b.bytes;
    });
    all.erase(std::unique(all.begin(), all.end(),
                          [](const Process& a, const Process& b) {
                            return a.gpu == b.gpu && a.pid == b.pid;
                          }),
              all.end());
    for (Gpu& gpu : out_.gpus) {
      gpu.processes = 0;
      gpu.process_bytes = 0;
      for (const Process& process : all) {
        if (process.gpu != gpu.index) continue;
        ++*gpu.processes;
        if (process.bytes == kNotAvailable) {
          out_.absent.add("process_memory_not_available");
          gpu.process_bytes.reset();
        } else if (gpu.process_bytes) {
          // More than there can be is no sum.
          if (*gpu.process_bytes > kNotAvailable - process.bytes) {
            malformed();
            gpu.process_bytes.reset();
          } else {
            *gpu.process_bytes += process.bytes;
          }
        }
      }
    }
    std::erase_if(all, [](const Process& process) { return process.bytes == kNotAvailable; });
  }

  void print_integrated() {
    out_.integrated = out_.gpus[0].integrated;
    for (const Gpu& gpu : out_.gpus) {
      if (gpu.integrated != out_.integrated) out_.integrated.reset();
    }
  }

  void malformed() { out_.absent.add("malformed"); }

  Nvml& out_;
  std::uint64_t listed_gpus_ = 0;
  bool lists_understood_ = true;
  std::array<QueryResult, nvml::kMaxGpus> requested_{};
  Answer library_;
  Answer init_;
  Answer count_;
  bool device_denied_ = false;
  std::string_view first_error_;
};

}  // namespace

Result<void> parse_nvml(std::string_view text, Nvml& out) {
  out = {};
  return NvmlParser(out).parse(text);
}

}  // namespace jetmem
