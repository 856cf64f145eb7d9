// SPDX-License-Identifier: Apache-2.0
#include "collectors/reader/client.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <functional>

#include "base/process/poll_loop.h"
#include "tests/fork_spawner.h"
#include "tests/temp_dir.h"
#include "tests/unix_socket.h"

namespace jetmem::reader {
namespace {

using std::chrono::milliseconds;

// Stands for jetmem-reader: says hello, then runs a function of the test.
class FakeSpawner final : public ForkSpawner {
 public:
  explicit FakeSpawner(const std::function<void(int)>& run, milliseconds hello_after = {})
      : ForkSpawner([run, hello_after](int fd) {
          ::usleep(static_cast<useconds_t>(hello_after.count()) * 1000);
          AnswerHeader hello;
          hello.flags = AnswerHeader::kLast;
          ::send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
          run(fd);
        }) {}
};

// Answers each request with one empty packet.
void answer_all(int fd);

class ClientTest : public testing::Test {
 protected:
  struct Answer {
    std::string source;
    std::string text;  // or the error's message
    Errc code = Errc::kIo;
    bool ok = false;
  };

  std::unique_ptr<Client> make(Spawner& spawner, ClientOptions options = {}) {
    if (options.program.empty()) options.program = "fake";
    auto client = std::make_unique<Client>(
        options, clock_, spawner,
        [this](std::string_view source, Result<const Snapshot*> snapshot, Nanoseconds) {
          Answer answer{std::string(source), {}, {}, snapshot.has_value()};
          if (snapshot) {
            for (std::size_t i = 0; i < (*snapshot)->size(); ++i) {
              answer.text += (**snapshot)[i].text;
            }
          } else {
            answer.text = snapshot.error().message;
            answer.code = snapshot.error().code;
          }
          answers_.push_back(answer);
        });
    EXPECT_TRUE(client->attach(loop_));
    return client;
  }
  // Runs the client until it has nothing in flight, or for ten seconds.
  void settle(Client& client) {
    loop_.run_until([&] { return client.idle(); }, std::chrono::seconds(10));
  }
  // The real program, on a tree.
  std::unique_ptr<Client> make_real(const TempDir& tree) {
    ClientOptions options;
    options.program = JETMEM_READER;
    options.root = tree.path();
    return make(system_, options);
  }
  // The answer to one request.
  const Answer& ask(Client& client, std::string_view source) {
    client.request(source);
    settle(client);
    EXPECT_FALSE(answers_.empty());
    return answers_.back();
  }
  // Gives readers that were killed the time to be gone.
  void settle_dying() {
    loop_.run_until([] { return false; }, milliseconds(100));
  }
  static Request receive(int fd) {
    Request request;
    const ssize_t n = ::recv(fd, &request, sizeof request, 0);
    if (n != sizeof request) ::_exit(0);
    return request;
  }

