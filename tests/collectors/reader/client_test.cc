// SPDX-License-Identifier: Apache-2.0
#include "collectors/reader/client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/process/poll_loop.h"
#include "collectors/reader/server.h"
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

Request receive(int fd) {
  Request request;
  if (::recv(fd, &request, sizeof request, 0) != sizeof request) ::_exit(0);
  return request;
}
// Answers with one empty packet whatever it does not hang on.
void answer_all_but(int fd, const std::function<bool(const Request&)>& hangs) {
  for (;;) {
    const Request request = receive(fd);
    if (hangs(request)) ::pause();
    AnswerHeader header;
    header.sequence = request.sequence;
    header.flags = AnswerHeader::kLast;
    ::send(fd, &header, sizeof header, MSG_NOSIGNAL);
  }
}
void answer_all(int fd) {
  answer_all_but(fd, [](const Request&) { return false; });
}
void hang_on_thermal(int fd) {
  answer_all_but(
      fd, [](const Request& request) { return std::string_view(request.source) == "thermal"; });
}

class ClientTest : public testing::Test {
 protected:
  struct Answer {
    std::string source;
    std::string text;  // or the error's message
    Errc code = Errc::kIo;
    bool ok = false;
    std::string path;  // of the only file
    int file_error = 0;
  };

  std::unique_ptr<Client> make(Spawner& spawner, ClientOptions options = {}) {
    if (options.program.empty()) options.program = "fake";
    auto client = std::make_unique<Client>(
        options, clock_, spawner,
        [this](std::string_view source, Result<const Snapshot*> snapshot, Nanoseconds) {
          Answer answer;
          answer.source = source;
          answer.ok = snapshot.has_value();
          for (std::size_t i = 0; snapshot && i < (*snapshot)->size(); ++i) {
            answer.text += (**snapshot)[i].text;
          }
          if (snapshot && (*snapshot)->size() == 1) {
            answer.path = (**snapshot)[0].path;
            answer.file_error = (**snapshot)[0].error;
          }
          if (!snapshot) answer.text = snapshot.error().message;
          if (!snapshot) answer.code = snapshot.error().code;
          answers_.push_back(answer);
          answered();
        });
    EXPECT_TRUE(client->attach(loop_));
    return client;
  }
  virtual void answered() {}
  // Runs the client until it has nothing in flight, or for ten seconds.
  void settle(Client& client) {
    EXPECT_TRUE(loop_.run_until([&] { return client.idle(); }, std::chrono::seconds(10)));
  }
  // The real program, on a tree with this file.
  std::unique_ptr<Client> make_real(std::string_view pagetypeinfo) {
    tree_.write("proc/pagetypeinfo", pagetypeinfo);
    ClientOptions options;
    options.program = JETMEM_READER;
    options.root = tree_.path();
    return make(system_, options);
  }
  static ClientOptions within_100ms() {
    ClientOptions options;
    options.deadline = milliseconds(100);
    return options;
  }
  // The answer to one request.
  const Answer& ask(Client& client, std::string_view source) {
    const std::size_t before = answers_.size();
    client.request(source);
    settle(client);
    EXPECT_GT(answers_.size(), before);
    if (answers_.size() == before) answers_.emplace_back();
    return answers_.back();
  }
  // Gives readers that were killed the time to be gone.
  void settle_dying() {
    loop_.run_until([] { return false; }, milliseconds(100));
  }
  // Time stands still unless a test moves it; deadlines run by themselves.
  TempDir tree_;
  ManualClock clock_;
  PollLoop loop_;
  SystemSpawner system_;
  std::vector<Answer> answers_;
};

