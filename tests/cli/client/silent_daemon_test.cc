// SPDX-License-Identifier: Apache-2.0
// A jetmemd that runs and gives no answer is not taken for one that does not run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "cli/client/device_client.h"
#include "cli/exit_codes.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"
#include "tests/unix_socket.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class SilentDaemonTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_.write("settings.yaml", "http: {listen: [\"unix:" + path_ + "\"]}\n");
    listener_ = unix_listener(path_, SOCK_STREAM, 0);
    ASSERT_TRUE(listener_.valid());
  }
  void TearDown() override {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Accepts each client, from `pause` on, and does this with it; then closes.
  void serve(std::function<void(int)> answer, milliseconds pause = milliseconds(0)) {
    thread_ = std::thread([this, answer = std::move(answer), pause] {
      std::this_thread::sleep_for(pause);
      while (!stop_) {
        pollfd polled{listener_.get(), POLLIN, 0};
        if (::poll(&polled, 1, 20) <= 0) continue;
        const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        answer(client.get());
      }
    });
  }
  std::vector<std::string> command(std::vector<std::string> words) const {
    words.insert(words.end(), {"--config", directory_.file("settings.yaml")});
    return words;
  }

  TempDir directory_;
  const std::string path_ = directory_.file("api.socket");
  UniqueFd listener_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(SilentDaemonTest, IsReportedAndItsAlertsAreUnknown) {
  serve([](int) {});
  const CommandRun status = run_command(command({"status"}));
  EXPECT_THAT(status.err,
              HasSubstr("jetmem status: jetmemd runs but gave no answer (unix:" + path_));
  EXPECT_NE(status.status, kExitOk);
  EXPECT_THAT(status.out, HasSubstr("without jetmemd"));
  const CommandRun json = run_command(command({"status", "--json"}));
  const auto parsed = nlohmann::json::parse(json.out);
  EXPECT_THAT(parsed["from"]["notes"].dump(), HasSubstr("gave no answer"));
  EXPECT_NE(parsed["level"], "ok");
  if (parsed["level"] == "unknown") {
    EXPECT_EQ(status.status, kExitUnknown);
    EXPECT_THAT(std::string(parsed["reason"]), HasSubstr("gave no answer"));
  }
  EXPECT_THAT(run_command(command({"alerts"})).err, HasSubstr("gave no answer"));
  EXPECT_THAT(run_command(command({"top"})).err, HasSubstr("gave no answer"));
}

TEST_F(SilentDaemonTest, OneThatDoesNotRunIsNone) {
  listener_.reset();
  const CommandRun status = run_command(command({"status"}));
  EXPECT_EQ(status.err, "");
  EXPECT_THAT(status.out, HasSubstr("without jetmemd"));
}

// As when somebody connects to it all the time.
TEST_F(SilentDaemonTest, WhoFindsItsQueueFullWaitsForATurn) {
  std::vector<UniqueFd> queued;
  for (int i = 0; i < 8; ++i) {
    queued.push_back(unix_client(path_, SOCK_STREAM | SOCK_NONBLOCK));
    if (queued.back().valid()) continue;
    ASSERT_EQ(errno, EAGAIN);
    break;
  }
  ASSERT_LT(queued.size(), 8U);
  serve(
      [](int client) {
        constexpr std::string_view kAnswer =
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
        char request[4096];
        pollfd polled{client, POLLIN, 0};
        if (::poll(&polled, 1, 100) > 0 && ::read(client, request, sizeof request) > 0) {
          (void)!::write(client, kAnswer.data(), kAnswer.size());
        }
      },
      milliseconds(200));
  Target options;
  options.daemon = "unix:" + path_;
  const auto reply = DeviceClient("", options).ask("/healthz", std::chrono::seconds(10));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body, "ok");
}

}  // namespace
}  // namespace jetmem
