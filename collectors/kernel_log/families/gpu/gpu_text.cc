// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/families/gpu/gpu_text.h"

#include <array>

#include "collectors/kernel_log/families/common/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

struct Meaning {
  std::int64_t number;
  std::string_view text;
};

constexpr std::array kXids{
    Meaning{8, "the GPU stopped working on it"},
    Meaning{13, "the graphics engine met an error, usually a fault of the program"},
    Meaning{31, "MMU fault"},
    Meaning{32, "damaged command buffer"},
    Meaning{38, "driver firmware error"},
    Meaning{43, "the GPU stopped working on it, usually a fault of the program"},
    Meaning{44, "fault while switching contexts"},
    Meaning{45, "the program's channels were removed, often after another error"},
    Meaning{48, "uncorrectable memory error (double-bit ECC)"},
    Meaning{61, "the GPU's own controller stopped"},
    Meaning{62, "the GPU's own controller halted"},
    Meaning{63, "a memory row or page was taken out of use"},
    Meaning{64, "a memory row or page could not be taken out of use"},
    Meaning{68, "the video decoder met an error"},
    Meaning{69, "the graphics engine refused a command"},
    Meaning{74, "NVLink error"},
    Meaning{79, "the GPU has fallen off the bus"},
    Meaning{92, "many corrected memory errors"},
    Meaning{94, "memory error, contained to one program"},
    Meaning{95, "memory error that spread: the GPU needs a reset"},
    Meaning{109, "context switch timed out"},
    Meaning{119, "the GPU's firmware (GSP) does not answer"},
    Meaning{120, "the GPU's firmware (GSP) met an error"},
    Meaning{143, "the GPU could not be started"},
    Meaning{154, "the GPU needs another recovery action than before"},
};

constexpr std::array kNotifiers{
    Meaning{8, "the channel made no progress in time"},
    Meaning{12, "illegal method"},
    Meaning{13, "the graphics engine met an error"},
    Meaning{24, "waited too long for a semaphore"},
    Meaning{25, "illegal notification"},
    Meaning{31, "MMU fault"},
    Meaning{32, "damaged command buffer"},
};

template <class Table>
void add_meaning(std::string& out, const Table& table, std::optional<std::int64_t> number) {
  for (const Meaning& meaning : table) {
    if (number && meaning.number == *number) out.append(" (").append(meaning.text).append(")");
  }
}

void describe_fault(const Event& event, std::string& out) {
  out += "the GPU";
  add_name(out, event, "dev", " ");
  add_name(out, event, "pci", " ");
  out += " met an MMU fault";
  add_name(out, event, "addr", " at address ");
  add_quote(out, event, "fault_type", " (", ")");
  add_quote(out, event, "access", ", ", " access");
  add_number(out, event, "tsg", ", channel group ");
  add_number(out, event, "channel", ", channel ");
  if (event.has("comm") || event.has("pid")) out += ", in " + process_in_words(event);
}

void describe_error(const Event& event, std::string& out) {
  out += "the driver of the GPU";
  add_name(out, event, "dev", " ");
  if (const auto number = event.number("notifier")) {
    out += " gave a channel up with error ";
    out += std::to_string(*number);
    add_meaning(out, kNotifiers, number);
    add_number(out, event, "channel", ", channel ");
    if (event.has("comm")) out += ", in " + process_in_words(event);
    return;
  }
  out += " reports an error";
  add_name(out, event, "function", " in ", {}, 60);
  add_quote(out, event, "text", ", \"", "\"", 160);
}

void describe_alloc(const Event& event, std::string& out) {
  out += "the driver of the GPU";
  add_name(out, event, "dev", " ");
  out += " could not allocate memory";
  add_number(out, event, "size", ", ", " bytes wanted");
  add_name(out, event, "flags", " with ");
  add_quote(out, event, "text", ", \"", "\"", 160);
}

void describe_xid(const Event& event, std::string& out) {
  out += "the GPU";
  add_name(out, event, "pci", " ");
  add_number(out, event, "xid", " reports Xid ");
  add_meaning(out, kXids, event.number("xid"));
  if (event.has("comm") || event.has("pid")) out += ", in " + process_in_words(event);
  add_quote(out, event, "text", ", \"", "\"", 160);
}

}  // namespace

void describe_gpu(const Event& event, std::string& out) {
  if (event.kind() == EventKind::kGpuMmuFault) describe_fault(event, out);
  if (event.kind() == EventKind::kGpuError) describe_error(event, out);
  if (event.kind() == EventKind::kGpuAllocFailure) describe_alloc(event, out);
  if (event.kind() == EventKind::kGpuXid) describe_xid(event, out);
}

}  // namespace jetmem::kernel_log