TEST_F(ClientTest, TheRealReaderGivesBytesAndErrors) {
  const std::string large(200'000, 'x');  // in many packets
  auto client = make_real(large);
  EXPECT_EQ(ask(*client, "pagetypeinfo").text, large);
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(ask(*client, "no such source").text,
            "jetmem-reader is of another version: it has no such source");
  EXPECT_EQ(client->counters().starts, 1U) << "one reader serves all requests";
}

TEST_F(ClientTest, AReaderKilledBetweenRequestsIsReplacedWithoutAWord) {
  auto client = make_real("text");
  ask(*client, "pagetypeinfo");
  ::kill(client->pid(), SIGKILL);
  siginfo_t end;
  ::waitid(P_PID, static_cast<id_t>(client->pid()), &end, WEXITED | WNOWAIT);
  ask(*client, "pagetypeinfo");
  EXPECT_TRUE(ask(*client, "pagetypeinfo").ok) << answers_.back().text;
  EXPECT_EQ(client->counters().starts, 2U);
}

TEST_F(ClientTest, ProgramThatCannotBeExecuted) {
  ClientOptions options;
  options.program = "/nonexistent/jetmem-reader";
  auto client = make(system_, options);
  client->request("cma");
  client->request("thermal");
  ASSERT_EQ(answers_.size(), 2U) << "each accepted request is answered";
  EXPECT_EQ(answers_[0].code, Errc::kUnavailable);
  EXPECT_EQ(answers_[0].text,
            "no reader: start /nonexistent/jetmem-reader: No such file or directory");
}

TEST_F(ClientTest, AHangingReadIsGivenUpAndItsSourceQuarantined) {
  FakeSpawner spawner(hang_on_thermal);
  auto client = make(spawner, within_100ms());
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
    answer_all_but(fd, [&](const Request& request) { return request.is_sparing == 0 || !helps; });
  });
  auto client = make(spawner, within_100ms());
  // "ok" or the error, so much later.
  const auto read = [&](Nanoseconds later = {}) {
    clock_.advance(later);
    const Answer answer = ask(*client, "dmabuf");
    if (!answer.ok) settle_dying();
    return answer.ok ? "ok" : answer.text;
  };
  constexpr std::chrono::seconds kMinute(61);
  constexpr const char* kHangs = "no answer within 100ms";
  EXPECT_EQ(read(), kHangs);
  EXPECT_EQ(read(), "ok");
  EXPECT_EQ(client->read_in_part(), "dmabuf");
  EXPECT_EQ(read(std::chrono::minutes(9)), "ok");
  EXPECT_EQ(read(kMinute), kHangs) << "a whole one is tried again";
  EXPECT_EQ(read(std::chrono::minutes(19)), "ok") << "and not before 20 minutes";
  EXPECT_EQ(read(kMinute), kHangs);
  // A reading in part that hangs is tried again after a minute, whatever the whole one's pause.
  helps = false;
  EXPECT_EQ(read(), kHangs) << "the one in part";
  client->request("dmabuf");
  EXPECT_EQ(answers_.back().text,
            "in quarantine after a read that did not return; next try in 1m1s");
  helps = true;
  EXPECT_EQ(read(kMinute), "ok");
  EXPECT_EQ(client->counters().timeouts, 4U);

  ClientOptions options = within_100ms();
  options.in_part = {"dmabuf"};
  EXPECT_TRUE(ask(*make(spawner, options), "dmabuf").ok) << "as somebody else's hung";
}

// With one allowed, the next waits for word of the one that was killed: it was only dying, so the
// other source is served after all.
TEST_F(ClientTest, ADyingReaderIsWaitedForBeforeItCountsAsWedged) {
  FakeSpawner spawner(hang_on_thermal);
  ClientOptions options = within_100ms();
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
  auto client = make(spawner, within_100ms());
  EXPECT_TRUE(ask(*client, "thermal").ok) << answers_[0].text;
  EXPECT_EQ(client->counters().timeouts, 0U);
}

// The daemon itself did not get to run for longer than the deadline.
TEST_F(ClientTest, AnAnswerThatIsThereCountsHoweverLateItIsLookedAt) {
  FakeSpawner spawner(answer_all);
  auto client = make(spawner, within_100ms());
  client->request("thermal");
  ::usleep(900'000);
  loop_.run_once(Nanoseconds(0));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0].ok) << answers_[0].text;
}

