// SPDX-License-Identifier: Apache-2.0
// Memory errors as the drivers of memory controllers count them (EDAC). World readable: each file
// is a counter or text in the kernel's memory, no register is read.
//
// /sys/devices/system/edac/mc/mc<N>/ (drivers/edac/edac_mc_sysfs.c), each one value and a newline:
//     ce_count, ue_count                 corrected and uncorrected errors since the driver was
//                                        loaded, or since somebody wrote to reset_counters
//     ce_noinfo_count, ue_noinfo_count   those of them whose module is not known
//     dimm<N>/ or rank<N>/ (since 3.6)   dimm_label, dimm_edac_mode; since 4.13 dimm_ce_count and
//                                        dimm_ue_count
//     csrow<N>/ (CONFIG_EDAC_LEGACY_SYSFS; all there is before 3.6)
//                                        ue_count of the row, edac_mode, and for each channel
//                                        ch<M>_ce_count, ch<M>_dimm_label
// A kernel may have both layouts, of the same modules: rows and channels count only where no module
// of the controller has counts.
//
// The mode (edac_mode) is "None" without ECC; "Unknown" and "Reserved" say nothing; "PARITY" and
// "EC" detect errors, "SECDED" and "S<n>ECD<n>ED" correct them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

struct Edac : Reading {
  static constexpr std::size_t kMaxControllers = 32;
  static constexpr std::size_t kMaxModules = 128;  // of all controllers

  struct Errors {
    std::optional<std::uint64_t> corrected;
    std::optional<std::uint64_t> uncorrected;
    bool operator==(const Errors&) const = default;
  };
  struct Module {
    std::string controller;  // "mc0"
    std::string name;        // "dimm0", "rank3", "csrow0", "csrow0/ch1"
    std::string label;       // as the board's firmware or an administrator named the socket
    Errors errors;

    bool operator==(const Module&) const = default;
  };
  struct Controller {
    std::string name;
    Errors errors;
    Errors unlocated;
    // The weakest of its modules'; empty: unknown.
    std::string mode;
    bool has_modules = false;  // with counts of their own: its rows are the same again

    bool operator==(const Controller&) const = default;
  };
  std::vector<Controller> controllers;
  std::vector<Module> modules;
};

// Errors: kAbsent when no controller's driver is loaded; no count that can be understood, and why.
Result<void> parse_edac(const Snapshot& snapshot, Edac& out);

class EdacSource final : public ParsedSource<EdacSource, Edac, parse_edac> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
