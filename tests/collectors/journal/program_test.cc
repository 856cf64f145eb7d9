// SPDX-License-Identifier: Apache-2.0
// The real jetmem-journal on real journal files, made by systemd-journal-remote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/process/poll_loop.h"
#include "base/spawn.h"
#include "base/unique_fd.h"
#include "collectors/journal/client.h"
#include "collectors/journal/protocol.h"
#include "tests/temp_dir.h"

namespace jetmem::journal {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string maker() {
  for (const char* path :
       {"/lib/systemd/systemd-journal-remote", "/usr/lib/systemd/systemd-journal-remote"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return {};
}

struct Entry {
  std::string transport;
  std::string message;
  std::vector<std::string> fields{};
};

class JournalProgramTest : public testing::Test {
 protected:
  struct Got {
    PacketHeader header;
    std::string cursor, unit, text;
  };

  void SetUp() override {
    if (maker().empty()) GTEST_SKIP() << "SKIPPED: systemd-journal-remote is not installed";
  }
  void TearDown() override {
    if (child_.pid <= 0) return;
    ::kill(child_.pid, SIGKILL);
    ::waitpid(child_.pid, nullptr, 0);
  }

  // Adds entries to a file of the journal, in the format of `journalctl -o export`.
  void add(const std::vector<Entry>& entries, const std::string& file = "a") {
    const std::string command =
        maker() + " -o " + directory_.file(file) + ".journal - >/dev/null 2>&1";
    FILE* out = ::popen(command.c_str(), "w");
    for (const Entry& entry : entries) {
      ++made_;
      std::string text =
          "__REALTIME_TIMESTAMP=" + std::to_string(1'700'000'000'000'000 + made_) +
          "\n__MONOTONIC_TIMESTAMP=" + std::to_string(1000 + made_) +
          "\n_BOOT_ID=00112233445566778899aabbccddeeff\n_TRANSPORT=" + entry.transport +
          "\nMESSAGE\n";
      const std::uint64_t size = entry.message.size();
      text.append(reinterpret_cast<const char*>(&size), sizeof size);
      text += entry.message + "\n";
      for (const std::string& field : entry.fields) text += field + "\n";
      text += "\n";
      std::fwrite(text.data(), 1, text.size(), out);
    }
    ASSERT_EQ(::pclose(out), 0);
  }

  void start(std::vector<std::string> arguments = {"--processes", "--needle", "pin"}) {
    TearDown();
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    socket_.reset(ends[0]);
    const UniqueFd theirs(ends[1]);
    SpawnRequest request;
    request.argv = {JETMEM_JOURNAL, "--directory", directory_.path()};
    request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
    request.descriptors = {{theirs.get(), 3}};
    SystemSpawner spawner;
    child_ = spawner.spawn(request).value();
  }
  // The next packet, waited for; nothing at the end of the connection or after ten seconds.
  std::optional<Got> next(int milliseconds = 10'000) {
    pollfd ready{socket_.get(), POLLIN, 0};
    if (::poll(&ready, 1, milliseconds) != 1) return std::nullopt;
    char bytes[kMaxPacket];
    const ssize_t n = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (n <= 0) return std::nullopt;
    const Packet packet = parse_packet({bytes, static_cast<std::size_t>(n)}).value();
    return Got{packet.header, std::string(packet.cursor), std::string(packet.unit),
               std::string(packet.text)};
  }
  // The next that is not of the kind kPosition.
  Got next_reported() {
    auto got = next();
    while (got && got->header.kind == PacketKind::kPosition) got = next();
    return got.value();
  }
  // Of the next line, which is of another boot.
  std::string next_line() {
    const Got got = next().value();
    EXPECT_EQ(got.header.flags, PacketHeader::kOtherBoot);
    std::ostringstream out;
    out << (got.header.voice == Voice::kKernel ? "kernel " : "process ") << +got.header.facility
        << '.' << +got.header.priority << " pid " << got.header.pid << " at "
        << got.header.monotonic_us << " by " << got.unit << ": " << got.text;
    return out.str();
  }
  void expect_line(std::string_view text) { EXPECT_EQ(next_reported().text, text); }
  // The texts of all lines up to the first packet of this kind; that packet is last_.
  std::vector<std::string> lines_until(PacketKind kind) {
    std::vector<std::string> texts;
    while (auto got = next()) {
      last_ = *got;
      if (got->header.kind == kind) return texts;
      if (got->header.kind == PacketKind::kLine) texts.push_back(got->text);
    }
    ADD_FAILURE() << "not within ten seconds";
    return texts;
  }
  int exit_status() {
    int status = 0;
    ::waitpid(child_.pid, &status, 0);
    child_ = {};
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TempDir directory_;
  std::uint64_t made_ = 0;
  UniqueFd socket_;
  Child child_;
  Got last_;
};

TEST_F(JournalProgramTest, TheKernelsLinesAndProcessesLinesWithANeedle) {
  add({{"kernel",
        "from the kernel",
        {"PRIORITY=4", "SYSLOG_FACILITY=0", "SYSLOG_IDENTIFIER=kernel",
         "_SOURCE_MONOTONIC_TIMESTAMP=42"}},
       {"stdout", "one pin", {"_COMM=app", "_PID=55", "_SYSTEMD_UNIT=app.service", "PRIORITY=3"}},
       {"stdout", "hay"},
       {"syslog", "two pins", {"SYSLOG_IDENTIFIER=two"}},
       {"audit", "a pin of another transport"},
       {"journal", "my own pin", {"_COMM=jetmemd"}},
       {"journal", "my own pin", {"JETMEM_EVENT_KIND=x"}}});
  start({"--kernel", "--processes", "--needle", "pin", "--needle", "none"});
  EXPECT_EQ(next_line(), "kernel 0.4 pid 0 at 42 by : from the kernel");
  EXPECT_EQ(next_line(), "process 255.3 pid 55 at 1002 by app.service: one pin");
  // Who has no unit is who it calls itself.
  EXPECT_EQ(next_line(), "process 255.255 pid 0 at 1004 by two: two pins");
  EXPECT_THAT(lines_until(PacketKind::kCaughtUp), ElementsAre());
}

TEST_F(JournalProgramTest, NewLinesComeAsTheyAreLogged) {
  add({{"stdout", "pin 1"}});
  start();
  EXPECT_THAT(lines_until(PacketKind::kCaughtUp), ElementsAre("pin 1"));
  add({{"stdout", "hay"}, {"stdout", "pin 2"}});
  expect_line("pin 2");
  // A new file, as after a rotation; and the old one goes.
  add({{"stdout", "pin 3"}}, "b");
  expect_line("pin 3");
  std::filesystem::remove(directory_.file("a.journal"));
  add({{"stdout", "pin 4"}}, "b");
  expect_line("pin 4");
  // Answers, with the place that it has reached.
  ASSERT_EQ(::send(socket_.get(), "?", 1, 0), 1);
  EXPECT_EQ(next()->header.kind, PacketKind::kPosition);
  EXPECT_EQ(next()->header.kind, PacketKind::kAlive);
  // With the last file goes the sight.
  std::filesystem::remove(directory_.file("b.journal"));
  const Got blind = next_reported();
  EXPECT_EQ(blind.header.kind, PacketKind::kBlind);
  EXPECT_THAT(blind.text, HasSubstr("no journal file"));
  EXPECT_EQ(exit_status(), kExitBlind);
}

TEST_F(JournalProgramTest, ItGoesOnBehindACursor) {
  add({{"stdout", "pin 1"}, {"stdout", "pin 2"}, {"stdout", "hay"}});
  start({"--processes", "--needle", "pin", "--no-follow"});
  const std::string behind_first = next()->cursor;
  lines_until(PacketKind::kPosition);
  const std::string behind_all = last_.cursor;
  EXPECT_EQ(next()->header.kind, PacketKind::kCaughtUp);
  EXPECT_EQ(exit_status(), 0);
  start({"--processes", "--after-cursor", behind_first, "--needle", "pin"});
  EXPECT_THAT(lines_until(PacketKind::kCaughtUp), ElementsAre("pin 2"));
  start({"--processes", "--after-cursor", behind_all, "--needle", "pin"});
  EXPECT_THAT(lines_until(PacketKind::kCaughtUp), ElementsAre());
  add({{"stdout", "pin 3"}});
  expect_line("pin 3");
}

// Its entry was vacuumed, or it never was one: the beginning would give old lines again.
TEST_F(JournalProgramTest, ALostPlaceIsReportedAndNothingComesTwice) {
  add({{"stdout", "pin 1"}, {"stdout", "pin 2"}});
  for (const char* cursor :
       {"nonsense",
        "s=0123456789abcdef0123456789abcdef;i=99;b=00112233445566778899aabbccddeeff;"
        "m=1;t=1;x=1"}) {
    start({"--processes", "--after-cursor", cursor, "--needle", "pin"});
    EXPECT_EQ(next()->header.kind, PacketKind::kLost);
    EXPECT_THAT(lines_until(PacketKind::kCaughtUp), ElementsAre());
  }
  add({{"stdout", "pin 3"}});
  expect_line("pin 3");
  // The first line of a voice that had none.
  start({"--kernel", "--after-cursor", "nonsense"});
  EXPECT_EQ(next()->header.kind, PacketKind::kLost);
  EXPECT_THAT(lines_until(PacketKind::kCaughtUp), ElementsAre());
  add({{"kernel", "first"}});
  expect_line("first");
}

TEST_F(JournalProgramTest, MoreThanCanBeLookedAtIsSkippedAndReportedNotEaten) {
  std::vector<Entry> entries(3000, Entry{"stdout", "hay"});
  entries[5].message = "pin early";
  add(entries);
  start({"--processes", "--needle", "pin", "--rate", "100"});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(lines_until(PacketKind::kLost), ElementsAre("pin early"));
  EXPECT_THAT(last_.text, HasSubstr("went on at the tail"));
  EXPECT_GT(std::chrono::steady_clock::now() - begin, seconds(4)) << "it was paced first";
  EXPECT_THAT(lines_until(PacketKind::kCaughtUp), ElementsAre());
  add({{"stdout", "pin late"}});
  expect_line("pin late");
}

TEST_F(JournalProgramTest, LongAndBinaryLinesAreTextLikeOthers) {
  using namespace std::string_literals;
  const std::string lengthy = "pin " + std::string(9000, 'x');
  add({{"stdout", "pin \0 \x1b[31m\n two"s},
       {"stdout", lengthy},
       {"stdout", std::string(9000, 'x') + "pin"}});
  start();
  const auto binary = next();
  EXPECT_EQ(binary->text, "pin \0 \x1b[31m\n two"s);
  const auto cut = next();
  EXPECT_THAT(cut->text, StartsWith("pin xxxx"));
  EXPECT_GT(cut->text.size(), 4000U);
  EXPECT_THAT(lines_until(PacketKind::kCaughtUp), ElementsAre());
}

TEST_F(JournalProgramTest, WithoutAJournalItIsBlindAndSaysWhy) {
  start({"--kernel"});
  EXPECT_EQ(lines_until(PacketKind::kBlind).size(), 0U);
  EXPECT_EQ(last_.text, directory_.path() + ": no journal file that may be read");
  EXPECT_EQ(exit_status(), kExitBlind);
  directory_.write("broken.journal", std::string(100'000, 'x'));
  start({"--kernel"});
  lines_until(PacketKind::kBlind);
  EXPECT_EQ(exit_status(), kExitBlind);
}

// Damage in the middle, as a power cut leaves it, takes lines; it must not take the program, which
// ends with its connection.
TEST_F(JournalProgramTest, ADamagedFileEndsNothing) {
  add({{"stdout", "pin 1"}});
  add(std::vector<Entry>(500, Entry{"stdout", "hay of some length"}), "b");
  const std::string path = directory_.file("b.journal");
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(20'000)
      << std::string(60'000, '\x5a');
  start();
  EXPECT_THAT(lines_until(PacketKind::kCaughtUp), ElementsAre("pin 1"));
  socket_.reset();
  EXPECT_EQ(exit_status(), 0);
}

TEST_F(JournalProgramTest, ArgumentsThatMakeNoSenseAreRefused) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"--needle", "x"},
                                                    {"--kernel", "--what"},
                                                    {"--after-cursor", "x", "--kernel"},
                                                    {"--kernel", "--rate", "0"}}) {
    start(arguments);
    EXPECT_EQ(exit_status(), 64) << testing::PrintToString(arguments);
  }
}

TEST_F(JournalProgramTest, TheClientGoesOnWhereAKilledOneWas) {
  add({{"stdout", "pin 1"}});
  ClientOptions options;
  options.program = JETMEM_JOURNAL;
  options.directory = directory_.path();
  options.needles = {"pin"};
  options.first_pause = std::chrono::milliseconds(10);
  std::vector<std::string> texts;
  SystemSpawner spawner;
  Callbacks callbacks;
  callbacks.line = [&](const kernel_log::LogLine& line) { texts.emplace_back(line.text); };
  const SystemClock clock;
  PollLoop loop;
  Client client(options, clock, spawner, callbacks);
  ASSERT_TRUE(client.attach(loop));
  client.follow(false, true);
  const auto run_until = [&](auto condition) {
    EXPECT_TRUE(loop.run_until(condition, seconds(30)));
  };
  run_until([&] { return client.state().caught_up; });
  ::kill(client.pid(), SIGKILL);
  run_until([&] { return client.counters().restarts == 1; });
  add({{"stdout", "pin 2"}});
  run_until([&] { return texts.size() >= 2; });
  EXPECT_THAT(texts, ElementsAre("pin 1", "pin 2"));
  EXPECT_EQ(client.state(), (State{"", true, true}));
}

}  // namespace
}  // namespace jetmem::journal
