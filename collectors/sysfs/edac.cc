// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/edac.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "collectors/fields.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::string_view kEdac = "/sys/devices/system/edac/mc";

constexpr std::array<std::string_view, 16> kEdacPaths{
    "/sys/devices/system/edac/mc/mc*/ce_count",
    "/sys/devices/system/edac/mc/mc*/ue_count",
    "/sys/devices/system/edac/mc/mc*/ce_noinfo_count",
    "/sys/devices/system/edac/mc/mc*/ue_noinfo_count",
    "/sys/devices/system/edac/mc/mc*/dimm*/dimm_ce_count",
    "/sys/devices/system/edac/mc/mc*/dimm*/dimm_ue_count",
    "/sys/devices/system/edac/mc/mc*/dimm*/dimm_label",
    "/sys/devices/system/edac/mc/mc*/dimm*/dimm_edac_mode",
    "/sys/devices/system/edac/mc/mc*/rank*/dimm_ce_count",
    "/sys/devices/system/edac/mc/mc*/rank*/dimm_ue_count",
    "/sys/devices/system/edac/mc/mc*/rank*/dimm_label",
    "/sys/devices/system/edac/mc/mc*/rank*/dimm_edac_mode",
    "/sys/devices/system/edac/mc/mc*/csrow*/ue_count",
    "/sys/devices/system/edac/mc/mc*/csrow*/edac_mode",
    "/sys/devices/system/edac/mc/mc*/csrow*/ch*_ce_count",
    "/sys/devices/system/edac/mc/mc*/csrow*/ch*_dimm_label",
};

constexpr std::array kEdacMetrics{
    counter(
        "jetmem_edac_errors_total",
        "Memory errors that the controller's driver counted since it was loaded. error=corrected "
        "lost nothing, but more and more of them announce uncorrected ones; error=uncorrected: "
        "data was lost. Counted also when the kernel log suppressed the message.",
        {"controller", "error"}, 2 * Edac::kMaxControllers),
    counter("jetmem_edac_unlocated_errors_total",
            "The part of jetmem_edac_errors_total whose module the controller could not tell.",
            {"controller", "error"}, 2 * Edac::kMaxControllers),
    counter(
        "jetmem_edac_module_errors_total",
        "Memory errors of one module. module is a DIMM or rank, or a row and channel (csrow0/ch1; "
        "uncorrected errors are counted by row); label is the socket's name.",
        {"controller", "module", "label", "error"}, 2 * Edac::kMaxModules),
    gauge("jetmem_edac_ecc",
          "1: the controller checks its memory (ECC); 0: ECC is off, or the modules have none, and "
          "errors stay unnoticed. mode is the weakest of its modules: PARITY and EC only detect "
          "errors, SECDED and the like correct them. Absent where the driver does not know.",
          {"controller", "mode"}, Edac::kMaxControllers),
};
enum EdacMetric : std::size_t { kErrors, kUnlocated, kModuleErrors, kEcc };

constexpr std::string_view kNoEcc = "None";

// drivers/edac/edac_mc_sysfs.c, from the weakest to the strongest; others are stronger.
std::size_t strength(std::string_view mode) {
  constexpr std::array<std::string_view, 8> kModes{
      kNoEcc, "PARITY", "EC", "SECDED", "S2ECD2ED", "S4ECD4ED", "S8ECD8ED", "S16ECD16ED"};
  return static_cast<std::size_t>(std::find(kModes.begin(), kModes.end(), mode) - kModes.begin());
}

class EdacFiles {
 public:
  EdacFiles(const Snapshot& snapshot, Edac& out)
      : snapshot_(snapshot), out_(out), fields_(out.absent) {}

  Result<void> run() {
    for (; next_ < snapshot_.size(); ++next_) take(snapshot_[next_]);
    if (beyond_bound_ > 0) out_.absent.add(kBeyondBound, beyond_bound_);
    if (kept_ > 0) return {};
    if (bad_) return tl::unexpected(error_of(snapshot_[*bad_], "expected a number, "));
    return fail(Errc::kAbsent, "no driver of a memory controller (EDAC) is loaded");
  }

 private:
  void take(const FileText& file) {
    std::string_view rest = file.path;
    if (!take_prefix(rest, kEdac) || is_gone(file.error)) return;
    // Without a leaf: a folder that could not be listed.
    take_prefix(rest, "/");
    const std::string_view controller = take_part(rest);
    const std::string_view folder =
        rest.find('/') == std::string_view::npos ? std::string_view() : take_part(rest);
    if (!is_name(controller) || rest.empty()) return lost(file);
    Edac::Controller* const mc = find_controller(controller);
    if (mc == nullptr) return;
    if (folder.empty()) {
      take_controller(file, rest, *mc);
    } else if (folder.starts_with("csrow")) {
      take_row(file, folder, rest, *mc);
    } else {
      take_module(file, folder, rest, *mc);
    }
  }

