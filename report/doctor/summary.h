// SPDX-License-Identifier: Apache-2.0
// The conclusion: what happened, who, since when, in one to three sentences; and the moments it is
// made of, oldest first.
#pragma once

#include <compare>

#include "report/doctor/correlate.h"
#include "report/doctor/doctor.h"

namespace jetmem::doctor {

// Fills conclusion and timeline; the answer's steps and verdict are there already.
void summarize(const Findings& found, DoctorAnswer& answer);

// "python3 (vision.service) grew by 1.4 GiB from 00:10:00 to 02:11:00 (12 MiB/min)".
std::string growth_sentence(const GrowthEntry& growth_entry, std::optional<double> now);
// The fall of available memory, and who explains it: one or two sentences.
std::string memory_sentence(const MemoryFall& fall, std::optional<double> now);
std::string cma_sentence(const CmaFall& fall, std::optional<double> now);
std::string smmu_sentence(const Faults& faults, std::optional<double> now);
std::string heat_sentence(const Heat& heat, std::optional<double> now);
// How urgent a step is: what fires now comes before what happened. The least is first.
struct Urgency {
  int what = 0;
  std::size_t place = 0;  // among equal ones, by report/alerts/alert_order.h
  // NOLINTNEXTLINE(modernize-use-nullptr): there is no 0
  auto operator<=>(const Urgency&) const = default;
};
Urgency urgency(const DoctorAnswer::Step& step);
// The time of a look; absent where the clock was never set.
std::optional<double> today(const Findings& found);

}  // namespace jetmem::doctor
