// SPDX-License-Identifier: Apache-2.0
// By which name the web server may be asked: unit, and over real sockets.
#include "daemon/http/access/host_guard.h"

#include "tests/daemon/http/web_fixture.h"

namespace jetmem {
namespace {

using ::testing::HasSubstr;

TEST(HostGuardTest, OnLoopbackOnlyWhatIsNobodyElsesName) {
  for (const char* host : {"localhost", "localhost:10743", "LOCALHOST.:1", "orin.localhost",
                           "127.0.0.1", "127.0.0.1:10743", "[::1]", "[::1]:10743",
                           "[fe80::1%25eth0]:1", "192.0.2.7:80", "::1", ""}) {
    EXPECT_TRUE(allows_host(host, true, {})) << host;
  }
  for (const char* host :
       {"evil.example", "evil.example:10743", "orin-7", "127.0.0.1.evil.example",
        "localhost.evil.example:80", "notlocalhost", "evil.example:127.0.0.1", "[evil.example]:1",
        "localhost@evil.example", " localhost", "[", "]", ":", "."}) {
    EXPECT_FALSE(allows_host(host, true, {})) << host;
  }
}

TEST(HostGuardTest, ElsewhereEveryNameUntilSomeAreGiven) {
  EXPECT_TRUE(allows_host("evil.example", false, {}));
  const std::vector<std::string> names{"Orin-7.Example.org", "orin-7"};
  for (const bool on_loopback : {false, true}) {
    for (const char* host :
         {"orin-7.example.org:10743", "ORIN-7.EXAMPLE.ORG.", "orin-7", "192.0.2.7:10743"}) {
      EXPECT_TRUE(allows_host(host, on_loopback, names)) << host;
    }
    EXPECT_FALSE(allows_host("evil.example", on_loopback, names));
    EXPECT_FALSE(allows_host("x.orin-7.example.org", on_loopback, names));
  }
}

TEST(HostGuardTest, WhichAddressesAreLoopback) {
  for (const char* yes : {"127.0.0.1:1", "127.1.2.3:1", "[::1]:1", "[0:0:0:0:0:0:0:1]:1"}) {
    EXPECT_TRUE(is_loopback(*parse_listen_address(yes))) << yes;
  }
  for (const char* no : {"0.0.0.0:1", "[::]:1", "192.0.2.7:1", "unix:/127.0.0.1"}) {
    EXPECT_FALSE(is_loopback(*parse_listen_address(no))) << no;
  }
}

class HostGuardWebTest : public WebServerTest {
 protected:
  Reply ask(const std::string& host, const std::string& path = "/metrics") {
    return client("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n").receive();
  }
};

TEST_F(HostGuardWebTest, APageThatLedABrowserHereReadsNothing) {
  start();
  for (const char* path : {"/", "/metrics", "/api/v1/now", "/api/v1/alerts", "/healthz", "/x"}) {
    const Reply reply = ask("evil.example:10743", path);
    EXPECT_EQ(reply.code, 421) << path;
    EXPECT_THAT(reply.body, HasSubstr("http.hosts"));
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_EQ(reply.header("x-content-type-options"), "nosniff");
  }
  const std::string page = ask("localhost").body;
  EXPECT_THAT(page, HasSubstr("\njetmem_http_refused_total{reason=\"host\"} 6\n"));
  EXPECT_THAT(page, HasSubstr("jetmem_http_requests_total{code=\"421\",path=\"/metrics\"} 1\n"));
  web_->stop();
  EXPECT_THAT(log(), HasSubstr("127.0.0.1 got 421"));
  EXPECT_EQ(log().find("evil"), std::string::npos) << "what a stranger wrote is not logged";
}

TEST_F(HostGuardWebTest, NamesOfTheSettingsAreAnswered) {
  options_.hosts = {"orin-7.example.org"};
  start();
  EXPECT_EQ(ask("orin-7.example.org").code, 200);
  EXPECT_EQ(ask("evil.example").code, 421);
}

TEST_F(HostGuardWebTest, OnOtherAddressesAScraperCallsItAsItLikes) {
  start({"0.0.0.0:0"});
  address_.host = "127.0.0.1";
  EXPECT_EQ(ask("orin-7.example.org").code, 200);
}

}  // namespace
}  // namespace jetmem
