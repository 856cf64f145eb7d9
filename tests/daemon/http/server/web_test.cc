// SPDX-License-Identifier: Apache-2.0
// The web thread over real sockets, on loopback.
#include "daemon/http/server/web.h"

#include <fcntl.h>
#include <microhttpd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/daemon/http/web_fixture.h"
#include "tests/unix_socket.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

using WebTest = WebServerTest;

// Voluntary context switches of the web thread: how often it slept and woke.
long wakeups_of_web_thread() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "jetmem-web") continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("voluntary_ctxt_switches:", 0) == 0) return std::atol(line.c_str() + 24);
    }
  }
  return -1;
}

TEST_F(WebTest, AScrapeIsPrometheusText) {
  start();
  const Reply reply = fetch(address_, "/metrics?match=x");
  EXPECT_EQ(reply.code, 200);
  EXPECT_EQ(reply.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(reply.header("vary"), "Accept, Accept-Encoding");
  EXPECT_EQ(reply.header("content-encoding"), "");
  EXPECT_EQ(reply.header("cache-control"), "no-store");
  EXPECT_EQ(reply.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(reply.header("cross-origin-resource-policy"), "same-origin");
  EXPECT_EQ(reply.header("access-control-allow-origin"), "") << "no other site's page reads it";
  EXPECT_EQ(reply.header("server"), "");
  EXPECT_EQ(reply.header("set-cookie"), "");
  EXPECT_THAT(reply.body, HasSubstr("\njetmem_series_bytes{n=\"3\",zone=\"Normal\"} 12288\n"));
  EXPECT_THAT(reply.body, HasSubstr("\njetmem_http_connections 1\n"));
  // Or what else is asked for.
  const Reply zipped = fetch(address_, "/metrics",
                             "Accept: application/openmetrics-text;version=1.0.0\r\n"
                             "Accept-Encoding: gzip\r\n");
  EXPECT_THAT(zipped.header("content-type"), HasSubstr("application/openmetrics-text"));
  EXPECT_EQ(zipped.header("content-encoding"), "gzip");
  EXPECT_LT(zipped.body.size(), 10'000U);
  EXPECT_THAT(gunzip(zipped.body), HasSubstr("jetmem_series_bytes{n=\"599\""));
}

// Which methods are refused: PagesTest.NothingCanBeChangedAndNothingElseIsThere.
TEST_F(WebTest, HeadIsGetWithoutTheBodyAndOtherMethodsAreRefused) {
  start();
  HttpClient client(address_, request("", "/metrics", "HEAD"));
  const Reply head = client.receive(true);
  EXPECT_EQ(head.code, 200);
  EXPECT_GT(std::atoi(head.header("content-length").c_str()), 600 * 30);
  // The connection is still in step.
  for (const char* method : {"POST", "BREW"}) {
    const Reply reply = fetch(address_, "/metrics", "Content-Length: 0\r\n", method);
    EXPECT_EQ(reply.code, 405) << method;
    EXPECT_EQ(reply.header("allow"), "GET, HEAD") << method;
  }
  client.send(kGet);
  EXPECT_EQ(client.receive().body, "ok\n");
}

TEST_F(WebTest, ABodyIsNeverReadAndNeverTakenForARequest) {
  start();
  for (const char* method : {"POST", "GET"}) {
    HttpClient client(address_, request("Content-Length: 1000000000\r\n", "/", method) + kGet);
    const Reply reply = client.receive();
    EXPECT_EQ(reply.code, 400);
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_EQ(client.receive().code, 0) << method;  // no second reply, only the end
    EXPECT_TRUE(client.closes_within(0)) << method;
  }
  HttpClient chunked(address_, request("Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n");
  EXPECT_EQ(chunked.receive().code, 400);
  HttpClient expecting(address_, request("Expect: 100-continue\r\n") + "G");
  EXPECT_EQ(expecting.receive().code, 400);
  EXPECT_TRUE(expecting.closes_within(2000));
  EXPECT_TRUE(shows("jetmem_http_refused_total{reason=\"bad_request\"} 4"));
}

TEST_F(WebTest, WhoAsksForTheEndIsNotMalformedButGarbageAfterARequestIs) {
  start();
  for (const std::string& asked :
       {std::string("GET /healthz HTTP/1.0\r\n\r\n"),
        request("Connection: keep-alive\r\nConnection: close\r\n"),
        request("TE: trailers\r\nConnection: TE\r\nConnection: TE, Close\r\n")}) {
    HttpClient client(address_, asked);
    EXPECT_EQ(client.receive().body, "ok\n");
    EXPECT_TRUE(client.closes_within(2000));
    EXPECT_TRUE(shows("jetmem_http_refused_total{reason=\"bad_request\"} 0"));
  }
  // Though the connection was to stay. Whoever ends it first is not counted.
  std::vector<HttpClient> clients;
  for (const char* options : {"", "Connection: keep-alive\r\n"}) {
    HttpClient& client = clients.emplace_back(address_, request(options));
    EXPECT_EQ(client.receive().code, 200);
    client.send("garbage\r\n\r\n");
    EXPECT_TRUE(client.closes_within(2000));
  }
  EXPECT_TRUE(shows("jetmem_http_refused_total{reason=\"bad_request\"} 2"));
}

TEST_F(WebTest, ExcessIsRefused) {
  start();
  const std::string much(100'000, 'x');
  // 0: refused and closed so early that the rest of our text met a reset.
  EXPECT_THAT(client(request("X: " + much + "\r\n")).receive().code, testing::AnyOf(431, 0));
  EXPECT_THAT(client(request("", "/" + much)).receive().code, testing::AnyOf(414, 0));
}

// Just below and above what fits, where the answer needs room too.
TEST_F(WebTest, WhatNearlyFitsIsAnsweredAndCounted) {
  start();
  const auto code_of = [&](const std::string& headers, const std::string& path = "/healthz") {
    return client(request(headers, path)).receive().code;
  };
  std::string parameters = "/metrics?a";
  for (int i = 0; i < 500; ++i) parameters += "&a";
  EXPECT_EQ(code_of("", parameters), 431);
  int refused = 1;
  for (std::size_t size = 15'500; size < 27'000; size += size < 16'500 ? 50 : 500) {
    const std::string fill(size, 'x');
    std::string fields;
    while (fields.size() < size) fields += "X: y\r\n";
    const int header = code_of("X: " + fill + "\r\n");
    const int cookie = code_of("Cookie: a=" + fill + "\r\n");
    const int uri = code_of("", "/" + fill);
    const int many = code_of(fields);
    EXPECT_TRUE(header == 431 || (header == 200 && size < 16'000)) << size << ": " << header;
    EXPECT_EQ(cookie, 431) << size;
    EXPECT_TRUE(uri == 431 || (uri == 404 && size < 16'000)) << size << ": " << uri;
    EXPECT_EQ(many, 431) << size;
    for (const int code : {header, cookie, uri, many}) refused += code == 431;
  }
  // Where libmicrohttpd's own memory ends it may just close the connection.
  for (std::size_t size = 27'000; size < 30'000; size += 100, ++refused) {
    EXPECT_THAT(code_of("X: " + std::string(size, 'x') + "\r\n"), testing::AnyOf(431, 0)) << size;
  }
  EXPECT_TRUE(
      shows("jetmem_http_refused_total{reason=\"bad_request\"} " + std::to_string(refused)));
  EXPECT_THAT(log(), HasSubstr("http: 127.0.0.1 sent a request that is malformed"));
}

// What two programs may delimit differently: its body would be the next request behind a proxy.
TEST_F(WebTest, AmbiguousRequestsAreRefusedAndEndTheConnection) {
  start();
  const std::string second = request("", "/nothing");
  const std::string size = std::to_string(second.size());
  const std::vector<std::string> all = {
      "Content-Length: 0\r\nContent-Length: " + size,
      "Content-Length: " + size + "\r\nContent-Length: " + size,
      "Content-Length : " + size,
      "Content-Length\t: " + size,
      " Content-Length: " + size,
      "Content-Length:\r\n " + size,
      "Content-Length: 0\r\n\t" + size,
      "X-A: b\r\n c",
      "X-A: b\r\n Content-Length: " + size,
      "X-A:\r\n b\r\n  c\r\n d",
      "Content-Length: +" + size,
      "Content-Length: 0x10",
      "Content-Length: 0, " + size,
      "Content-Length: 1 1",
      "Content-Length:",
      "Transfer-Encoding: chunked\r\nContent-Length: " + size,
      "Content-Length: 0\r\nTransfer-Encoding: chunked",
      "Transfer-Encoding : chunked",
      "Transfer-Encoding:\r\n chunked",
      "Transfer-Encoding: identity",
      "Transfer-Encoding: gzip, chunked",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
      "Transfer-Encoding: \x0b"
      "chunked",
      "X: y\rContent-Length: " + size,
      "X\x01: y",
      "no colon",
      "Host: other",
      std::string("Content-Length: 0\0", 18) + size,
      std::string("Content-Length: 0\0", 18) + size + "\r\nX: y",
      std::string("Accept-Encoding: identity\0gzip", 30),
      std::string("Content-Length: 0\0\0", 19) + size + "\r\nX: y",
      std::string("Content-Length: 0\0 ", 19) + size + "\r\nX: y",
      std::string("Content-Length: 0\0\r\nX: y", 24),
      std::string("Content-Length: 0\0 ", 19) + size,
      std::string("X: y\r\n\0X: y", 11),
      std::string("X: y\r\n\0", 7),
      std::string("X: y\r\n\0\0", 8),
      std::string("X: y\r\n\0\0\0", 9),
      std::string("X: y\r\n\0\0: y", 11),
      "X: y\nX: y",
      "X: y\n",
  };
  for (const std::string& each : all) {
    HttpClient client(address_, request(each + "\r\n") + second);
    EXPECT_EQ(client.receive().code, 400) << each;
    EXPECT_EQ(client.receive().code, 0) << each;
    EXPECT_TRUE(client.closes_within(2000)) << each;
  }
  // The first line and what follows it.
  const std::string rest = " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& line :
       {std::string("GET\0X /healthz", 14) + rest, "GET /metrics%00.html" + rest,
        "GET /metrics" + std::string(1, '\0') + ".html" + rest,
        std::string("GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n"),
        std::string("GET /healthz HTTP/1.1\r\n\r\n"), "GET /a b" + rest,
        std::string("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\n")}) {
    HttpClient client(address_, line + second);
    const int code = client.receive().code;
    // Without an answer libmicrohttpd 1.0 closes a connection with a NUL in its first line.
    const bool is_silent = line.find('\0') != std::string::npos && MHD_get_version()[0] == '1';
    EXPECT_EQ(code, is_silent ? 0 : 400) << line;
    EXPECT_TRUE(client.closes_within(2000)) << line;
  }
  EXPECT_TRUE(
      shows("jetmem_http_refused_total{reason=\"bad_request\"} " + std::to_string(all.size() + 7)));
  // None of it is taken for what ordinary clients send.
  EXPECT_EQ(fetch(address_, "/healthz", "Content-Length: 0\r\nX-A: \t b\r\nCookie: a=b\r\n").code,
            200);
}

TEST_F(WebTest, GarbageHurtsNobody) {
  options_.request_timeout = milliseconds(1000);
  start();
  std::vector<HttpClient> clients;
  for (const std::string& garbage :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(200, '\0'),
        std::string("\r\n\r\n\r\n"), std::string("GET\r\n\r\n"), std::string(5000, '\xff'),
        std::string("GET / HTTP/9.9\r\n\r\n"), std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n")}) {
    clients.push_back(client(garbage));
    ::shutdown(clients.back().fd(), SHUT_WR);
    EXPECT_EQ(fetch(address_, "/healthz").code, 200);
  }
  // Perhaps a refusal, in any case the end.
  for (auto& client : clients) EXPECT_TRUE(client.closes_within(5000));
}

TEST_F(WebTest, SilentClientsChangeNothingForAScrape) {
  start();
  std::vector<HttpClient> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(client(i % 2 == 1 ? "GET /met" : ""));
  int slow = 0;
  for (int i = 0; i < 50; ++i) {
    const auto begin = steady_clock::now();
    ASSERT_EQ(fetch(address_, "/metrics").code, 200);
    if (steady_clock::now() - begin > milliseconds(50)) ++slow;
  }
  EXPECT_LE(slow, 2);  // a busy machine may hold up one or two, but no client can hold up all
}

TEST_F(WebTest, AnIdleThreadDoesNotWake) {
  start();
  HttpClient kept(address_, kGet);
  EXPECT_EQ(kept.receive().code, 200);
  long before = -1;
  EXPECT_TRUE(wait_for([&] {
    const long last = before;
    before = wakeups_of_web_thread();
    return last >= 0 && before == last;
  }));
  ASSERT_GE(before, 0);
  std::this_thread::sleep_for(milliseconds(1000));
  EXPECT_EQ(wakeups_of_web_thread(), before);
}

TEST_F(WebTest, StopIsPromptWithOpenConnections) {
  start();
  std::vector<HttpClient> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(client(i % 2 == 0 ? kGetMetrics : "GE"));
  EXPECT_EQ(fetch(address_, "/healthz").code, 200);  // it has come to them
  const auto begin = steady_clock::now();
  web_->stop();
  EXPECT_LT(steady_clock::now() - begin, milliseconds(100));
  EXPECT_TRUE(web_->addresses().empty());
  web_->stop();  // twice is once
}

TEST_F(WebTest, ABusyPortIsReportedAndTakenOnceFree) {
  auto holder = listen_on(*parse_listen_address("127.0.0.1:0"));
  ASSERT_TRUE(holder);
  const ListenAddress needed = holder->address();
  options_.listen_retry = milliseconds(50);
  start({"127.0.0.1:0", needed.text()});
  ASSERT_EQ(failures_.size(), 1U);
  EXPECT_THAT(failures_[0], HasSubstr(needed.text()));
  EXPECT_EQ(web_->addresses().size(), 1U);
  EXPECT_TRUE(wait_for([&] { return metrics().find("failures_total 3") != std::string::npos; }));
  EXPECT_EQ(log(), "");  // start() reported it already

  *holder = Listener();
  EXPECT_TRUE(wait_for([&] { return log() == "info serving http on " + needed.text() + "\n"; }));
  EXPECT_EQ(web_->addresses().size(), 2U);
  EXPECT_EQ(fetch(needed, "/healthz").code, 200);
}

TEST_F(WebTest, Ipv6) {
  start({"[::1]:0"});
  if (!failures_.empty()) GTEST_SKIP() << "no IPv6 here: " << failures_[0];
  EXPECT_EQ(fetch(address_, "/healthz").code, 200);
}

TEST_F(WebTest, UnixSocketsServeWhateverTheClientsOwnAddress) {
  const TempDir directory;
  options_.max_connections_per_client = 1;  // there are no shares of a socket
  start({"unix:" + directory.file("api.socket")});
  ASSERT_TRUE(failures_.empty()) << failures_[0];
  HttpClient kept = client(kGet);
  EXPECT_EQ(kept.receive().code, 200);
  EXPECT_EQ(fetch(address_, "/metrics").code, 200);
  HttpClient stranger = client("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(stranger.receive().code, 200) << "no browser comes this way";
  kept.send(kGet);
  EXPECT_EQ(kept.receive().code, 200) << "nor does it give way to the others";

  // A client bound to the longest path there can be.
  std::string path = directory.file("");
  path.resize(sizeof sockaddr_un::sun_path - 1, 'x');
  const sockaddr_un own = unix_address(path);
  const sockaddr_un to = unix_address(address_.host);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  ASSERT_GT(::send(fd.get(), kGet, std::string_view(kGet).size(), 0), 0);
  char answer[16];
  ASSERT_GT(::read(fd.get(), answer, sizeof answer), 12);
  EXPECT_EQ(std::string(answer, 12), "HTTP/1.1 200");

  web_->stop();
  EXPECT_FALSE(std::filesystem::exists(address_.host));
}

}  // namespace
}  // namespace jetmem