  // Time stands still unless a test moves it; deadlines run by themselves.
  ManualClock clock_;
  PollLoop loop_;
  SystemSpawner system_;
  std::vector<Answer> answers_;
};

// Hangs where it is asked for `hangs`, answers everything else.
void answer_all_but(int fd, std::string_view hangs) {
  for (;;) {
    Request request;
    if (::recv(fd, &request, sizeof request, 0) != sizeof request) ::_exit(0);
    if (std::string_view(request.source) == hangs) ::pause();
    AnswerHeader header;
    header.sequence = request.sequence;
    header.flags = AnswerHeader::kLast;
    ::send(fd, &header, sizeof header, MSG_NOSIGNAL);
  }
}
void answer_all(int fd) { answer_all_but(fd, "nothing"); }
void hang_on_thermal(int fd) { answer_all_but(fd, "thermal"); }

TEST_F(ClientTest, TheRealReaderGivesBytesAndErrors) {
  TempDir tree;
  tree.write("proc/pagetypeinfo", "some text\n");
  auto client = make_real(tree);
  EXPECT_EQ(ask(*client, "pagetypeinfo").text, "some text\n");
  EXPECT_EQ(ask(*client, "no such source").text,
            "jetmem-reader is of another version: it has no such source");
  EXPECT_EQ(client->counters().starts, 1U) << "one reader serves all requests";
}

TEST_F(ClientTest, AnAnswerMayComeInManyPackets) {
  TempDir tree;
  const std::string large(200'000, 'x');
  tree.write("proc/pagetypeinfo", large);
  auto client = make_real(tree);
  ask(*client, "pagetypeinfo");
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].text, large);
}

TEST_F(ClientTest, AReaderKilledBetweenRequestsIsReplacedWithoutAWord) {
  TempDir tree;
  tree.write("proc/pagetypeinfo", "text");
  auto client = make_real(tree);
  ask(*client, "pagetypeinfo");
  ::kill(client->pid(), SIGKILL);
  siginfo_t end;
  ::waitid(P_PID, static_cast<id_t>(client->pid()), &end, WEXITED | WNOWAIT);
  ask(*client, "pagetypeinfo");
  ask(*client, "pagetypeinfo");
  EXPECT_TRUE(answers_.back().ok) << answers_.back().text;
  EXPECT_EQ(client->counters().starts, 2U);
}

TEST_F(ClientTest, ProgramThatCannotBeExecuted) {
  SystemSpawner spawner;
  ClientOptions options;
  options.program = "/nonexistent/jetmem-reader";
  auto client = make(spawner, options);
  client->request("cma");
  client->request("thermal");
  ASSERT_EQ(answers_.size(), 2U) << "each accepted request is answered";
  EXPECT_EQ(answers_[0].code, Errc::kUnavailable);
  EXPECT_EQ(answers_[0].text,
            "no reader: start /nonexistent/jetmem-reader: No such file or directory");
}

TEST_F(ClientTest, AHangingReadIsGivenUpAndItsSourceQuarantined) {
  FakeSpawner spawner(hang_on_thermal);
  ClientOptions options;
  options.deadline = milliseconds(100);
  auto client = make(spawner, options);
  client->request("thermal");
  client->request("cma");
  client->request("cma");  // already waiting: not queued twice
  settle(*client);
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[0].source, "thermal");
  EXPECT_EQ(answers_[0].code, Errc::kTimeout);
  EXPECT_EQ(answers_[0].text, "no answer within 100ms");
  EXPECT_TRUE(answers_[1].ok) << "a new reader serves the rest: " << answers_[1].text;
  EXPECT_EQ(spawner.argv.size(), 2U);
  settle_dying();
  EXPECT_EQ(client->wedged(), 0U) << "killed, gone and reaped";

  // Not asked again before the pause is over, which doubles each time.
  client->request("thermal");
  EXPECT_EQ(answers_.back().text,
            "in quarantine after a read that did not return; next try in 1m1s");
  EXPECT_EQ(spawner.argv.size(), 2U);
  clock_.advance(std::chrono::seconds(61));
  EXPECT_EQ(ask(*client, "thermal").text, "no answer within 100ms");
  settle_dying();
  client->request("thermal");
  EXPECT_NE(answers_.back().text.find("2m1s"), std::string::npos);
  EXPECT_EQ(client->counters().timeouts, 2U);
}

TEST_F(ClientTest, WhatCanSpareIsReadInPartDuringItsQuarantine) {
  bool helps = true;
  FakeSpawner spawner([&](int fd) {
    for (;;) {
      const Request request = receive(fd);
      if (request.is_sparing == 0 || !helps) ::pause();
      AnswerHeader header;
      header.sequence = request.sequence;
      header.flags = AnswerHeader::kLast;
      ::send(fd, &header, sizeof header, MSG_NOSIGNAL);
    }
  });
  ClientOptions options;
  options.deadline = milliseconds(100);
  auto client = make(spawner, options);
  EXPECT_EQ(ask(*client, "dmabuf").text, "no answer within 100ms");
  settle_dying();
  EXPECT_TRUE(ask(*client, "dmabuf").ok);
  EXPECT_EQ(client->read_in_part(), "dmabuf");
  clock_.advance(std::chrono::minutes(9));
  EXPECT_TRUE(ask(*client, "dmabuf").ok);
  clock_.advance(std::chrono::seconds(61));
  EXPECT_EQ(ask(*client, "dmabuf").text, "no answer within 100ms") << "a whole one is tried again";
  settle_dying();
  clock_.advance(std::chrono::minutes(19));
  EXPECT_TRUE(ask(*client, "dmabuf").ok) << "and not before 20 minutes";
  clock_.advance(std::chrono::seconds(61));
  EXPECT_EQ(ask(*client, "dmabuf").text, "no answer within 100ms");
  settle_dying();

  // A reading in part that hangs is tried again after a minute, whatever the whole one's pause.
  helps = false;
  EXPECT_EQ(ask(*client, "dmabuf").text, "no answer within 100ms") << "the one in part";
  settle_dying();
  client->request("dmabuf");
  EXPECT_EQ(answers_.back().text,
            "in quarantine after a read that did not return; next try in 1m1s");
  helps = true;
  clock_.advance(std::chrono::seconds(61));
  EXPECT_TRUE(ask(*client, "dmabuf").ok);
  EXPECT_EQ(client->counters().timeouts, 4U);

  options.in_part = {"dmabuf"};
  EXPECT_TRUE(ask(*make(spawner, options), "dmabuf").ok) << "as somebody else's hung";
}

