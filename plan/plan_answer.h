// SPDX-License-Identifier: Apache-2.0
// Whether a plan fits a device: `jetmem plan`, typed, with its JSON form (jetmem-plan/1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/device/device_now.h"
#include "plan/budget.h"

namespace jetmem {

struct PlanAnswer {
  static constexpr std::string_view kSchema = "jetmem-plan/1";

  std::string file;
  bool on_top = false;  // of what the device uses now
  plan::DeviceMemory device;
  plan::Budget budget;
  std::vector<std::string> cma_setting_advice;  // where CMA should be larger than it is
};

// What a device that was looked at has and uses.
plan::DeviceMemory memory_of(const DeviceNow& now);
// What a kind of device has, by its data sheet and what was seen of others.
plan::DeviceMemory memory_of(const device::KnownDevice& device);

PlanAnswer plan_answer(std::string file, const plan::Plan& plan, plan::DeviceMemory device);

std::string plan_json(const PlanAnswer& answer);

}  // namespace jetmem
