// SPDX-License-Identifier: Apache-2.0
// A family of messages: one subsystem of the kernel, one pair of functions, one file in families/.
//
// Decoding is in two steps. decode() turns one line into fields, as printed, and says what part of
// an event the line is; the assembler puts the lines of one event together. complete() then adds
// what the fields mean: the fault a register names, the client behind a stream ID.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/catalogue/message.h"
#include "collectors/kernel_log/event/event.h"
#include "collectors/kernel_log/event/soc.h"

namespace jetmem::kernel_log {

struct Family {
  std::string_view name;
  // Of these texts, each at least five bytes, every line that decode() knows has one. They are all
  // that is looked for in a line that is none of its business.
  std::span<const std::string_view> anchors;
  // Resets `event` to its kind and fills it, unless it returns kNothing; then `event` is not
  // looked at. Pure, never allocates.
  Piece (*decode)(std::string_view text, Event& event);
  // What happened, in words: "wrote to an unmapped address", without the device's time or count.
  // Appends one sentence without capital and full stop. Its text must not decode to an event.
  void (*describe)(const Event& event, std::string& out);
  // Adds to the fields of a finished event. May be null.
  void (*complete)(Event& event, Soc soc) = nullptr;
  // Its lines come from processes, not from the kernel.
  bool user_space = false;
  // Whether a further line can be of an open event, where `join` cannot tell. May be null.
  bool (*joins)(const Event& open, const Event& part) = nullptr;
  // Adds a further line of this family to an open event, where that is more than setting the fields
  // that the line has. May be null.
  void (*add)(Event& open, const Event& part) = nullptr;
};

// The first of these that knows the line decodes it.
using Rule = Piece (*)(std::string_view text, Event& event);
inline Piece first_piece(std::initializer_list<Rule> rules, std::string_view text, Event& event) {
  for (const Rule rule : rules) {
    const Piece piece = rule(text, event);
    if (piece.role != Role::kNothing) return piece;
  }
  return {};
}

// All of them. A new one is added here and to the list in decode.cc.
extern const Family kGpu;               // nvgpu, NVRM
extern const Family kGraphics;          // other GPUs, NPUs, Rockchip's IOMMU
extern const Family kHost1x;            // host1x channels, syncpoints, engines
extern const Family kMemoryClock;  // EMC, bandwidth
extern const Family kFirmware;     // processors on the chip

}  // namespace jetmem::kernel_log