// With one allowed, the next waits for word of the one that was killed: it was only dying, so the
// other source is served after all.
TEST_F(ClientTest, ADyingReaderIsWaitedForBeforeItCountsAsWedged) {
  FakeSpawner spawner(hang_on_thermal);
  ClientOptions options;
  options.deadline = milliseconds(100);
  options.max_wedged = 1;
  auto client = make(spawner, options);
  client->request("thermal");
  ask(*client, "cma");
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[0].code, Errc::kTimeout);
  EXPECT_TRUE(answers_[1].ok) << answers_[1].text;
}

TEST_F(ClientTest, ADyingReaderIsAnErrorOfThatRequestAlone) {
  FakeSpawner spawner([](int fd) {
    receive(fd);
    ::raise(SIGKILL);
  });
  auto client = make(spawner);
  EXPECT_EQ(ask(*client, "cma").text, "jetmem-reader was killed by signal 9");
  ask(*client, "cma");
  EXPECT_EQ(spawner.argv.size(), 2U);
  EXPECT_EQ(client->counters().failures, 2U);
}

// It closed its socket and lives on: a wrapper script, a debugger. Nobody waits for it.
TEST_F(ClientTest, AReaderThatEndsItsConnectionButNotItselfIsKilled) {
  FakeSpawner spawner([](int fd) {
    receive(fd);
    ::close(fd);
    for (int other = 3; other < 256; ++other) ::close(other);
    ::pause();
  });
  auto client = make(spawner);
  const auto begin = std::chrono::steady_clock::now();
  ask(*client, "cma");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(answers_.back().text, "jetmem-reader ended without an answer");
  settle_dying();
  EXPECT_EQ(client->wedged(), 0U);
}

// Systemd's reader ends itself at the deadline, so the end of the connection comes first.
TEST_F(ClientTest, AReaderEndingAtItsDeadlineIsATimeout) {
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  FakeSpawner spawner([&](int fd) {
    receive(fd);
    ::close(gate[1]);
    char byte = 0;
    const ssize_t end = ::read(gate[0], &byte, 1);  // until the test closes its end
    (void)end;
  });
  ClientOptions options;
  options.deadline = std::chrono::seconds(10);
  auto client = make(spawner, options);
  client->request("thermal");
  ASSERT_TRUE(loop_.run_once(std::chrono::seconds(30)));  // its hello
  EXPECT_TRUE(answers_.empty());
  clock_.advance(std::chrono::seconds(10));
  ::close(gate[1]);
  settle(*client);
  ::close(gate[0]);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].code, Errc::kTimeout) << answers_[0].text;
  EXPECT_EQ(client->counters().timeouts, 1U);
  settle_dying();
  client->request("thermal");
  EXPECT_NE(answers_.back().text.find("1m1s"), std::string::npos);
}

TEST_F(ClientTest, AReaderSlowToStartIsNoFaultOfTheSource) {
  FakeSpawner spawner(answer_all, milliseconds(900));
  ClientOptions options;
  options.deadline = milliseconds(100);
  auto client = make(spawner, options);
  EXPECT_TRUE(ask(*client, "thermal").ok) << answers_[0].text;
  EXPECT_EQ(client->counters().timeouts, 0U);
}

// The daemon itself did not get to run for longer than the deadline.
TEST_F(ClientTest, AnAnswerThatIsThereCountsHoweverLateItIsLookedAt) {
  FakeSpawner spawner(answer_all);
  ClientOptions options;
  options.deadline = milliseconds(100);
  auto client = make(spawner, options);
  client->request("thermal");
  ::usleep(900'000);
  loop_.run_once(Nanoseconds(0));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0].ok) << answers_[0].text;
}