TEST_F(ClientTest, WithoutItsSocketASpawnedReaderStandsInAndSaysSo) {
  FakeSpawner spawner(answer_all);
  ClientOptions options;
  options.socket = tree_.file("socket");
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
  if (server == 0) answer_all(::accept(listener.get(), nullptr, nullptr));
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
  FakeSpawner spawner(answer_all);
  ClientOptions options;
  options.socket = tree_.file("socket");
  const UniqueFd listener = unix_listener(options.socket, SOCK_SEQPACKET);
  const pid_t server = ::fork();
  while (server == 0) ::close(::accept(listener.get(), nullptr, nullptr));
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
  for (const std::string& packet : {std::string("x"), std::string(sizeof(AnswerHeader), '\0')}) {
    FakeSpawner spawner([&](int fd) {
      receive(fd);
      ::send(fd, packet.data(), packet.size(), 0);
      ::pause();
    });
    EXPECT_EQ(ask(*make(spawner), "cma").text, "protocol error of jetmem-reader");
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
  EXPECT_EQ(ask(*make(cut), "cma").text, "reader: record longer than its answer");
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
    EXPECT_EQ(ask(*make(spawner), "cma").text, "protocol error of jetmem-reader");
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

// Sources that are followed: the reader hands out a descriptor, and none is ever lost.
constexpr std::array<std::string_view, 2> kLogPaths{"/dev/first", "/dev/second"};
constexpr std::array<std::string_view, 1> kTextPaths{"/proc/text"};
constexpr SourceInfo kLog{.name = "log", .paths = kLogPaths, .access = Access::kStream};
constexpr SourceInfo kText{.name = "text", .paths = kTextPaths, .access = Access::kReader};
constexpr std::array<const SourceInfo*, 2> kSources{&kLog, &kText};

long open_descriptors() {
  using Files = std::filesystem::directory_iterator;
  return std::distance(Files("/proc/self/fd"), Files());
}

void serve(int fd, const TempDir& tree) {
  Server server(fd, Root::at(tree.path()).value(), kSources);
  server.send_hello();
  while (server.serve_one()) {
  }
}

class DescriptorTest : public ClientTest {
 protected:
  void answered() override {
    if (takes_) taken_ = client_->take_descriptor();
    if (again_) client_->request("text");
    again_ = false;
  }
  void ask(std::string_view source) {
    if (!client_) client_ = make(real_);
    ClientTest::ask(*client_, source);
  }
  std::string error() const { return answers_.back().ok ? "" : answers_.back().text; }
  // A path, its error and what is read of the descriptor that came with it.
  void expect(std::string_view path, int error, std::string_view text) {
    EXPECT_EQ(answers_.back().path, path);
    EXPECT_EQ(answers_.back().file_error, error);
    EXPECT_EQ(taken_.valid() ? read_taken() : "none", text);
  }
  std::string read_taken() const {
    char text[64];
    const ssize_t n = ::read(taken_.get(), text, sizeof text);
    return n < 0 ? "error" : std::string(text, static_cast<std::size_t>(n));
  }

  ForkSpawner real_{[this](int fd) { serve(fd, tree_); }};
  std::unique_ptr<Client> client_;
  bool takes_ = true;
  bool again_ = false;
  UniqueFd taken_;
};

TEST_F(DescriptorTest, TheFirstPathThatExistsIsHandedOver) {
  tree_.write("dev/second", "two");
  ask("log");
  EXPECT_EQ(error(), "");
  EXPECT_NE(::fcntl(taken_.get(), F_GETFD) & FD_CLOEXEC, 0);
  expect("/dev/second", 0, "two");
  tree_.write("dev/first", "one");
  ask("log");
  expect("/dev/first", 0, "one");
}

TEST_F(DescriptorTest, WhatCannotBeOpenedIsAnErrorOfThatPath) {
  ask("log");
  expect("/dev/first", ENOENT, "none");
  // What is there and cannot be had is not passed over for the next.
  std::filesystem::create_directories(tree_.file("dev"));
  ASSERT_EQ(::mkfifo(tree_.file("dev/first").c_str(), 0600), 0);
  tree_.write("dev/second", "two");
  ask("log");
  expect("/dev/first", Root::kNotRegular, "none");
}

TEST_F(DescriptorTest, OtherSourcesAreReadAsEver) {
  tree_.write("proc/text", "text");
  tree_.write("dev/first", "one");
  ask("text");
  expect("/proc/text", 0, "none");
  ask("log");
  EXPECT_TRUE(taken_.valid());
  ask("text");
  EXPECT_FALSE(taken_.valid()) << "not one of an earlier answer";
  // A request made in the answer is served.
  again_ = true;
  ask("log");
  EXPECT_EQ(answers_.back().path, "/proc/text");
  EXPECT_EQ(error(), "");
}

TEST_F(DescriptorTest, WhatIsNotTakenIsClosed) {
  tree_.write("dev/first", "one");
  takes_ = false;
  ask("log");
  const long before = open_descriptors();
  for (int i = 0; i < 10; ++i) ask("log");
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(DescriptorTest, OneThatCannotBeTakenIsSaid) {
  tree_.write("dev/first", "one");
  ask("log");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{3, limit.rlim_max};  // 0, 1 and 2 are taken
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  ask("log");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(error(), "jetmem-reader's descriptor could not be taken");
  ask("log");
  EXPECT_EQ(error(), "") << "a new reader serves again";
  EXPECT_EQ(read_taken(), "one");
}

// Systemd's reader: who it is and the descriptor come with the same packets.
TEST_F(DescriptorTest, ItComesOverTheSocketToo) {
  tree_.write("dev/first", "one");
  const std::string path = tree_.file("socket");
  const UniqueFd listener = unix_listener(path, SOCK_SEQPACKET);
  ASSERT_TRUE(listener.valid());
  const pid_t pid = ::fork();
  if (pid == 0) {
    serve(::accept(listener.get(), nullptr, nullptr), tree_);
    ::_exit(0);
  }
  ClientOptions options;
  options.socket = path;
  client_ = make(real_, options);
  ask("log");
  EXPECT_EQ(client_->kind(), ReaderKind::kSocket);
  EXPECT_EQ(client_->pid(), pid);
  EXPECT_EQ(read_taken(), "one");
  client_.reset();
  ::waitpid(pid, nullptr, 0);
}

// How a reader that was taken over could try to fill the daemon's table of descriptors.
struct Hostile {
  const char* what;
  std::uint32_t flags;
  std::size_t descriptors;
  std::size_t records;
  int error;
  const char* message;
};

void send_hostile(int fd, const Hostile& hostile) {
  Request request;
  if (::recv(fd, &request, sizeof request, 0) != sizeof request) return;
  AnswerHeader header;
  header.sequence = request.sequence;
  header.flags = hostile.flags;
  Snapshot snapshot;
  for (std::size_t i = 0; i < hostile.records; ++i) snapshot.add("/x", "", hostile.error);
  ByteBuffer stream;
  encode(snapshot, stream);
  iovec parts[2] = {{&header, sizeof header},
                    {const_cast<char*>(stream.view().data()), stream.size()}};
  std::array<int, 8> numbers;
  numbers.fill(fd);
  const std::size_t bytes = hostile.descriptors * sizeof(int);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof numbers)] = {};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = hostile.flags == 0 && hostile.records == 0 ? 0 : 2;
  if (bytes != 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(rights), numbers.data(), bytes);
  }
  ::sendmsg(fd, &message, MSG_NOSIGNAL);
  ::pause();
}

