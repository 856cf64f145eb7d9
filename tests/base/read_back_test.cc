// SPDX-License-Identifier: Apache-2.0
// What is written is read back as the same: random names of series, manifests and records.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/root/manifest.h"
#include "base/root/recorded.h"
#include "base/text/text.h"
#include "metrics/sample.h"
#include "metrics/series_key.h"
#include "tests/random_input.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using test::kLetters;
using test::RandomInput;

std::string all_bytes() {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) out += static_cast<char>(byte);
  return out;
}

TEST(ReadBack, SeriesNames) {
  RandomInput random(40);
  const std::string bytes = all_bytes();
  for (int cycle = 0; cycle < 2000; ++cycle) {
    SeriesName name;
    name.family = "jetmem_" + random.word(kLetters, 30);
    for (const std::string& label : random.words(random.below(5), "abcxyz", 8)) {
      name.labels.emplace_back(
          label, random.one_in(3) ? random.word(bytes, 40) : random.word("a\"\\\n{},=", 20));
    }
    std::sort(name.labels.begin(), name.labels.end());
    const auto again = parse_series_key(name.key());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, name) << name.key();
  }
}

// The table's own names as well: what a source writes is found by what its key says.
TEST(ReadBack, KeysOfTheTable) {
  static constexpr Descriptor kSeries{
      .name = "jetmem_x_bytes", .help = "X.", .labels = {"zone", "area"}, .max_series = 4};
  RandomInput random(41);
  const std::string bytes = all_bytes();
  for (int cycle = 0; cycle < 500; ++cycle) {
    const std::string zone = random.word(bytes, 30);
    const std::string area = random.word(bytes, 30);
    SampleTable table;
    const std::size_t section = table.add_section("test");
    { SampleWriter(table, section, Nanoseconds(0)).put(kSeries, 7, zone, area); }
    ASSERT_EQ(table.sections()[0].slots.size(), 1U);
    const auto name = parse_series_key(table.sections()[0].slots[0].key);
    ASSERT_TRUE(name) << name.error().message;
    EXPECT_EQ(name->family, "jetmem_x_bytes");
    EXPECT_EQ(name->label("zone"), table.sections()[0].slots[0].labels[0]);
    EXPECT_EQ(name->label("area"), table.sections()[0].slots[0].labels[1]);
    EXPECT_EQ(table.value_of(name->key()), 7);
  }
}

// All of it, in any order.
std::multiset<std::string> shown(const Manifest& of) {
  std::multiset<std::string> out{std::to_string(of.facts.page_size.value_or(0)),
                                 of.facts.boot_id.value_or("-")};
  for (const auto& each : of.errors) {
    EXPECT_EQ(of.error_of(each.path), each.error) << each.path;
    out.insert(each.path + " " + std::to_string(each.error));
  }
  for (const auto& each : of.sources) {
    out.insert(each.name + "|" + each.state + "|" + each.reason + "|" + each.skipped);
  }
  if (!of.capture) return out;
  out.insert(of.capture->alert + " " + std::to_string(of.capture->log_seconds.value_or(-1)));
  for (const auto& each : of.capture->omitted) out.insert(each.path + "|" + each.reason);
  return out;
}

TEST(ReadBack, Manifests) {
  RandomInput random(42);
  const std::string_view errors[] = {"EACCES", "ENOENT", "EIO", "EPERM", "ETIMEDOUT"};
  for (int cycle = 0; cycle < 500; ++cycle) {
    Manifest manifest;
    if (random.one_in(2)) manifest.facts.page_size = 4096U << random.below(5);
    if (random.one_in(2)) manifest.facts.boot_id = random.word("0123456789abcdef-", 36);
    for (const std::string& path : random.words(random.below(6), "abc/\" \\", 30)) {
      manifest.errors.push_back({"/" + path, errno_named(errors[random.below(5)])});
    }
    for (const std::string& name : random.words(random.below(6), kLetters, 12)) {
      Manifest::SourceRemark& note = manifest.sources.emplace_back();
      note.name = name;
      note.state = random.one_in(2) ? "ok" : "denied";
      if (random.one_in(2)) note.reason = random.word(kLetters, 40);
      if (random.one_in(2)) note.skipped = random.word(kLetters, 40);
    }
    if (random.one_in(2)) {
      // Not emplace(): Clang 14 does not see that it may be made without values.
      manifest.capture = Manifest::Capture{};
      Manifest::Capture& capture = *manifest.capture;
      capture.reason = "alert";
      capture.alert = random.word(kLetters, 30);
      capture.version = "1.2";
      for (const std::string& path : random.words(random.below(3), kLetters, 20)) {
        capture.omitted.push_back({"/" + path, random.word(kLetters, 20)});
      }
      if (random.one_in(2)) capture.log_seconds = static_cast<double>(random.below(1U << 30)) / 8;
    }
    const auto again = parse_manifest(manifest_text(manifest));
    ASSERT_TRUE(again) << again.error().message << manifest_text(manifest);
    EXPECT_EQ(shown(*again), shown(manifest));
  }
}

TEST(ReadBack, Records) {
  RandomInput random(43);
  const std::string bytes = all_bytes();
  const int errors[] = {EACCES, FileText::kTooLarge, FileText::kNotRegular};
  const TempDir tree;
  tree.write("proc/meminfo", "MemTotal: 1 kB\n");
  const Root root = *Root::at(tree.path());
  for (int cycle = 0; cycle < 100; ++cycle) {
    Snapshot needed;
    std::string text = recorded_head(false);
    needed.add("/proc/meminfo", "MemTotal: 1 kB\n", 0);
    append_recorded(text, needed[0], true);
    for (std::uint64_t left = random.below(20); left > 0; --left) {
      const int error = random.one_in(3) ? errors[random.below(3)] : 0;
      needed.add("/" + random.word(bytes, 40), error == 0 ? random.word(bytes, 300) : "", error);
      append_recorded(text, needed[needed.size() - 1], false);
    }
    tree.write("jetmem/records/x", text);
    Snapshot again;
    ASSERT_TRUE(read_recorded(root, "x", again));
    EXPECT_FALSE(again.truncated());
    ASSERT_EQ(again.size(), needed.size());
    for (std::size_t i = 0; i < needed.size(); ++i) {
      EXPECT_EQ(again[i].path, needed[i].path);
      EXPECT_EQ(again[i].text, needed[i].text);
      EXPECT_EQ(again[i].error, needed[i].error);
    }
  }
}

}  // namespace
}  // namespace jetmem
