// SPDX-License-Identifier: Apache-2.0
// The limits of the web thread over real sockets: slow clients, too many, and passwords.
#include <sys/socket.h>

#include "tests/daemon/http/web_fixture.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

class WebLimitsTest : public WebServerTest {
 protected:
  // So many that have begun to take an answer and do not go on.
  std::vector<HttpClient> reading_slowly(int count) const {
    std::vector<HttpClient> deaf;
    for (int i = 0; i < count; ++i) {
      deaf.push_back(deaf_client(kGetMetrics));
      char byte = 0;
      EXPECT_EQ(::recv(deaf.back().fd(), &byte, 1, 0), 1);
    }
    return deaf;
  }
};

TEST_F(WebLimitsTest, ATrickleIsCutThoughItIsNeverSilent) {
  options_.request_timeout = seconds(1);
  start();
  HttpClient slow(address_);
  auto begin = steady_clock::now();
  const std::string text = request("X-A: " + std::string(1000, 'a'));
  for (std::size_t sent = 0; sent < 1000; ++sent) {
    if (!slow.send(text.substr(sent, 1)) || slow.closes_within(50)) break;
  }
  EXPECT_GE(steady_clock::now() - begin, milliseconds(900));
  EXPECT_LT(steady_clock::now() - begin, milliseconds(3000));
  EXPECT_TRUE(shows("jetmem_http_refused_total{reason=\"slow_request\"} 1"));
  EXPECT_THAT(log(), HasSubstr("http: 127.0.0.1 did not complete its request"));
  // On a kept connection too, which is then no refusal.
  HttpClient kept = client(kGet);
  EXPECT_EQ(kept.receive().code, 200);
  begin = steady_clock::now();
  while (kept.send("G") && !kept.closes_within(100)) {
    ASSERT_LT(steady_clock::now() - begin, seconds(6));
  }
  EXPECT_GE(steady_clock::now() - begin, milliseconds(900));
  EXPECT_TRUE(shows("jetmem_http_refused_total{reason=\"slow_request\"} 1"));
}

TEST_F(WebLimitsTest, WhoDoesNotTakeTheAnswerIsCut) {
  options_.request_timeout = seconds(1);
  sample(6'000);  // about 300 kB, more than the kernel takes off us
  start();
  const auto deaf = deaf_client(kGetMetrics);
  // Takes a little all the time, so that it is never idle, and far too little.
  const auto begin = steady_clock::now();
  char some[512];
  bool open = true;
  while (open && steady_clock::now() - begin < seconds(60)) {
    std::this_thread::sleep_for(milliseconds(100));
    const ssize_t n = ::recv(deaf.fd(), some, sizeof some, MSG_DONTWAIT);
    open = n > 0 || (n < 0 && errno == EAGAIN);
  }
  EXPECT_FALSE(open);
  EXPECT_TRUE(shows("jetmem_http_refused_total{reason=\"slow_reader\"} 1"));
  EXPECT_TRUE(shows("jetmem_http_response_buffer_bytes 0"));
}

// Its oldest idle one goes for each new one.
TEST_F(WebLimitsTest, OneClientHasItsShareOfConnections) {
  options_.max_connections_per_client = 4;
  start();
  std::vector<HttpClient> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(client(kGet));
    EXPECT_EQ(clients.back().receive().code, 200);
  }
  EXPECT_TRUE(clients[0].closes_within(2000));
  EXPECT_TRUE(clients[1].closes_within(2000));
  for (std::size_t i = 2; i < clients.size(); ++i) {
    clients[i].send(kGet);
    EXPECT_EQ(clients[i].receive().code, 200) << i;
  }
  EXPECT_THAT(log(), HasSubstr("http.max_connections_per_client"));
  clients.clear();
  // Those that are just being closed may still count.
  EXPECT_THAT(metrics(),
              testing::ContainsRegex("refused_total.reason=\"client_connections\". [2-9]"));
}