TEST_F(ClientTest, WithoutItsSocketASpawnedReaderStandsInAndSaysSo) {
  TempDir directory;
  FakeSpawner spawner(answer_all);
  ClientOptions options;
  options.socket = directory.file("socket");
  auto client = make(spawner, options);
  ask(*client, "cma");
  EXPECT_EQ(client->kind(), ReaderKind::kSpawned);
  EXPECT_EQ(client->fallback_reason(),
            "connect to " + options.socket + ": No such file or directory");

  // The socket appears: it is found within a minute, and the stand-in dismissed.
  const UniqueFd listener = unix_listener(options.socket, SOCK_SEQPACKET);
  ask(*client, "cma");
  EXPECT_EQ(client->kind(), ReaderKind::kSpawned) << "not asked for at each request";
  clock_.advance(std::chrono::seconds(61));
  const pid_t server = ::fork();
  if (server == 0) {
    const int fd = ::accept(listener.get(), nullptr, nullptr);
    answer_all(fd);
  }
  ask(*client, "cma");
  EXPECT_TRUE(answers_.back().ok) << answers_.back().text;
  EXPECT_EQ(client->kind(), ReaderKind::kSocket);
  EXPECT_EQ(client->fallback_reason(), "");
  EXPECT_EQ(client->pid(), server) << "as the kernel vouches for it";
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
}

// Systemd accepts, and its unit fails to start: the sources must not go blind for it.
TEST_F(ClientTest, ASocketWithoutAReaderBehindItIsNoReader) {
  TempDir directory;
  FakeSpawner spawner(answer_all);
  ClientOptions options;
  options.socket = directory.file("socket");
  const UniqueFd listener = unix_listener(options.socket, SOCK_SEQPACKET);
  const pid_t server = ::fork();
  if (server == 0) {
    for (;;) ::close(::accept(listener.get(), nullptr, nullptr));
  }
  auto client = make(spawner, options);
  client->request("cma");
  ask(*client, "thermal");
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_TRUE(answers_[0].ok) << answers_[0].text;
  EXPECT_TRUE(answers_[1].ok) << answers_[1].text;
  EXPECT_EQ(client->kind(), ReaderKind::kSpawned);
  EXPECT_EQ(client->fallback_reason().substr(0, 18), "the reader behind ");
  EXPECT_EQ(spawner.argv.size(), 1U);
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
}

TEST_F(ClientTest, NonsenseIsRefused) {
  const std::vector<std::string> packets{
      "x",
      std::string(sizeof(AnswerHeader), '\0'),
  };
  for (const std::string& packet : packets) {
    FakeSpawner spawner([&](int fd) {
      receive(fd);
      ::send(fd, packet.data(), packet.size(), 0);
      ::pause();
    });
    auto client = make(spawner);
    ask(*client, "cma");
    EXPECT_EQ(answers_.back().text, "protocol error of jetmem-reader");
  }
  FakeSpawner cut([](int fd) {
    const Request request = receive(fd);
    struct {
      AnswerHeader header;
      RecordHeader record;
    } answer;
    answer.header.sequence = request.sequence;
    answer.header.flags = AnswerHeader::kLast;
    answer.record = {4'000'000'000U, 4'000'000'000U, 0};
    ::send(fd, &answer, sizeof answer, 0);
    ::pause();
  });
  auto client = make(cut);
  EXPECT_EQ(ask(*client, "cma").text, "reader: record longer than its answer");
}

// It would keep the loop for as long as it sends.
TEST_F(ClientTest, PacketsWithoutEndAreCutOff) {
  for (const bool is_asked_for : {false, true}) {
    FakeSpawner spawner([&](int fd) {
      AnswerHeader header;
      header.sequence = receive(fd).sequence - (is_asked_for ? 0 : 1);
      for (int i = 0; i < 1'000'000; ++i) {
        if (::send(fd, &header, sizeof header, MSG_NOSIGNAL) < 0) return;
      }
    });
    auto client = make(spawner);
    EXPECT_EQ(ask(*client, "cma").text, "protocol error of jetmem-reader");
  }
}

TEST(Protocol, WhatIsEncodedDecodes) {
  Snapshot snapshot;
  snapshot.add("/a", "text", 0);
  snapshot.add("/b", "", 13);
  snapshot.add("/c", std::string(1000, '\0'), 0);
  ByteBuffer stream;
  encode(snapshot, stream);
  Snapshot back;
  ASSERT_TRUE(decode(stream.view(), back));
  ASSERT_EQ(back.size(), 3U);
  EXPECT_EQ(back[0].text, "text");
  EXPECT_EQ(back[1].error, 13);
  EXPECT_EQ(back[2].text.size(), 1000U);
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    Snapshot ignored;
    const auto ok = decode(stream.view().substr(0, cut), ignored);
    // A cut at a record's end is a shorter stream; anywhere else it is an error.
    EXPECT_TRUE(!ok || ignored.size() < 3U) << cut;
  }
}

}  // namespace
}  // namespace jetmem::reader
