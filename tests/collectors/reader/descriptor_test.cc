// SPDX-License-Identifier: Apache-2.0
// Sources that are followed: the reader hands out a descriptor, and none is ever lost.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/process/poll_loop.h"
#include "collectors/reader/client.h"
#include "collectors/reader/server.h"
#include "tests/fork_spawner.h"
#include "tests/temp_dir.h"
#include "tests/unix_socket.h"

namespace jetmem::reader {
namespace {

constexpr std::array<std::string_view, 2> kLogPaths{"/dev/first", "/dev/second"};
constexpr std::array<std::string_view, 1> kTextPaths{"/proc/text"};
constexpr SourceInfo kLog{.name = "log", .paths = kLogPaths, .access = Access::kStream};
constexpr SourceInfo kText{.name = "text", .paths = kTextPaths, .access = Access::kReader};
constexpr std::array<const SourceInfo*, 2> kSources{&kLog, &kText};

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return count;
}

class DescriptorTest : public testing::Test {
 protected:
  std::unique_ptr<Client> make(Spawner& spawner, const std::string& socket = {}) {
    ClientOptions options;
    options.socket = socket;
    options.program = "fake";
    auto client = std::make_unique<Client>(
        options, clock_, spawner,
        [this](std::string_view, Result<const Snapshot*> snapshot, Nanoseconds) {
          path_.clear();
          file_error_ = 0;
          error_ = snapshot ? std::string() : snapshot.error().message;
          if (snapshot && (*snapshot)->size() == 1) {
            path_ = (**snapshot)[0].path;
            file_error_ = (**snapshot)[0].error;
          }
          if (takes_) taken_ = client_->take_descriptor();
          if (again_) client_->request("text");
          again_ = false;
        });
    EXPECT_TRUE(client->attach(loop_));
    return client;
  }
  void ask(std::string_view source) {
    client_->request(source);
    ASSERT_TRUE(loop_.run_until([&] { return client_->idle(); }, std::chrono::seconds(30)));
  }
  void serve_tree() { client_ = make(real_); }
  std::string read_taken() const {
    char text[64];
    const ssize_t n = ::read(taken_.get(), text, sizeof text);
    return n < 0 ? "error" : std::string(text, static_cast<std::size_t>(n));
  }

  TempDir tree_;
  ForkSpawner real_{[this](int fd) {
    Server server(fd, Root::at(tree_.path()).value(), kSources);
    if (!server.send_hello()) return;
    while (server.serve_one()) {
    }
  }};
  ManualClock clock_;
  PollLoop loop_;
  std::unique_ptr<Client> client_;
  bool takes_ = true;
  bool again_ = false;
  UniqueFd taken_;
  std::string path_;
  int file_error_ = 0;
  std::string error_;
};

TEST_F(DescriptorTest, TheFirstPathThatExistsIsHandedOver) {
  tree_.write("dev/second", "two");
  serve_tree();
  ask("log");
  EXPECT_EQ(error_, "");
  EXPECT_EQ(path_, "/dev/second");
  EXPECT_EQ(file_error_, 0);
  EXPECT_EQ(read_taken(), "two");
  EXPECT_NE(::fcntl(taken_.get(), F_GETFD) & FD_CLOEXEC, 0);

  tree_.write("dev/first", "one");
  ask("log");
  EXPECT_EQ(path_, "/dev/first");
  EXPECT_EQ(read_taken(), "one");
}

TEST_F(DescriptorTest, WhatCannotBeOpenedIsAnErrorOfThatPath) {
  serve_tree();
  ask("log");
  EXPECT_EQ(path_, "/dev/first");
  EXPECT_EQ(file_error_, ENOENT);
  EXPECT_FALSE(taken_.valid());

  // What is there and cannot be had is not passed over for the next.
  std::filesystem::create_directories(tree_.file("dev"));
  ASSERT_EQ(::mkfifo(tree_.file("dev/first").c_str(), 0600), 0);
  tree_.write("dev/second", "two");
  ask("log");
  EXPECT_EQ(path_, "/dev/first");
  EXPECT_EQ(file_error_, Root::kNotRegular);
  EXPECT_FALSE(taken_.valid());
}

TEST_F(DescriptorTest, OtherSourcesAreReadAsEver) {
  tree_.write("proc/text", "text");
  tree_.write("dev/first", "one");
  serve_tree();
  ask("text");
  EXPECT_EQ(path_, "/proc/text");
  EXPECT_FALSE(taken_.valid());
  ask("log");
  EXPECT_TRUE(taken_.valid());
  ask("text");
  EXPECT_FALSE(taken_.valid()) << "not one of an earlier answer";
}

TEST_F(DescriptorTest, WhatIsNotTakenIsClosed) {
  tree_.write("dev/first", "one");
  takes_ = false;
  serve_tree();
  ask("log");
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 10; ++i) ask("log");
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(DescriptorTest, ARequestMadeInTheAnswerIsServed) {
  tree_.write("dev/first", "one");
  tree_.write("proc/text", "text");
  serve_tree();
  again_ = true;
  ask("log");
  EXPECT_EQ(path_, "/proc/text");
  EXPECT_EQ(error_, "");
}

TEST_F(DescriptorTest, OneThatCannotBeTakenIsSaid) {
  tree_.write("dev/first", "one");
  serve_tree();
  ask("log");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{3, limit.rlim_max};  // 0, 1 and 2 are taken
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  ask("log");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(error_, "jetmem-reader's descriptor could not be taken");
  ask("log");
  EXPECT_EQ(error_, "") << "a new reader serves again";
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
    Server server(::accept(listener.get(), nullptr, nullptr), Root::at(tree_.path()).value(),
                  kSources);
    server.send_hello();
    while (server.serve_one()) {
    }
    ::_exit(0);
  }
  client_ = make(real_, path);
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
  bool empty_packet;
  const char* message;
};

