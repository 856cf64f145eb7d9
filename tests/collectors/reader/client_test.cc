#include "collectors/reader/client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <functional>

#include "tests/temp_dir.h"

namespace jetmem::reader {
namespace {

using std::chrono::milliseconds;

// Starts a function of the test in place of jetmem-reader, with the socket it is given.
class FakeSpawner final : public Spawner {
 public:
  explicit FakeSpawner(std::function<void(int)> run) : run_(std::move(run)) {}
  Result<Child> spawn(const SpawnRequest& request) override {
    ++spawned;
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int fd = request.descriptors.at(0).first;
      run_(fd);
      ::_exit(0);
    }
    return Child{pid, open_pidfd(pid)};
  }
  int spawned = 0;

 private:
  std::function<void(int)> run_;
};

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
    return std::make_unique<Client>(
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
  }
  // Runs the client until it has nothing in flight, or for ten seconds.
  static void settle(Client& client) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!client.idle() && std::chrono::steady_clock::now() < end) {
      pollfd ready{client.fd(), POLLIN, 0};
      if (::poll(&ready, 1, 100) > 0) client.dispatch();
    }
  }
  static void settle_wedged(Client& client) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (client.wedged() > 0 && std::chrono::steady_clock::now() < end) {
      pollfd ready{client.fd(), POLLIN, 0};
      ::poll(&ready, 1, 100);
      client.dispatch();
    }
  }
  static Request receive(int fd) {
    Request request;
    const ssize_t n = ::recv(fd, &request, sizeof request, 0);
    if (n != sizeof request) ::_exit(0);
    return request;
  }

  ManualClock clock_;
  std::vector<Answer> answers_;
};

// The real program, on a tree.
TEST_F(ClientTest, TheRealReaderGivesBytesAndErrors) {
  TempDir tree;
  tree.write("proc/pagetypeinfo", "some text\n");
  SystemSpawner spawner;
  ClientOptions options;
  options.program = JETMEM_READER;
  options.root = tree.path();
  auto client = make(spawner, options);
  client->request("pagetypeinfo");
  settle(*client);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0].ok) << answers_[0].text;
  EXPECT_EQ(answers_[0].text, "some text\n");
  client->request("no such source");
  settle(*client);
  EXPECT_EQ(answers_.back().text,
            "jetmem-reader is of another version: it has no such source");
  EXPECT_EQ(client->counters().starts, 1U) << "one reader serves all requests";
}

TEST_F(ClientTest, AnAnswerMayComeInManyPackets) {
  TempDir tree;
  const std::string large(200'000, 'x');
  tree.write("proc/pagetypeinfo", large);
  SystemSpawner spawner;
  ClientOptions options;
  options.program = JETMEM_READER;
  options.root = tree.path();
  auto client = make(spawner, options);
  client->request("pagetypeinfo");
  settle(*client);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].text, large);
}

TEST_F(ClientTest, AReaderKilledBetweenRequestsIsReplacedWithoutAWord) {
  TempDir tree;
  tree.write("proc/pagetypeinfo", "text");
  SystemSpawner spawner;
  ClientOptions options;
  options.program = JETMEM_READER;
  options.root = tree.path();
  auto client = make(spawner, options);
  client->request("pagetypeinfo");
  settle(*client);
  ::kill(client->pid(), SIGKILL);
  ::usleep(50'000);
  client->request("pagetypeinfo");
  settle(*client);
  client->request("pagetypeinfo");
  settle(*client);
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
  // Hangs on thermal, answers everything else.
  FakeSpawner spawner([](int fd) {
    for (;;) {
      const Request request = receive(fd);
      if (std::string_view(request.source) == "thermal") ::pause();
      AnswerHeader header;
      header.sequence = request.sequence;
      header.flags = AnswerHeader::kLast;
      ::send(fd, &header, sizeof header, 0);
    }
  });
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
  EXPECT_EQ(spawner.spawned, 2);
  settle_wedged(*client);
  EXPECT_EQ(client->wedged(), 0U) << "killed, gone and reaped";

  // Not asked again before the pause is over, which doubles each time.
  client->request("thermal");
  EXPECT_EQ(answers_.back().text,
            "in quarantine after a read that did not return; next try in 1m1s");
  EXPECT_EQ(spawner.spawned, 2);
  clock_.advance(std::chrono::seconds(61));
  client->request("thermal");
  settle(*client);
  EXPECT_EQ(answers_.back().text, "no answer within 100ms");
  settle_wedged(*client);
  client->request("thermal");
  EXPECT_EQ(answers_.back().text,
            "in quarantine after a read that did not return; next try in 2m1s");
  EXPECT_EQ(client->counters().timeouts, 2U);
}

TEST_F(ClientTest, ADyingReaderIsAnErrorOfThatRequestAlone) {
  FakeSpawner spawner([](int fd) {
    receive(fd);
    ::raise(SIGSEGV);
  });
  auto client = make(spawner);
  client->request("cma");
  settle(*client);
  EXPECT_EQ(answers_.back().text, "jetmem-reader was killed by signal 11");
  client->request("cma");
  settle(*client);
  EXPECT_EQ(spawner.spawned, 2);
  EXPECT_EQ(client->counters().failures, 2U);
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
    client->request("cma");
    settle(*client);
    EXPECT_EQ(answers_.back().text, "jetmem-reader talked nonsense");
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
  client->request("cma");
  settle(*client);
  EXPECT_EQ(answers_.back().text, "reader: record longer than its answer");
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
