// SPDX-License-Identifier: Apache-2.0
// A log is of the same format however it comes through a pipe.
#include "cli/decode/log_format.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::Soc;
using kernel_log::TextLog;

std::uint64_t events_of(std::string_view text, std::size_t piece) {
  const auto log = std::make_unique<TextLog>(Soc::kTegra234, [](const Event&, std::string_view) {});
  LogFormat format(*log);
  while (!text.empty()) {
    EXPECT_TRUE(format.feed(text.substr(0, piece)));
    text.remove_prefix(std::min(piece, text.size()));
  }
  EXPECT_TRUE(format.finish());
  return log->counts().events;
}

// As a Windows editor saves what journalctl wrote: its first line says nothing of the format.
TEST(LogFormat, LeadingNoise) {
  std::string bytes;
  for (const char c :
       std::string_view("Out of memory: Killed process 7012 (my_app) total-vm:200kB")) {
    bytes += (bytes.empty() ? "" : ",") + std::to_string(static_cast<int>(c));
  }
  const std::string log =
      "\xef\xbb\xbf-- Journal begins at Fri 2026-11-20 02:11:47 UTC. --\n"
      "{\"_TRANSPORT\":\"kernel\",\"SYSLOG_FACILITY\":\"0\",\"MESSAGE\":[" +
      bytes + "]}\n";
  EXPECT_EQ(events_of(log, log.size()), 1U);
  for (std::size_t piece = 1; piece < 60; ++piece) EXPECT_EQ(events_of(log, piece), 1U) << piece;
}

TEST(LogFormat, CarriageReturnInTheFirstLine) {
  constexpr std::string_view kLog =
      "Fri 2026-11-20 02:11:47.123456 UTC [s=1;i=2\r;b=3;m=4;t=5;x=6]\n"
      "    _TRANSPORT=kernel\n    SYSLOG_FACILITY=0\n"
      "    MESSAGE=Out of memory: Killed process 7012 (my_app) total-vm:200kB, anon-rss:100kB, "
      "file-rss:1kB, shmem-rss:0kB, UID:1000 pgtables:40kB oom_score_adj:0\n";
  EXPECT_EQ(events_of(kLog, kLog.size()), 1U);
  for (std::size_t piece = 1; piece < 60; ++piece) EXPECT_EQ(events_of(kLog, piece), 1U) << piece;
}

}  // namespace
}  // namespace jetmem
