// SPDX-License-Identifier: Apache-2.0
// A raw-socket HTTP client, a page that a test fills, and the web thread over real sockets.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "daemon/http/server/gzip.h"
#include "daemon/http/server/web.h"
#include "tests/temp_dir.h"
#include "tests/unix_socket.h"

namespace jetmem {

struct Reply {
  int code = 0;                                // 0: the connection ended, or nothing came in time
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string header(const std::string& name) const {
    const auto at = headers.find(name);
    return at == headers.end() ? "" : at->second;
  }
};

// Sends what it is given, however wrong, and reads what comes.
class HttpClient {
 public:
  // Fails the test when it cannot connect.
  explicit HttpClient(const ListenAddress& address, std::string_view sent = "") {
    if (address.family == ListenAddress::Family::kUnix) {
      fd_ = unix_client(address.host);
    } else {
      addrinfo numeric{};
      numeric.ai_flags = AI_NUMERICHOST;
      addrinfo* to = nullptr;
      const std::string port = std::to_string(address.port);
      EXPECT_EQ(::getaddrinfo(address.host.c_str(), port.c_str(), &numeric, &to), 0);
      fd_.reset(::socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(fd_.get(), to->ai_addr, to->ai_addrlen) != 0) fd_.reset();
      ::freeaddrinfo(to);
    }
    EXPECT_TRUE(fd_.valid()) << "cannot connect to " << address.text();
    send(sent);
  }

  // False when the server has closed the connection.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // The next reply; `to_head` when the request was HEAD, whose reply has no body.
  Reply receive(bool to_head = false) {
    Reply reply;
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more()) return reply;
    }
    const std::string head = buffer_.substr(0, end + 2);
    buffer_.erase(0, end + 4);
    for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
      const std::size_t line_end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      reply.headers[name] = head.substr(colon + 2, line_end - colon - 2);
      at = line_end + 2;
    }
    if (!to_head) {
      const auto length =
          static_cast<std::size_t>(std::atoi(reply.header("content-length").c_str()));
      while (buffer_.size() < length) {
        if (!read_more()) return reply;  // cut short: code stays 0
      }
      reply.body = buffer_.substr(0, length);
      buffer_.erase(0, length);
    }
    reply.code = std::atoi(head.c_str() + head.find(' '));
    return reply;
  }
  // True when the server closes before it has been silent for `milliseconds`. What it still sent
  // is dropped.
  bool closes_within(int milliseconds) {
    pollfd polled{fd_.get(), POLLIN, 0};
    char dropped[4096];
    while (::poll(&polled, 1, milliseconds) > 0) {
      if (::recv(fd_.get(), dropped, sizeof dropped, 0) <= 0) return true;
    }
    return false;
  }

  int fd() const { return fd_.get(); }

 private:
  bool read_more() {
    constexpr int kTimeout = 5000;  // ms; never waited for when all is well
    pollfd polled{fd_.get(), POLLIN, 0};
    if (::poll(&polled, 1, kTimeout) <= 0) return false;
    char chunk[65536];
    const ssize_t got = ::recv(fd_.get(), chunk, sizeof chunk, 0);
    if (got <= 0) return false;
    buffer_.append(chunk, static_cast<std::size_t>(got));
    return true;
  }

  UniqueFd fd_;
  std::string buffer_;
};

// `headers` are whole lines.
inline std::string request(const std::string& headers = "", const std::string& path = "/healthz",
                           const std::string& method = "GET") {
  return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
}

// One request on a connection of its own.
inline Reply fetch(const ListenAddress& address, const std::string& path,
                   const std::string& headers = "", const std::string& method = "GET") {
  return HttpClient(address, request(headers, path, method)).receive(method == "HEAD");
}

// What gzip made, or "" when it is no valid, complete gzip member.
inline std::string gunzip(const std::string& compressed) {
  // The last four bytes are the length of the text, little-endian.
  std::size_t size = 0;
  for (std::size_t i = 1; i <= 4 && i <= compressed.size(); ++i) {
    size = size << 8U | static_cast<unsigned char>(compressed[compressed.size() - i]);
  }
  return size > 4U << 20 ? std::string() : gunzip(compressed, size).value_or("");
}

inline constexpr const char* kGet = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
inline constexpr const char* kGetMetrics = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

inline constexpr Descriptor kManySeries{.name = "jetmem_series_bytes",
                                        .help = "One of many.",
                                        .labels = {"n", "zone"},
                                        .max_series = 20'000};

// A log that several threads write to, a line for each entry.
class LockedLog final : public Log {
 public:
  void write(LogEntry entry) override {
    const std::lock_guard lock(mutex_);
    text_ += (entry.level == LogLevel::kInfo ? "info " : "worse ") + entry.message + "\n";
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

// What the loop and the web thread share.
template <class PagesClock>
class PublishedPages : public testing::Test {
 protected:
  PublishedPages() {
    if constexpr (std::is_same_v<PagesClock, ManualClock>) clock_.advance(std::chrono::hours(1));
  }
  // What `put` writes is the newest page.
  template <class Put>
  void publish(const Put& put) {
    SampleWriter out(table_, section_, clock_.boot());
    put(out);
    out.finish();
    auto page = std::make_shared<Page>();
    fill_page(table_, clock_.boot(), ++round_, *page);
    buffer_.publish(std::move(page));
    readiness_.beat(clock_.boot());
    readiness_.set_sources(6, 6);
  }

  PagesClock clock_;
  SampleTable table_;
  std::size_t section_ = table_.add_section("test");
  std::uint64_t round_ = 0;
  PageBuffer buffer_;
  Published<AlertsNow> alerts_;
  Readiness readiness_;
};

class WebServerTest : public PublishedPages<SystemClock> {
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
    publish([&](SampleWriter& out) {
      for (int n = 0; n < series; ++n) out.put(kManySeries, 4096.0 * n, n, "Normal");
    });
  }
  // A client that has sent this.
  HttpClient client(std::string_view sent = "") const { return HttpClient(address_, sent); }
  // One whose kernel takes next to nothing off the server.
  HttpClient deaf_client(std::string_view sent) const {
    HttpClient made = client();
    const int tiny = 1;
    ::setsockopt(made.fd(), SOL_SOCKET, SO_RCVBUF, &tiny, sizeof tiny);
    made.send(sent);
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

  WebOptions options_;
  std::vector<std::string> failures_;
  ListenAddress address_;
  LockedLog log_;
  std::unique_ptr<Web> web_;
};

}  // namespace jetmem
