// The web configuration in force follows its files, and mistakes leave what was.
#include "daemon/access/access_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <mutex>

#include "tests/made_certificate.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using test::MadeCertificate;
using test::make_certificate;
using testing::HasSubstr;

const std::string kUser =
    "basic_auth_users:\n"
    "  alice: $2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze\n";
const std::string kTls = "tls_server_config: {cert_file: a.crt, key_file: a.key}\n";

class AccessFilesTest : public testing::Test {
 protected:
  void put(const MadeCertificate& pair) {
    directory_.write("a.crt", pair.certificate_pem);
    directory_.write("a.key", pair.key_pem);
    ::chmod(directory_.file("a.key").c_str(), 0600);
  }
  void start(const std::string& text, milliseconds look = milliseconds(20)) {
    directory_.write("web.yaml", text);
    files_ = std::make_unique<AccessFiles>(
        directory_.file("web.yaml"),
        [this](LogLevel level, std::string message) {
          const std::lock_guard lock(mutex_);
          log_ += (level == LogLevel::kInfo ? "info " : "worse ") + message + "\n";
        },
        AccessFiles::Pace{look, milliseconds(20)});
    EXPECT_TRUE(files_->start());
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  // Until the state is as it is wanted, each time there is news.
  template <class Wanted>
  bool comes(Wanted wanted) {
    for (int i = 0; i < 100; ++i) {
      if (wanted(files_->state())) return true;
      pollfd news{files_->news_fd(), POLLIN, 0};
      ::poll(&news, 1, 100);
      files_->news_seen();
    }
    return false;
  }

  TempDir directory_;
  std::mutex mutex_;
  std::string log_;
  std::unique_ptr<AccessFiles> files_;
};

TEST_F(AccessFilesTest, WhatIsRightIsThereAtOnce) {
  MadeCertificate pair;
  make_certificate(pair);
  put(pair);
  start(kTls + kUser);
  const auto state = files_->state();
  ASSERT_TRUE(state.rules);
  EXPECT_TRUE(state.good);
  EXPECT_TRUE(state.rules->tls);
  EXPECT_EQ(state.rules->users.size(), 1U);
  EXPECT_THAT(log(), HasSubstr("info http: web configuration " + directory_.file("web.yaml") +
                               ": TLS with the certificate of CN=localhost, valid until 20"));
  EXPECT_THAT(log(), HasSubstr("1 user with passwords"));
}

TEST_F(AccessFilesTest, AMistakeAtStartMeansNoRulesUntilItIsMended) {
  start("basic_auth_users: {alice: secret}\n");
  EXPECT_FALSE(files_->state().rules);
  EXPECT_FALSE(files_->state().good);
  EXPECT_EQ(files_->state().loads_failed, 1U);
  EXPECT_THAT(log(), HasSubstr("web.yaml:1:27: the password of 'alice' must be a bcrypt hash"));
  EXPECT_THAT(log(), HasSubstr("no TCP port is opened"));
  directory_.write("web.yaml", kUser);
  EXPECT_TRUE(comes([](const auto& state) { return state.rules != nullptr; }));
  EXPECT_TRUE(files_->state().good);
}

TEST_F(AccessFilesTest, AMistakeLaterKeepsWhatWas) {
  start(kUser);
  const auto before = files_->state().rules;
  ASSERT_TRUE(before);
  directory_.write("web.yaml", "basic_auth_users:\n");
  // Said a little after it is so.
  EXPECT_TRUE(comes([&](const auto& state) {
    return !state.good && log().find("is refused; the one in force is kept") != std::string::npos;
  }));
  EXPECT_EQ(files_->state().rules, before);
  // The same mistake, tried again and again, is said once.
  std::this_thread::sleep_for(milliseconds(150));
  const std::string said = log();
  EXPECT_EQ(said.find("has no value"), said.rfind("has no value"));
  // But for somebody who asks.
  files_->reload();
  EXPECT_TRUE(comes([&](const auto&) { return log().size() > said.size(); }));
}

// A tool that writes in place leaves half a file for a moment, or for ever where the disk is full.
class AccessFilesLessTest : public AccessFilesTest,
                            public testing::WithParamInterface<const char*> {};

const std::string kVerified =
    "tls_server_config:\n"
    "  cert_file: a.crt\n"
    "  key_file: a.key\n"
    "  client_ca_file: a.crt\n"
    "  client_auth_type: RequireAndVerifyClientCert\n"
    "  client_allowed_sans: [prometheus]\n";

TEST_P(AccessFilesLessTest, IsTakenOnlyAtAReload) {
  const std::string lost = GetParam();
  MadeCertificate pair;
  make_certificate(pair);
  put(pair);
  std::string less = kVerified + kUser;
  if (lost == "passwords") less = kVerified;
  if (lost == "TLS, certificates of clients, names in certificates of clients") less = kUser;
  if (lost == "names in certificates of clients") {
    less = kVerified.substr(0, kVerified.find("  client_allowed_sans")) + kUser;
  }
  if (lost == "certificates of clients, names in certificates of clients") less = kTls + kUser;
  start(kVerified + kUser);
  const auto before = files_->state().rules;
  ASSERT_TRUE(before) << log();
  directory_.write("web.yaml", less);
  // Tried again and again, and refused each time.
  EXPECT_TRUE(comes([](const auto& state) { return state.loads_failed >= 3; }));
  EXPECT_EQ(files_->state().rules, before);
  EXPECT_FALSE(files_->state().good);
  const std::string said = "web.yaml: no longer asks for what it asked for before (" + lost + "); ";
  EXPECT_THAT(log(), HasSubstr(said + "if that is meant, reload jetmemd"));
  files_->reload();
  EXPECT_TRUE(comes([](const auto& state) { return state.good; }));
  EXPECT_NE(files_->state().rules, before);
  EXPECT_THAT(log(), HasSubstr(said + "taken, for a reload was asked for"));
}

INSTANTIATE_TEST_SUITE_P(
    Protections, AccessFilesLessTest,
    testing::Values("passwords", "names in certificates of clients",
                    "certificates of clients, names in certificates of clients",
                    "TLS, certificates of clients, names in certificates of clients"),
    [](const auto& each) { return "Lost" + std::to_string(each.index); });

TEST_F(AccessFilesTest, RightsThatAreTooWideAreSaid) {
  directory_.write("web.yaml", kUser);
  ::chmod(directory_.file("web.yaml").c_str(), 0644);
  start(kUser);
  EXPECT_TRUE(files_->state().good);
  EXPECT_THAT(log(), HasSubstr("worse http: " + directory_.file("web.yaml") +
                               ": holds secrets and can be read by every user"));
  ::chmod(directory_.file("web.yaml").c_str(), 0646);
  files_->reload();
  EXPECT_TRUE(comes([&](const auto&) {
    return log().find("can be changed by every user") != std::string::npos;
  }));
}

TEST_F(AccessFilesTest, ANewPairComesWithoutBeingAskedFor) {
  MadeCertificate first;
  make_certificate(first);
  put(first);
  start(kTls);
  const auto before = files_->state().rules;
  MadeCertificate second;
  make_certificate(second, {.name = "renewed"});
  // One after the other, as tools do: half of a pair is never used.
  directory_.write("a.crt", second.certificate_pem);
  EXPECT_TRUE(comes([](const auto& state) { return !state.good; }));
  EXPECT_EQ(files_->state().rules, before);
  directory_.write("a.key", second.key_pem);
  EXPECT_TRUE(comes([](const auto& state) { return state.good; }));
  EXPECT_EQ(files_->state().rules->subject, "CN=renewed");
  EXPECT_EQ(before->subject, "CN=localhost");
}

TEST_F(AccessFilesTest, AnExpiredOneDoesNotReplaceAGoodOne) {
  MadeCertificate good;
  make_certificate(good);
  put(good);
  start(kTls);
  MadeCertificate expired;
  make_certificate(expired, {.name = "old", .valid_from = -7200, .valid_until = -3600});
  put(expired);
  // Between its two files the pair does not fit, which is another fault.
  EXPECT_TRUE(comes([&](const auto& state) {
    return !state.good &&
           log().find("a.crt: the certificate has expired on 20") != std::string::npos;
  }));
  EXPECT_EQ(files_->state().rules->subject, "CN=localhost");
}

// A device without a clock of its own begins in 1970: that must not close its port.
TEST_F(AccessFilesTest, AtStartATimeThatDoesNotFitIsOnlySaid) {
  MadeCertificate expired;
  make_certificate(expired, {.name = "old", .valid_from = -7200, .valid_until = -3600});
  put(expired);
  start(kTls);
  ASSERT_TRUE(files_->state().rules);
  EXPECT_TRUE(files_->state().good);
  EXPECT_THAT(log(),
              HasSubstr("worse http: " + directory_.file("a.crt") + ": the certificate has"));
  EXPECT_TRUE(comes([&](const auto&) {
    return log().find("the certificate of CN=old has expired on") != std::string::npos;
  }));
}

TEST_F(AccessFilesTest, AReloadReadsAtOnce) {
  start(kUser, std::chrono::hours(1));
  directory_.write("web.yaml", kUser +
                                   "  bob: $2y$10$hLqFl9jSjoAAy95Z/zw8Ye8wkdMBM8c5Bn1ptYqP/"
                                   "AXyV0.oy0S8m\n");
  files_->reload();
  EXPECT_TRUE(comes([](const auto& state) { return state.rules->users.size() == 2; }));
}

}  // namespace
}  // namespace jetmem