// None of them is idle: the new one goes. Another address gets in.
TEST_F(WebLimitsTest, WhoReadsSlowlyOnAllItsConnectionsGetsNoOther) {
  options_.max_connections_per_client = 2;
  sample(6'000);
  start();
  std::vector<HttpClient> deaf = reading_slowly(2);
  HttpClient refused = client(kGet);
  EXPECT_EQ(refused.receive().code, 0);
  EXPECT_TRUE(refused.closes_within(2000));
  deaf.clear();
  EXPECT_TRUE(wait_for([&] { return fetch(address_, "/healthz").code == 200; }));
  EXPECT_THAT(metrics(),
              testing::ContainsRegex("refused_total.reason=\"client_connections\". [1-9]"));
}

TEST_F(WebLimitsTest, WhenAllAreTakenAndNoneIsIdleTheNewOneIsClosed) {
  options_.max_connections = 2;
  sample(6'000);
  const TempDir directory;
  start({"127.0.0.1:0", "unix:" + directory.file("api.socket")});
  const std::vector<HttpClient> deaf = reading_slowly(2);
  EXPECT_EQ(client(kGet).receive().code, 0);
  EXPECT_THAT(log(), HasSubstr("was refused a connection"));
  // The socket for local commands has places of its own.
  const Reply local = fetch(web_->addresses().back(), "/metrics");
  EXPECT_EQ(local.code, 200);
  EXPECT_THAT(local.body, HasSubstr("\njetmem_http_refused_total{reason=\"connections\"} 1\n"));
}

TEST_F(WebLimitsTest, WhenAllAreTakenTheIdleGiveWay) {
  options_.max_connections = 3;
  start();
  std::vector<HttpClient> idle;
  for (int i = 0; i < 3; ++i) idle.push_back(client("GET"));
  // Far sooner than any of their deadlines.
  const auto begin = steady_clock::now();
  EXPECT_EQ(fetch(address_, "/healthz").code, 200);
  EXPECT_LT(steady_clock::now() - begin, seconds(3));
  EXPECT_THAT(log(), HasSubstr("127.0.0.1 was idle"));
  EXPECT_TRUE(
      wait_for([&] { return metrics().find("{reason=\"idle_evicted\"} 0") == std::string::npos; }));
}

TEST_F(WebLimitsTest, SlowReadersHoldABoundedAmount) {
  options_.max_connections_per_client = 64;
  // Nobody is cut, however long it takes to make the pages.
  options_.request_timeout = seconds(300);
  start();
  std::vector<HttpClient> deaf;
  // Each its own page of about 1.2 MB: fourteen of them are more than all may hold.
  int refused = 0;
  for (int i = 0; i < 18; ++i) {
    sample(20'000 - i);
    deaf.push_back(deaf_client(kGetMetrics));
    char head[13] = {};
    ASSERT_EQ(::recv(deaf.back().fd(), head, 12, MSG_WAITALL), 12);
    if (std::string(head) == "HTTP/1.1 503") ++refused;
  }
  EXPECT_GE(refused, 2);
  // A scrape that compresses comes through all the same.
  const Reply scrape = fetch(address_, "/metrics", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(scrape.code, 200);
  const std::string page = gunzip(scrape.body);
  EXPECT_THAT(page, HasSubstr("jetmem_http_requests_total{code=\"503\",path=\"/metrics\"} " +
                              std::to_string(refused) + "\n"));
  EXPECT_THAT(page, HasSubstr("jetmem_http_requests_total{code=\"200\",path=\"/metrics\"} " +
                              std::to_string(18 - refused) + "\n"));
  EXPECT_THAT(page, HasSubstr("jetmem_http_refused_total{reason=\"response_memory\"} " +
                              std::to_string(refused) + "\n"));
  deaf.clear();
  EXPECT_TRUE(shows("jetmem_http_response_buffer_bytes 0"));
}

TEST_F(WebLimitsTest, WhileOneFloodsOthersAreServed) {
  start();
  std::atomic<bool> stop{false};
  std::vector<std::thread> flood;
  for (int i = 0; i < 4; ++i) {
    flood.emplace_back([&] {
      std::string burst;
      for (int n = 0; n < 50; ++n) burst += kGetMetrics;
      while (!stop) {
        HttpClient client(address_, burst);
        while (!stop && client.receive().code == 200) {
        }
      }
    });
  }
  std::this_thread::sleep_for(milliseconds(2500));
  const auto begin = steady_clock::now();
  const std::string page = metrics();
  EXPECT_LT(steady_clock::now() - begin, seconds(2));
  stop = true;
  for (std::thread& each : flood) each.join();
  EXPECT_THAT(page, HasSubstr("\njetmem_samples_age_seconds "));
}

// alice's password is "right".
constexpr const char* kHash = "$2b$04$abcdefghijklmnopqrstuuFmEfrkTQnczNzw475xE2VhDrK1uwJiC";
constexpr const char* kRight = "Authorization: Basic YWxpY2U6cmlnaHQ=\r\n";

class WebPasswordTest : public WebLimitsTest {
 protected:
  WebPasswordTest() { options_.web_config = directory_.file("web.yaml"); }
  void write_config(const std::string& password = kHash, const std::string& more = "") {
    directory_.write("web.yaml", "basic_auth_users: {alice: " + password + "}\n" + more);
  }

  TempDir directory_;
};

TEST_F(WebPasswordTest, EverythingOverTcpNeedsOne) {
  write_config(kHash,
               "http_server_config: {headers: {X-Frame-Options: deny, "
               "Content-Security-Policy: \"sandbox\"}}\n");
  start();
  ASSERT_TRUE(failures_.empty());
  for (const char* path : {"/", "/metrics", "/healthz", "/readyz", "/api/v1/now", "/nothing"}) {
    const Reply reply = fetch(address_, path);
    EXPECT_EQ(reply.code, 401) << path;
    EXPECT_EQ(reply.header("www-authenticate"), "Basic realm=\"jetmem\", charset=\"UTF-8\"");
  }
  const Reply page = fetch(address_, "/healthz", kRight);
  EXPECT_EQ(page.code, 200);
  EXPECT_EQ(page.body, "ok\n");
  EXPECT_EQ(page.header("x-frame-options"), "deny");
  EXPECT_EQ(page.header("content-security-policy"), "sandbox");
  for (const char* wrong : {"YWxpY2U6d3Jvbmc=", "nonsense"}) {
    const std::string header = "Authorization: Basic " + std::string(wrong) + "\r\n";
    EXPECT_EQ(fetch(address_, "/healthz", header).code, 401) << wrong;
  }
  // One that was kept proves itself each time.
  HttpClient kept(address_, request(kRight) + kGet + request(kRight));
  for (const int code : {200, 401, 200}) EXPECT_EQ(kept.receive().code, code);
  // Bodies are refused before that.
  EXPECT_EQ(fetch(address_, "/", "Content-Length: 5\r\n", "POST").code, 400);
  const std::string metrics = this->metrics(kRight);
  EXPECT_THAT(metrics, HasSubstr("\njetmem_http_auth_failures_total{reason=\"missing\"} 7\n"));
  EXPECT_THAT(metrics, HasSubstr("\njetmem_http_auth_failures_total{reason=\"invalid\"} 2\n"));
  EXPECT_THAT(metrics, HasSubstr("\njetmem_http_password_checks_total{result=\"valid\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("\njetmem_http_web_config_ok 1\n"));
  EXPECT_THAT(metrics, HasSubstr("jetmem_http_requests_total{code=\"401\",path=\"/metrics\"} 1\n"));
  EXPECT_THAT(log(), HasSubstr("http: 127.0.0.1 gave a wrong user or password"));
}

TEST_F(WebPasswordTest, PipelinedRequestsKeepTheirOrder) {
  write_config();
  start();
  std::string burst;
  for (int i = 0; i < 10; ++i) burst += request(kRight, i % 2 == 0 ? "/metrics" : "/nothing");
  HttpClient client(address_, burst);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(client.receive().code, i % 2 == 0 ? 200 : 404) << i;
}

TEST_F(WebPasswordTest, WithAMistakeThePortStaysClosedAndTheSocketServes) {
  write_config("right");
  options_.listen_retry = milliseconds(50);
  start();
  EXPECT_TRUE(web_->addresses().empty());
  EXPECT_THAT(failures_, testing::ElementsAre(HasSubstr(options_.web_config)));
  EXPECT_THAT(log(), HasSubstr("web.yaml:1:27: "));
  write_config();
  web_->reload_access();
  ASSERT_TRUE(wait_for([this] { return !web_->addresses().empty(); }));
  EXPECT_EQ(fetch(web_->addresses().front(), "/healthz").code, 401);
}

TEST_F(WebPasswordTest, StopsWhileSomebodyWaitsAtTheGate) {
  write_config("$2b$14$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234");
  start();
  const HttpClient waiting(address_, request(kRight));
  std::this_thread::sleep_for(milliseconds(100));
  const auto begin = steady_clock::now();
  web_->stop();
  EXPECT_LT(steady_clock::now() - begin, seconds(1));
}

}  // namespace
}  // namespace jetmem