class HostileReader : public DescriptorTest, public testing::WithParamInterface<Hostile> {};

TEST_P(HostileReader, LeavesNoDescriptorBehind) {
  const Hostile& hostile = GetParam();
  ForkSpawner spawner([&](int fd) {
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
    message.msg_iovlen = hostile.empty_packet ? 0 : 2;
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
  });
  takes_ = false;
  client_ = make(spawner);
  const std::size_t before = open_descriptors();
  ask("log");
  EXPECT_EQ(error_, hostile.message);
  client_.reset();
  client_ = make(spawner);
  EXPECT_EQ(open_descriptors(), before);
}

constexpr std::uint32_t kLast = AnswerHeader::kLast;
constexpr std::uint32_t kDescriptor = AnswerHeader::kDescriptor;
constexpr const char* kNonsense = "protocol error of jetmem-reader";
constexpr const char* kWithError = "jetmem-reader sent a descriptor together with an error";
INSTANTIATE_TEST_SUITE_P(
    All, HostileReader,
    testing::Values(
        Hostile{"Unasked", kLast, 1, 1, 0, false, kNonsense},
        Hostile{"InAPieceThatIsNotTheLast", 0, 1, 1, 0, false, kNonsense},
        Hostile{"Two", kLast | kDescriptor, 2, 1, 0, false, kNonsense},
        Hostile{"MoreThanFit", kLast | kDescriptor, 8, 1, 0, false, kNonsense},
        Hostile{"AnnouncedOnly", kLast | kDescriptor, 0, 1, 0, false, kNonsense},
        Hostile{"WithAnError", kLast | kDescriptor, 1, 1, EACCES, false, kWithError},
        Hostile{"WithoutARecord", kLast | kDescriptor, 1, 0, 0, false, kWithError},
        Hostile{"WithTwoRecords", kLast | kDescriptor, 1, 2, 0, false, kWithError},
        Hostile{"OfAnUnknownSource", kLast | kDescriptor | AnswerHeader::kUnknownSource, 1, 1, 0,
                false, "jetmem-reader is of another version: it has no such source"},
        Hostile{"InAnEmptyPacket", 0, 2, 0, 0, true, "jetmem-reader ended without an answer"}),
    [](const auto& test) { return std::string(test.param.what); });

}  // namespace
}  // namespace jetmem::reader
