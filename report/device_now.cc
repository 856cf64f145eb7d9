#include "report/device_now.h"

namespace jetmem {

std::string_view look_by_name(LookBy by) {
  switch (by) {
    case LookBy::kDaemon:
      return "daemon";
    case LookBy::kCommand:
      return "command";
    case LookBy::kCapture:
      return "capture";
    case LookBy::kHistory:
      return "history";
  }
  return "command";
}

const SourceNow* DeviceNow::source(std::string_view name) const {
  for (const SourceNow& each : sources) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::string DeviceNow::why_absent(std::string_view source) const {
  const SourceNow* const found = this->source(source);
  if (found == nullptr) return "source " + std::string(source) + " is not known";
  std::string text = "source " + found->name + " is ";
  if (found->state == "ok") {
    if (!found->stale) return {};
    return text + "stale";
  }
  text += found->state;
  const std::string& why = found->skipped.empty() ? found->reason : found->skipped;
  if (!why.empty()) text += ": " + why;
  return text;
}

}  // namespace jetmem
