// SPDX-License-Identifier: Apache-2.0
// What commands ask of a daemon, over a real socket, of a stand-in: its history, and one that runs
// and gives no answer, which is not taken for one that does not run.
#include "cli/client/device_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/client/remote_history.h"
#include "cli/exit_codes.h"
#include "report/answers/history_answer.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"
#include "tests/unix_socket.h"

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr Nanoseconds kWall = seconds(1'790'000'000) + std::chrono::nanoseconds(123'456'789);

struct CapturedLog {
  int code = 200;
  std::string body;
};

// Stands in for a jetmemd on a Unix socket: accepts each client, one after the other, and does with
// it what the test says.
class StandInDaemon {
 public:
  explicit StandInDaemon(int backlog = 8) : listener_(unix_listener(path(), SOCK_STREAM, backlog)) {
    EXPECT_TRUE(listener_.valid());
  }
  ~StandInDaemon() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  std::string path() const { return directory.file("api.socket"); }
  // It is as if nothing ran there; the socket's file stays.
  void end() { listener_.reset(); }
  // After a pause; the connection is closed when `with` returns.
  void serve(std::function<void(int client)> with, std::chrono::milliseconds pause = {}) {
    thread_ = std::thread([this, with = std::move(with), pause] {
      std::this_thread::sleep_for(pause);
      while (!stop_) {
        pollfd polled{listener_.get(), POLLIN, 0};
        if (::poll(&polled, 1, 20) <= 0) continue;
        const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        with(client.get());
      }
    });
  }
  // The path that a client asks for; "" if it ends before it has asked.
  static std::string asked(int client) {
    std::string request;
    char buffer[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::read(client, buffer, sizeof buffer);
      if (got <= 0) return "";
      request.append(buffer, static_cast<std::size_t>(got));
    }
    return request.substr(4, request.find(' ', 4) - 4);
  }
  static void answer(int client, int code, const std::string& body) {
    const std::string reply =
        "HTTP/1.1 " + std::to_string(code) +
        " x\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
        body;
    std::string_view left = reply;
    while (!left.empty()) {
      const ssize_t sent = ::send(client, left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  const TempDir directory;

 private:
  UniqueFd listener_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class Daemon {
 public:
  explicit Daemon(std::function<CapturedLog(const std::string&)> answer) {
    daemon_.serve([this, answer = std::move(answer)](int client) {
      const std::string target = StandInDaemon::asked(client);
      {
        const std::lock_guard lock(mutex_);
        requested_.push_back(target);
      }
      const CapturedLog logged = answer(target);
      StandInDaemon::answer(client, logged.code, logged.body);
    });
  }
  ListenAddress address() const { return {ListenAddress::Family::kUnix, daemon_.path(), 0}; }
  std::vector<std::string> requested() {
    const std::lock_guard lock(mutex_);
    return requested_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> requested_;
  StandInDaemon daemon_;
};

TEST(RemoteHistory, RequestsOneSeriesExactly) {
  SeriesPast past;
  past.key = "jetmem_a{b=\"c d&e\"}";
  past.points.resize(3);
  Daemon daemon([&](const std::string&) { return CapturedLog{200, series_past_json({}, past)}; });
  const auto history = remote_history(daemon.address());
  SeriesQuery requested;
  requested.key = past.key;
  requested.from = kWall - hours(1);
  requested.to = kWall;
  requested.resolution = Resolution::kMinute;
  requested.most = 100'000;
  const auto got = must(history->past(requested));
  EXPECT_EQ(got.points.size(), 3U);
  EXPECT_EQ(daemon.requested().front(),
            "/api/v1/history?series=jetmem_a%7Bb%3D%22c%20d%26e%22%7D&from=1789996400.123456789"
            "&to=1790000000.123456789&resolution=1m&limit=10000");
}

TEST(RemoteHistory, PagesAreFollowed) {
  Daemon daemon([&](const std::string& target) {
    if (target.find("/events") != std::string::npos) {
      EventsPast past;
      const bool first = target.find("before=") == std::string::npos;
      for (int i = 0; i < 3; ++i) {
        EventRecord event;
        event.id = (first ? 10 : 5) - i;
        past.events.push_back(event);
      }
      past.more = first;
      return CapturedLog{200, events_json({}, past)};
    }
    HistoryList list;
    const bool first = target.find("after=") == std::string::npos;
    list.series = {{first ? "jetmem_a" : "jetmem_b", false, kWall, kWall}};
    if (first) list.next = "jetmem_a";
    return CapturedLog{200, history_list_json({}, list)};
  });
  const auto history = remote_history(daemon.address());
  const auto series = must(history->series(""));
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[1].key, "jetmem_b");
  EventsQuery requested;
  requested.what = EventWhat::kKernel;
  requested.kinds = {"a", "b"};
  requested.most = 5;
  const auto events = must(history->events(requested));
  ASSERT_EQ(events.events.size(), 5U);
  EXPECT_EQ(events.events.back().id, 4);
  EXPECT_EQ(daemon.requested().back(),
            "/api/v1/events?category=kernel&kind=a%2Cb&before=8&limit=2");
  EXPECT_TRUE(history->facts());
}

// One that names itself as its own next page.
TEST(RemoteHistory, EndlessPagesAreAborted) {
  Daemon daemon([&](const std::string&) {
    HistoryList list;
    list.series = {{"jetmem_a", false, kWall, kWall}};
    list.next = "jetmem_a";
    return CapturedLog{200, history_list_json({}, list)};
  });
  EXPECT_TRUE(remote_history(daemon.address())->series(""));
  EXPECT_EQ(daemon.requested().size(), 2U);
}

TEST(RemoteHistory, UnrecordedSeriesAreEmpty) {
  Daemon daemon([](const std::string&) {
    return CapturedLog{400, R"({"error":"there is no metric x","code":"unknown_metric"})"};
  });
  const auto history = remote_history(daemon.address());
  const auto series = must(history->series("x"));
  EXPECT_TRUE(series.empty());
  const auto past = must(history->past({.key = "x", .resolution = {}}));
  EXPECT_EQ(past.key, "x");
  EXPECT_TRUE(past.points.empty());
}

TEST(RemoteHistory, ErrorsNameTheDaemonAndItsMessage) {
  CapturedLog logged{503, R"({"error":"the history is switched off","fix":"switch it on"})"};
  Daemon daemon([&](const std::string&) { return logged; });
  const auto history = remote_history(daemon.address());
  const auto message = [&] { return history->facts().error().message; };
  EXPECT_EQ(message(), daemon.address().text() +
                           ": it answers 503: the history is switched off (switch it on)");
  logged = {400, R"({"error":"from is after to"})"};
  EXPECT_THAT(message(), HasSubstr("it answers 400: from is after to"));
  EXPECT_EQ(history->past({.key = "x", .resolution = {}}).error().code, Errc::kInvalid);
  logged = {404, "nothing"};
  EXPECT_TRUE(has_all(message(), {"it answers 404: is it a jetmemd"}));
  EXPECT_TRUE(has_none(message(), {"/api/"}));
  logged = {400, R"({"error":"no such metric","fix":"/api/v1/history lists what is recorded"})"};
  EXPECT_THAT(message(), testing::EndsWith("it answers 400: no such metric"));
  logged = {200, "<html>"};
  EXPECT_THAT(message(), HasSubstr(daemon.address().text() + ": the answer is not JSON"));
  logged = {200, std::string((4U << 20) + 10, 'x')};
  EXPECT_THAT(message(), HasSubstr("4 MiB"));
}

TEST(RemoteHistory, AcceptsNearlyFourMebibytes) {
  HistoryMoment moment;
  for (int i = 0; i < 1900; ++i) {
    moment.samples.emplace_back(std::to_string(i) + std::string(2000, 'x'), i);
  }
  const std::string text = history_moment_json({}, moment);
  EXPECT_GT(text.size(), 3'500'000U);
  Daemon daemon([&](const std::string&) { return CapturedLog{200, text}; });
  const auto got = must(remote_history(daemon.address())->at(kWall, hours(1000)));
  EXPECT_GT(got.size(), 1700U);
  EXPECT_THAT(daemon.requested().front(), HasSubstr("lookback=86400.0"));
}

TEST(HistoryOfDevice, OnlyTheNamedDaemonIsQueried) {
  HistoryList list;
  list.facts.series = 7;
  Daemon daemon([&](const std::string&) { return CapturedLog{200, history_list_json({}, list)}; });
  Target requested;
  requested.daemon = daemon.address().text();
  const auto history = must(DeviceClient("", requested).history());
  const auto facts = must(history->facts());
  EXPECT_EQ(facts.series, 7U);
  EXPECT_EQ(facts.location, daemon.address().text());

  requested.daemon = "unix:/nowhere/api.socket";
  EXPECT_THAT(DeviceClient("", requested).history().error().message,
              HasSubstr("no daemon answers at unix:/nowhere/api.socket"));
}

TEST(HistoryOfDevice, WithoutDaemonAndFileBothAreNamed) {
  const TempDir directory;
  directory.write("settings.yaml",
                  "http: {listen: []}\nhistory: {directory: " + directory.path() + "/none}\n");
  Target requested;
  requested.config = {directory.path() + "/settings.yaml"};
  const auto history = DeviceClient("", requested).history();
  ASSERT_FALSE(history);
  EXPECT_EQ(history.error().code, Errc::kAbsent);
  EXPECT_TRUE(has_all(history.error().message, {directory.path() + "/none/history.db",
                                                "no daemon answers at unix:/run/jetmem/"}));
}

TEST(HistoryOfDevice, OfACapturedTree) {
  const TempDir directory;
  Target requested;
  requested.root = directory.path();
  EXPECT_THAT(DeviceClient("", requested).history().error().message,
              HasSubstr(directory.path() + "/jetmem/history.db"));
}

class SilentDaemonTest : public testing::Test {
 protected:
  CommandRun run(std::vector<std::string> words) const {
    words.insert(words.end(), {"--config", settings_});
    return run_command(words);
  }
  StandInDaemon daemon_{0};
  const std::string settings_ = daemon_.directory.write(
      "settings.yaml", "http: {listen: [\"unix:" + daemon_.path() + "\"]}\n");
};

TEST_F(SilentDaemonTest, IsReportedAndItsAlertsAreUnknown) {
  daemon_.serve([](int) {});
  const CommandRun status = run({"status"});
  EXPECT_THAT(status.err,
              HasSubstr("jetmem status: jetmemd runs but gave no answer (unix:" + daemon_.path()));
  EXPECT_NE(status.status, kExitOk);
  EXPECT_THAT(status.out, HasSubstr("without jetmemd"));
  const auto parsed = nlohmann::json::parse(run({"status", "--json"}).out);
  EXPECT_THAT(parsed["from"]["notes"].dump(), HasSubstr("gave no answer"));
  EXPECT_NE(parsed["level"], "ok");
  if (parsed["level"] == "unknown") {
    EXPECT_EQ(status.status, kExitUnknown);
    EXPECT_THAT(std::string(parsed["reason"]), HasSubstr("gave no answer"));
  }
  EXPECT_THAT(run({"alerts"}).err, HasSubstr("gave no answer"));
  EXPECT_THAT(run({"top"}).err, HasSubstr("gave no answer"));
}

TEST_F(SilentDaemonTest, OneThatDoesNotRunIsNone) {
  daemon_.end();
  const CommandRun status = run({"status"});
  EXPECT_EQ(status.err, "");
  EXPECT_THAT(status.out, HasSubstr("without jetmemd"));
}

// As when somebody connects to it all the time.
TEST_F(SilentDaemonTest, WhoFindsItsQueueFullWaitsForATurn) {
  std::vector<UniqueFd> queued;
  for (int i = 0; i < 8; ++i) {
    queued.push_back(unix_client(daemon_.path(), SOCK_STREAM | SOCK_NONBLOCK));
    if (queued.back().valid()) continue;
    ASSERT_EQ(errno, EAGAIN);
    break;
  }
  ASSERT_LT(queued.size(), 8U);
  daemon_.serve(
      [](int client) {
        pollfd polled{client, POLLIN, 0};
        if (::poll(&polled, 1, 100) > 0 && !StandInDaemon::asked(client).empty()) {
          StandInDaemon::answer(client, 200, "ok");
        }
      },
      std::chrono::milliseconds(200));
  Target options;
  options.daemon = "unix:" + daemon_.path();
  const auto reply = must(DeviceClient("", options).ask("/healthz", std::chrono::seconds(10)));
  EXPECT_EQ(reply.body, "ok");
}

}  // namespace
}  // namespace jetmem
