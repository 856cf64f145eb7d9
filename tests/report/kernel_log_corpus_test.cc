// SPDX-License-Identifier: Apache-2.0
// Real lines, and what each must yield. They are not ours to ship: JETMEM_CORPUS names the folder
// that has them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collectors/kernel_log/decode/assembler.h"
#include "report/events/event_json.h"

namespace jetmem {
namespace {

using kernel_log::Assembler;
using kernel_log::Event;
using kernel_log::LogLine;
using nlohmann::json;

struct Entry {
  std::vector<std::string> lines;
  std::string kind;
  json expect;
};

std::vector<Entry> read_corpus(const std::string& file) {
  std::vector<Entry> entries;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const json row = json::parse(line);
    Entry entry;
    if (row.contains("lines")) {
      entry.lines = row["lines"].get<std::vector<std::string>>();
    } else {
      entry.lines = {row["msg"].get<std::string>()};
    }
    entry.kind = row["kind"];
    entry.expect = row["expect"];
    entries.push_back(std::move(entry));
  }
  return entries;
}

TEST(KernelLogCorpus, EveryLineYieldsItsKindAndFields) {
  const char* folder = std::getenv("JETMEM_CORPUS");
  if (folder == nullptr) GTEST_SKIP() << "SKIPPED: JETMEM_CORPUS does not name a corpus folder";
  const std::vector<Entry> entries = read_corpus(std::string(folder) + "/kernel-log.jsonl");
  ASSERT_GT(entries.size(), 0U) << folder << "/kernel-log.jsonl has no entries";
  for (const Entry& entry : entries) {
    const auto soc =
        kernel_log::soc_named(entry.expect.value("soc", "")).value_or(kernel_log::Soc::kUnknown);
    std::vector<json> got;
    Assembler assembler(soc, [&](const Event& event) { got.push_back(json(event_json(event))); });
    LogLine line;
    for (const std::string& text : entry.lines) {
      line.text = text;
      ++line.number;
      assembler.line(line);
    }
    assembler.flush();
    SCOPED_TRACE(entry.kind + ": " + entry.lines.front());
    if (entry.kind == "benign") {
      EXPECT_TRUE(got.empty()) << json(got).dump();
      continue;
    }
    EXPECT_EQ(got.size(), 1U) << json(got).dump();
    if (got.size() != 1) continue;
    EXPECT_EQ(got[0]["kind"], entry.kind);
    for (const auto& [name, value] : entry.expect.items()) {
      EXPECT_EQ(got[0].value(name, json("(missing)")), value) << name << " in " << got[0].dump();
    }
  }
}

}  // namespace
}  // namespace jetmem