  // What comes before the next slash.
  static std::string_view take_part(std::string_view& path) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    return part;
  }

  void take_controller(const FileText& file, std::string_view leaf, Edac::Controller& mc) {
    if (leaf == "ce_count") take_count(file, mc.errors.corrected);
    if (leaf == "ue_count") take_count(file, mc.errors.uncorrected);
    if (leaf == "ce_noinfo_count") take_count(file, mc.unlocated.corrected);
    if (leaf == "ue_noinfo_count") take_count(file, mc.unlocated.uncorrected);
  }

  void take_module(const FileText& file, std::string_view folder, std::string_view leaf,
                   Edac::Controller& mc) {
    Edac::Module* const module = find_module(mc.name, folder, {});
    if (module == nullptr) return;
    if (leaf == "dimm_ce_count") take_count(file, module->errors.corrected);
    if (leaf == "dimm_ue_count") take_count(file, module->errors.uncorrected);
    if (leaf == "dimm_label") module->label = one_name(file.text).value_or("");
    if (leaf == "dimm_edac_mode") take_mode(file, mc);
    mc.has_modules = mc.has_modules || module->errors.corrected || module->errors.uncorrected;
  }

  // The patterns have rows behind modules.
  void take_row(const FileText& file, std::string_view folder, std::string_view leaf,
                Edac::Controller& mc) {
    if (leaf == "edac_mode") return take_mode(file, mc);
    if (mc.has_modules) return;
    const std::string_view channel =
        leaf.starts_with("ch") ? leaf.substr(0, leaf.find('_')) : std::string_view();
    Edac::Module* const module = find_module(mc.name, folder, channel);
    if (module == nullptr) return;
    if (leaf == "ue_count") return take_count(file, module->errors.uncorrected);
    leaf.remove_prefix(channel.size());
    if (leaf == "_ce_count") take_count(file, module->errors.corrected);
    if (leaf == "_dimm_label") module->label = one_name(file.text).value_or("");
  }

  void take_count(const FileText& file, std::optional<std::uint64_t>& into) {
    // Without its newline it was cut, and is no number.
    into = file.ok() ? fields_.number(one_value(file.text).value_or("cut")) : std::nullopt;
    if (into) ++kept_;
    if (!file.ok()) out_.absent.add(reason_of_denied(file.error));
    if (!into && !bad_) bad_ = next_;
  }

  void take_mode(const FileText& file, Edac::Controller& mc) {
    const auto mode = file.ok() ? one_name(file.text) : std::nullopt;
    if (!mode || *mode == "Unknown" || *mode == "Reserved") {
      return out_.absent.add(file.ok() ? "ecc_unknown" : reason_of_denied(file.error));
    }
    if (mc.mode.empty() || strength(*mode) < strength(mc.mode)) mc.mode = *mode;
  }

  void lost(const FileText& file) {
    out_.absent.add(file.ok() ? kMalformed : reason_of_denied(file.error));
    if (!bad_) bad_ = next_;
  }

  Edac::Controller* find_controller(std::string_view name) {
    const auto known = std::ranges::find(out_.controllers, name, &Edac::Controller::name);
    if (known != out_.controllers.end()) return &*known;
    if (out_.controllers.size() == Edac::kMaxControllers) {
      ++beyond_bound_;
      return nullptr;
    }
    Edac::Controller& out = out_.controllers.emplace_back();
    out.name = name;
    return &out;
  }

  Edac::Module* find_module(const std::string& controller, std::string_view folder,
                            std::string_view channel) {
    name_.assign(folder);
    if (!channel.empty()) name_.append("/").append(channel);
    for (Edac::Module& module : out_.modules) {
      if (module.controller == controller && module.name == name_) return &module;
    }
    if (out_.modules.size() == Edac::kMaxModules || !is_name(name_)) {
      ++beyond_bound_;
      return nullptr;
    }
    Edac::Module& out = out_.modules.emplace_back();
    out.controller = controller;
    out.name = name_;
    return &out;
  }

  const Snapshot& snapshot_;
  Edac& out_;
  Fields fields_;
  std::string name_;
  std::size_t kept_ = 0;
  std::uint64_t beyond_bound_ = 0;
  std::size_t next_ = 0;            // the record at hand
  std::optional<std::size_t> bad_;  // the first that could not be used
};

}  // namespace

const SourceInfo EdacSource::kInfo{
    .name = "edac",
    .what = "memory errors by controller and module, and whether ECC is on (EDAC)",
    .paths = kEdacPaths,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(5),
    .grant = "read rights on /sys/devices/system/edac: usually as root",
    .metrics = kEdacMetrics,
    .limits = {.file_bytes = 4U << 10, .total_bytes = 64U << 10, .files = 1024, .names = 1024},
};

Result<void> parse_edac(const Snapshot& snapshot, Edac& out) {
  out = {};
  return EdacFiles(snapshot, out).run();
}

void EdacSource::write(SampleWriter& out, WriteContext& /*context*/) const {
  const auto put = [&](EdacMetric metric, const Edac::Errors& errors, const auto&... labels) {
    out.put(kEdacMetrics[metric], errors.corrected, labels..., "corrected");
    out.put(kEdacMetrics[metric], errors.uncorrected, labels..., "uncorrected");
  };
  for (const Edac::Controller& mc : reading_.controllers) {
    put(kErrors, mc.errors, mc.name);
    put(kUnlocated, mc.unlocated, mc.name);
    if (!mc.mode.empty()) out.put(kEdacMetrics[kEcc], mc.mode == kNoEcc ? 0 : 1, mc.name, mc.mode);
  }
  for (const Edac::Module& module : reading_.modules) {
    put(kModuleErrors, module.errors, module.controller, module.name, module.label);
  }
}

}  // namespace jetmem
