// SPDX-License-Identifier: Apache-2.0
// The web thread over real sockets, with a page that a test fills.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/http/server/web.h"
#include "tests/daemon/http/http_client.h"
#include "tests/daemon/http/locked_log.h"
#include "tests/temp_dir.h"

namespace jetmem::test {

inline constexpr const char* kGet = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
inline constexpr const char* kGetMetrics = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

inline constexpr Descriptor kManySeries{.name = "jetmem_series_bytes",
                                        .help = "One of many.",
                                        .labels = {"n", "zone"},
                                        .max_series = 20'000};

class WebServerTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.listen.clear();
    sample();
  }
  void start(const std::vector<std::string>& listen = {"127.0.0.1:0"}) {
    for (const std::string& text : listen) options_.listen.push_back(*parse_listen_address(text));
    web_ = std::make_unique<Web>(options_, clock_, log_, buffer_, alerts_, readiness_);
    const auto failures = web_->start();
    ASSERT_TRUE(failures);
    for (const Error& error : *failures) failures_.push_back(error.message);
    if (!web_->addresses().empty()) address_ = web_->addresses().front();
  }
  void sample(int series = 600) {
    {
      SampleWriter out(table_, section_, Nanoseconds(0));
      for (int n = 0; n < series; ++n) out.put(kManySeries, 4096.0 * n, n, "Normal");
    }
    auto page = std::make_shared<Page>();
    fill_page(table_, clock_.boot(), ++round_, *page);
    buffer_.publish(std::move(page));
    readiness_.beat(clock_.boot());
    readiness_.set_sources(6, 6);
  }
  // A client that has sent this.
  std::unique_ptr<HttpClient> client(std::string_view sent) {
    auto made = std::make_unique<HttpClient>(address_);
    made->send(sent);
    return made;
  }
  // One whose kernel takes next to nothing off the server.
  std::unique_ptr<HttpClient> deaf_client(std::string_view sent) {
    auto made = std::make_unique<HttpClient>(address_);
    const int tiny = 1;
    ::setsockopt(made->fd(), SOL_SOCKET, SO_RCVBUF, &tiny, sizeof tiny);
    made->send(sent);
    return made;
  }
  std::string metrics(const std::string& headers = "") {
    return fetch(address_, "/metrics", headers).body;
  }
  static bool wait_for(const std::function<bool()>& condition) {
    for (int i = 0; i < 1500; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  // The page comes to have this line.
  bool shows(const std::string& line) {
    return wait_for([&] { return metrics().find("\n" + line + "\n") != std::string::npos; });
  }
  std::string log() { return log_.text(); }

  SystemClock clock_;
  SampleTable table_;
  std::size_t section_ = table_.add_section("test");
  std::uint64_t round_ = 0;
  PageBuffer buffer_;
  Published<AlertsNow> alerts_;
  Readiness readiness_;
  WebOptions options_;
  std::vector<std::string> failures_;
  ListenAddress address_;
  LockedLog log_;
  std::unique_ptr<Web> web_;
};

}  // namespace jetmem::test