using HostileReader = DescriptorTest;

TEST_F(HostileReader, LeavesNoDescriptorBehind) {
  constexpr std::uint32_t kLast = AnswerHeader::kLast;
  constexpr std::uint32_t kWith = kLast | AnswerHeader::kDescriptor;
  constexpr const char* kNonsense = "protocol error of jetmem-reader";
  constexpr const char* kWithError = "jetmem-reader sent a descriptor together with an error";
  constexpr Hostile kRows[] = {
      {"unasked", kLast, 1, 1, 0, kNonsense},
      {"in a piece that is not the last", 0, 1, 1, 0, kNonsense},
      {"two", kWith, 2, 1, 0, kNonsense},
      {"more than fit", kWith, 8, 1, 0, kNonsense},
      {"announced only", kWith, 0, 1, 0, kNonsense},
      {"with an error", kWith, 1, 1, EACCES, kWithError},
      {"without a record", kWith, 1, 0, 0, kWithError},
      {"with two records", kWith, 1, 2, 0, kWithError},
      {"of an unknown source", kWith | AnswerHeader::kUnknownSource, 1, 1, 0,
       "jetmem-reader is of another version: it has no such source"},
      {"in an empty packet", 0, 2, 0, 0, "jetmem-reader ended without an answer"},
  };
  takes_ = false;
  for (const Hostile& hostile : kRows) {
    SCOPED_TRACE(hostile.what);
    ForkSpawner spawner([&](int fd) { send_hostile(fd, hostile); });
    client_ = make(spawner);
    const long before = open_descriptors();
    ask("log");
    EXPECT_EQ(error(), hostile.message);
    client_.reset();
    client_ = make(spawner);
    EXPECT_EQ(open_descriptors(), before);
    client_.reset();
  }
}

// Whether a packet of a good request's first bytes, and zeros behind it, is answered.
bool is_answered(std::size_t size) {
  const TempDir tree;
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const UniqueFd here(ends[0]);
  const UniqueFd there(ends[1]);
  Server server(there.get(), *Root::at(tree.path()), kSources);
  Request request;
  std::strcpy(request.source, "text");
  request.deadline_ms = 60'000;
  std::string packet(reinterpret_cast<const char*>(&request), sizeof request);
  packet.resize(size, '\0');
  EXPECT_EQ(::send(here.get(), packet.data(), packet.size(), 0), static_cast<ssize_t>(size));
  const bool served = server.serve_one();
  char answer[4096];
  EXPECT_EQ(::recv(here.get(), answer, sizeof answer, 0) > 0, served);
  return served;
}

TEST(ReaderServer, ARequestIsExactlyOne) {
  EXPECT_TRUE(is_answered(sizeof(Request)));
  EXPECT_FALSE(is_answered(sizeof(Request) - 1));
  EXPECT_FALSE(is_answered(sizeof(Request) + 1));
}

}  // namespace
}  // namespace jetmem::reader
