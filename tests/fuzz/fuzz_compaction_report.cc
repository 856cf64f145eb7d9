#include "health/compaction_report.h"

// The line of a program that jetmemd ran.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace jetmem;
  const auto report = parse_compaction_report({reinterpret_cast<const char*>(data), size});
  if (!report) {
    for (const char c : report.error().message) {
      if (static_cast<unsigned char>(c) < ' ') __builtin_trap();
    }
    return 0;
  }
  largest_orders_changed(*report);
  const auto again = parse_compaction_report(to_json(*report));
  if (!again || again->zones != report->zones) __builtin_trap();
  return 0;
}
