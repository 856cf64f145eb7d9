// SPDX-License-Identifier: Apache-2.0
#include "collectors/journal/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "base/process/poll_loop.h"
#include "collectors/journal/protocol.h"
#include "tests/fork_spawner.h"

namespace jetmem::journal {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
// Stands for jetmem-journal.
using FakeProgram = ForkSpawner;

void send_packet(int fd, const Packet& packet) {
  std::string bytes;
  write_packet(packet, bytes);
  ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

Packet packet_of(PacketKind kind, std::string_view text = {}, Voice voice = Voice::kProcesses) {
  Packet packet;
  packet.header.kind = kind;
  packet.header.voice = voice;
  packet.text = text;
  return packet;
}

// Answers pings until the connection ends.
void answer_pings(int fd) {
  char byte = 0;
  while (::recv(fd, &byte, 1, 0) == 1) send_packet(fd, packet_of(PacketKind::kAlive));
  ::_exit(0);
}

class JournalClientTest : public testing::Test {
 protected:
  ClientOptions options() const {
    ClientOptions options;
    options.program = "fake";
    options.needles = {"needle"};
    options.first_pause = milliseconds(20);
    options.longest_pause = milliseconds(80);
    options.ping_interval = milliseconds(50);
    options.timeout = milliseconds(500);
    return options;
  }
  void start(Spawner& spawner, ClientOptions options, bool kernel = false) {
    Callbacks callbacks;
    callbacks.line = [this](const kernel_log::LogLine& line) {
      texts_.emplace_back(line.text);
      lines_.push_back(line);
    };
    callbacks.state = [this](const State& state) { states_.push_back(state); };
    callbacks.lost = [this](const Lost& lost) {
      lost_.push_back(std::string(lost.why) + " " + std::to_string(lost.count.value_or(0)));
    };
    client_ = std::make_unique<Client>(std::move(options), clock_, spawner, std::move(callbacks));
    ASSERT_TRUE(client_->attach(loop_));
    client_->follow(kernel, true);
  }
  // Runs the client until the condition holds, or for 30 seconds.
  testing::AssertionResult run_until(const std::function<bool()>& condition) {
    if (loop_.run_until(condition, std::chrono::seconds(30))) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "never";
  }
  void run_for(milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    ASSERT_TRUE(run_until([&] { return std::chrono::steady_clock::now() > end; }));
  }
  bool was_blind(std::string_view why) const {
    return std::any_of(states_.begin(), states_.end(),
                       [&](const State& state) { return state.blind == why; });
  }

  SystemClock clock_;
  PollLoop loop_;
  std::unique_ptr<Client> client_;
  std::vector<std::string> texts_;
  std::vector<State> states_;
  std::vector<std::string> lost_;
  std::vector<kernel_log::LogLine> lines_;  // their views are over
};

TEST_F(JournalClientTest, LinesComeWithAllThatIsKnownOfThem) {
  FakeProgram program([](int fd) {
    Packet line = packet_of(PacketKind::kLine, "an old needle");
    line.header.priority = 3;
    line.header.facility = 1;
    line.header.pid = 77;
    line.header.monotonic_us = 5;
    line.cursor = "c1";
    line.unit = "a.service";
    send_packet(fd, line);
    send_packet(fd, packet_of(PacketKind::kCaughtUp));
    Packet bare = packet_of(PacketKind::kLine, "a new needle", Voice::kKernel);
    bare.header.flags = PacketHeader::kOtherBoot;
    send_packet(fd, bare);
    Packet kernel = packet_of(PacketKind::kLine, "a kernel's", Voice::kKernel);
    kernel.header.priority = 4;
    kernel.header.facility = 0;
    send_packet(fd, kernel);
    answer_pings(fd);
  });
  start(program, options());
  ASSERT_TRUE(run_until([&] { return texts_.size() == 3; }));
  EXPECT_THAT(texts_, ElementsAre("an old needle", "a new needle", "a kernel's"));
  EXPECT_TRUE(lines_[0].from_before && lines_[0].late);
  EXPECT_FALSE(lines_[1].from_before || lines_[1].late || lines_[2].from_before);
  EXPECT_EQ(lines_[0].voice, kernel_log::Voice::kProcess);
  EXPECT_EQ(lines_[0].level, std::nullopt);
  EXPECT_EQ(lines_[0].pid, 77U);
  EXPECT_EQ(lines_[0].stamp, std::chrono::microseconds(5));
  EXPECT_EQ(lines_[1].voice, kernel_log::Voice::kForeign) << "without a facility";
  EXPECT_EQ(lines_[1].level, std::nullopt);
  EXPECT_EQ(lines_[1].stamp, std::nullopt) << "of another clock";
  EXPECT_EQ(lines_[2].voice, kernel_log::Voice::kKernel);
  EXPECT_EQ(lines_[2].level, 4);
  EXPECT_THAT(states_, ElementsAre(State{"", false, true}, State{"", true, true}));
  EXPECT_EQ(client_->counters().lines, 3U);
  EXPECT_EQ(client_->cursor(Voice::kProcesses), "c1");
  EXPECT_THAT(program.argv[0], ElementsAre("fake", "--processes", "--needle", "needle"));
}

TEST_F(JournalClientTest, ItIsStartedAnewFromWhereItWas) {
  FakeProgram program([](int fd) {
    Packet position = packet_of(PacketKind::kPosition);
    position.cursor = "p9";
    send_packet(fd, position);
    Packet kernel = packet_of(PacketKind::kLine, "k", Voice::kKernel);
    kernel.cursor = "k3";
    send_packet(fd, kernel);
    send_packet(fd, packet_of(PacketKind::kCaughtUp));
    ::raise(SIGKILL);
  });
  ClientOptions both = options();
  both.cursors = {"k0", "p0"};
  start(program, both, true);
  ASSERT_TRUE(run_until([&] { return client_->counters().starts == 4; }));
  EXPECT_THAT(program.argv[0],
              ElementsAre("fake", "--kernel", "--after-cursor", "k0", "--processes",
                          "--after-cursor", "p0", "--needle", "needle"));
  EXPECT_THAT(program.argv[1],
              ElementsAre("fake", "--kernel", "--after-cursor", "k3", "--processes",
                          "--after-cursor", "p9", "--needle", "needle"));
  EXPECT_TRUE(was_blind("jetmem-journal was killed by signal 9"));
  EXPECT_EQ(client_->counters().restarts, 3U);
  EXPECT_TRUE(client_->state().caught_up) << "once for all";
  EXPECT_FALSE(lines_.back().from_before);
  EXPECT_TRUE(lines_.back().late) << "it came while no program ran";
}

TEST_F(JournalClientTest, OneThatIsBlindSaysWhyAndIsTriedAgain) {
  FakeProgram program([](int fd) {
    send_packet(fd, packet_of(PacketKind::kBlind, "no journal"));
    ::_exit(kExitBlind);
  });
  start(program, options());
  ASSERT_TRUE(run_until([&] { return client_->counters().restarts == 2; }));
  EXPECT_THAT(states_, ElementsAre(State{"no journal", false, false})) << "said once";
}

TEST_F(JournalClientTest, WhatCannotBeStartedIsTriedAgain) {
  SystemSpawner spawner;
  ClientOptions missing = options();
  missing.program = "/nonexistent/jetmem-journal";
  start(spawner, missing);
  EXPECT_EQ(client_->state().blind, "start /nonexistent/jetmem-journal: No such file or directory");
  missing.program.clear();
  start(spawner, missing);
  EXPECT_EQ(client_->state().blind, "jetmem-journal is not installed");
  EXPECT_EQ(client_->counters().starts, 0U);
}

TEST_F(JournalClientTest, OneThatDoesNotAnswerIsReplaced) {
  FakeProgram program([](int fd) {
    send_packet(fd, packet_of(PacketKind::kCaughtUp));
    ::pause();
  });
  start(program, options());
  ASSERT_TRUE(run_until([&] { return client_->counters().restarts == 1; }));
  EXPECT_EQ(client_->counters().silent, 1U);
  EXPECT_TRUE(was_blind("jetmem-journal did not answer"));
  EXPECT_EQ(client_->wedged(), 0U) << "killed and gone";
}

// Lines are an answer, too.
TEST_F(JournalClientTest, OneThatAnswersIsLeftAlone) {
  FakeProgram answering([](int fd) { answer_pings(fd); });
  start(answering, options());
  run_for(milliseconds(800));
  EXPECT_EQ(client_->counters().starts, 1U);
  EXPECT_THAT(states_, ElementsAre(State{"", false, true}));
  FakeProgram printing([](int fd) {
    for (;;) {
      send_packet(fd, packet_of(PacketKind::kLine, "x"));
      ::usleep(20'000);
    }
  });
  start(printing, options());
  run_for(milliseconds(800));
  EXPECT_EQ(client_->counters().starts, 1U);
}

TEST_F(JournalClientTest, ADispatchHandlesABoundedNumber) {
  FakeProgram program([](int fd) {
    for (;;) send_packet(fd, packet_of(PacketKind::kLine, "x"));
  });
  start(program, options());
  ::usleep(100'000);
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t before = client_->counters().lines;
    loop_.run_once(Nanoseconds(0));
    EXPECT_LE(client_->counters().lines - before, 256U);
  }
}

TEST_F(JournalClientTest, LossesAreReportedAndCounted) {
  FakeProgram program([](int fd) {
    Packet counted = packet_of(PacketKind::kLost, "bad\nentries");
    counted.header.count = 12;
    send_packet(fd, counted);
    send_packet(fd, packet_of(PacketKind::kLost, "too many"));
    answer_pings(fd);
  });
  start(program, options());
  ASSERT_TRUE(run_until([&] { return lost_.size() == 2; }));
  EXPECT_THAT(lost_, ElementsAre("bad?entries 12", "too many 0"));
  EXPECT_EQ(client_->counters().lost, 2U);
}

TEST_F(JournalClientTest, NonsenseIsRefused) {
  for (const std::string& packet : {std::string("x"), std::string(sizeof(PacketHeader), '\0'),
                                    std::string(kMaxPacket + 1, 'x')}) {
    FakeProgram program([&](int fd) {
      ::send(fd, packet.data(), packet.size(), 0);
      ::pause();
    });
    start(program, options());
    ASSERT_TRUE(run_until([&] { return was_blind("protocol error of jetmem-journal"); }));
    states_.clear();
  }
}

TEST(JournalPacket, WhatIsWrittenIsParsedAndWhatIsTooLongCut) {
  const auto packet_with = [](std::string_view text, std::string_view cursor,
                              std::string_view unit) {
    Packet packet = packet_of(PacketKind::kLine, text);
    packet.cursor = cursor;
    packet.unit = unit;
    std::string bytes;
    write_packet(packet, bytes);
    return bytes;
  };
  const std::string bytes = packet_with("text", "cursor", "unit");
  const auto back = parse_packet(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->cursor, "cursor");
  EXPECT_EQ(back->unit, "unit");
  EXPECT_EQ(back->text, "text");
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(parse_packet(std::string_view(bytes).substr(0, cut)));
  }
  EXPECT_FALSE(parse_packet(bytes + "x"));
  const std::string lengthy(10'000, 'x');
  const std::string large = packet_with(lengthy, lengthy, lengthy);
  const auto shortened = parse_packet(large);
  ASSERT_TRUE(shortened);
  EXPECT_EQ(shortened->text.size(), kMaxText);
  EXPECT_EQ(shortened->cursor, "") << "a cut cursor leads nowhere";
  EXPECT_EQ(shortened->unit.size(), kMaxName);
}

}  // namespace
}  // namespace jetmem::journal
