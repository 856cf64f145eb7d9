// SPDX-License-Identifier: Apache-2.0
// Messages taken from drivers' sources and incidents that people posted, with the kind and fields
// that each should yield. They are not ours to ship: JETMEM_FACTS names the folder that has
// driver-formats.jsonl (by default the neighbour "facts" of JETMEM_CORPUS), JETMEM_CORPUS the one
// with incidents.jsonl. The tests hold the shares that are recognised, and print what is missed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collectors/kernel_log/decode/assembler.h"
#include "collectors/kernel_log/text_log.h"
#include "report/events/event_json.h"

namespace jetmem {
namespace {

using kernel_log::Assembler;
using kernel_log::Event;
using kernel_log::LogLine;
using kernel_log::TextLog;
using nlohmann::json;
using Kinds = std::vector<std::string>;

std::filesystem::path facts_folder() {
  if (const char* folder = std::getenv("JETMEM_FACTS")) return folder;
  const char* corpus = std::getenv("JETMEM_CORPUS");
  return corpus == nullptr ? "" : std::filesystem::path(corpus) / ".." / "facts";
}

std::vector<json> rows_of(const std::filesystem::path& file) {
  std::vector<json> rows;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) rows.push_back(json::parse(line));
  }
  return rows;
}

// "a|b" as a list; what the incidents call NEW:name by the names that the kinds have.
Kinds kinds_of(const std::string& text) {
  static const std::vector<std::pair<std::string, Kinds>> kNewNames{
      {"NEW:cma_reserve_failed", {"reserved_memory_failure"}},
      {"NEW:swiotlb_overflow", {"dma_map_failure"}},
      {"NEW:iommu_page_fault", {"smmu_context_fault"}},
      {"NEW:cuda_alloc_failed", {"cuda_alloc_failure"}},
      {"NEW:npu_alloc_failure", {"program_alloc_failure", "driver_alloc_failure"}},
      {"NEW:cbb_error", {"bus_error"}},
      {"NEW:serror", {"bus_error"}},
      // Hangs were errors before they had a kind.
      {"gpu_error", {"gpu_error", "gpu_hang"}}};
  Kinds kinds;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    const auto known = std::find_if(kNewNames.begin(), kNewNames.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (known == kNewNames.end()) kinds.push_back(name);
    if (known != kNewNames.end()) {
      kinds.insert(kinds.end(), known->second.begin(), known->second.end());
    }
    begin = end + 1;
  }
  return kinds;
}

bool is_one_of(const Kinds& kinds, const json& event) {
  return std::find(kinds.begin(), kinds.end(), event["kind"].get<std::string>()) != kinds.end();
}

// Equal, or the same number in two spellings ("0x402", "402").
bool same_value(const json& got, const json& expected) {
  if (got == expected) return true;
  if (!got.is_string() || !expected.is_string()) return false;
  const auto a = kernel_log::parse_hex(got.get<std::string>());
  return a && a == kernel_log::parse_hex(expected.get<std::string>());
}

struct Share {
  int hits = 0;
  int all = 0;
  void count(bool hit) {
    ++all;
    hits += hit ? 1 : 0;
  }
  double percent() const { return all == 0 ? 0 : 100.0 * hits / all; }
};

std::ostream& operator<<(std::ostream& out, const Share& share) {
  return out << share.hits << " of " << share.all << " (" << share.percent() << " %)";
}

std::vector<json> events_of_entry(const json& entry) {
  std::vector<json> got;
  const auto soc =
      kernel_log::soc_named(entry.value("soc", "")).value_or(kernel_log::Soc::kUnknown);
  Assembler assembler(soc, [&](const Event& event) { got.push_back(json(event_json(event))); });
  const auto lines = entry["lines"].get<std::vector<std::string>>();
  LogLine line;
  for (const std::string& text : lines) {
    line.text = text;
    ++line.number;
    assembler.line(line);
  }
  assembler.flush();
  return got;
}

TEST(KernelLogCatalogue, DriversMessagesYieldTheirKindsAndFields) {
  const std::filesystem::path file = facts_folder() / "driver-formats.jsonl";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "SKIPPED: no driver-formats.jsonl";
  Share a;
  Share b;
  Share fields;
  std::size_t number = 0;
  for (const json& entry : rows_of(file)) {
    const std::vector<json> got = events_of_entry(entry);
    Kinds kinds = kinds_of(entry["kind"]);
    for (const json& kind : entry.value("also_right", json::array())) kinds.push_back(kind);
    const auto found = std::find_if(got.begin(), got.end(),
                                    [&](const json& event) { return is_one_of(kinds, event); });
    (entry["importance"] == "A" ? a : b).count(found != got.end());
    const std::string where = "#" + std::to_string(number++) + " " +
                              entry["importance"].get<std::string>() + " " + kinds[0] + ": " +
                              entry["lines"][0].get<std::string>();
    if (found == got.end()) {
      std::cout << "missed " << where << "\n";
      for (const json& event : got) std::cout << "    got " << event.dump() << "\n";
      continue;
    }
    if (entry["fields"].empty()) continue;
    bool all_right = true;
    for (const auto& [name, value] : entry["fields"].items()) {
      const bool right = found->contains(name) && same_value((*found)[name], value);
      if (!right) std::cout << "field " << name << "=" << value << " of " << where << "\n";
      all_right = all_right && right;
    }
    if (!all_right) std::cout << "    got " << found->dump() << "\n";
    fields.count(all_right);
  }
  std::cout << "A " << a << ", B " << b << ", fields " << fields << "\n";
  EXPECT_GE(a.percent(), 97);
  EXPECT_GE(b.percent(), 80);
  EXPECT_GE(fields.percent(), 95);
}

TEST(KernelLogCatalogue, IncidentsYieldTheirKinds) {
  const char* folder = std::getenv("JETMEM_CORPUS");
  const std::filesystem::path file =
      std::filesystem::path(folder == nullptr ? "" : folder) / "incidents.jsonl";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "SKIPPED: no incidents.jsonl";
  Share expected;
  for (const json& incident : rows_of(file)) {
    std::vector<json> got;
    const json& soc = incident["soc_arg"];
    TextLog log(soc.is_string()
                    ? kernel_log::soc_named(soc.get<std::string>()).value_or(kernel_log::Soc{})
                    : kernel_log::Soc::kUnknown,
                [&](const Event& event, std::string_view /*time*/) {
                  got.push_back(json(event_json(event)));
                });
    log.feed(incident["text"].get<std::string>());
    log.finish();
    for (const json& want : incident["expected"]) {
      const Kinds kinds = kinds_of(want["kind"]);
      const bool found = std::any_of(got.begin(), got.end(),
                                     [&](const json& event) { return is_one_of(kinds, event); });
      expected.count(found);
      if (found) continue;
      std::cout << "missed " << want["kind"] << " in " << incident["id"] << "\n";
      for (const json& event : got) std::cout << "    got " << event["kind"] << "\n";
    }
  }
  std::cout << "incidents " << expected << "\n";
  EXPECT_GE(expected.percent(), 95);
}

}  // namespace
}  // namespace jetmem
