// SPDX-License-Identifier: Apache-2.0
// The web configuration in force follows its files, and errors keep the one before.
#include "daemon/http/access/access_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include "tests/daemon/http/web_fixture.h"
#include "tests/test_certificate.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using test::MadeCertificate;
using test::make_certificate;
using testing::HasSubstr;

const std::string kUser =
    "basic_auth_users:\n"
    "  alice: $2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze\n";
const test::CertificateSpec kExpired{.name = "old", .valid_from = -7200, .valid_until = -3600};
const std::string kTls = "tls_server_config: {cert_file: a.crt, key_file: a.key}\n";
const std::string kVerified =
    "tls_server_config: {cert_file: a.crt, key_file: a.key, client_ca_file: a.crt, "
    "client_auth_type: RequireAndVerifyClientCert}\n";

class AccessFilesTest : public testing::Test {
 protected:
  // A new pair in its place.
  void put_new(const test::CertificateSpec& spec = {}) {
    MadeCertificate pair;
    make_certificate(pair, spec);
    directory_.write("a.crt", pair.certificate_pem);
    directory_.write("a.key", pair.key_pem);
    ::chmod(directory_.file("a.key").c_str(), 0600);
  }
  void start(const std::string& text, milliseconds snapshot = milliseconds(20)) {
    directory_.write("web.yaml", text);
    files_ = std::make_unique<AccessFiles>(directory_.file("web.yaml"), log_,
                                           AccessPace{snapshot, milliseconds(20)});
    EXPECT_TRUE(files_->start());
  }
  std::string log() { return log_.text(); }
  bool comes_to_log(const std::string& text) {
    return comes([&](const auto&) { return log().find(text) != std::string::npos; });
  }
  // Waits until the state is as wanted.
  template <class Wanted>
  bool comes(Wanted needed) {
    for (int i = 0; i < 100; ++i) {
      if (needed(files_->state())) return true;
      pollfd news{files_->changes().get(), POLLIN, 0};
      ::poll(&news, 1, 100);
      files_->changes().clear();
    }
    return false;
  }

  TempDir directory_;
  LockedLog log_;
  std::unique_ptr<AccessFiles> files_;
};

TEST_F(AccessFilesTest, LoadsAValidConfigurationAtStart) {
  put_new();
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

TEST_F(AccessFilesTest, AnErrorAtStartMeansNoRulesUntilItIsFixed) {
  start("basic_auth_users: {alice: secret}\n");
  EXPECT_FALSE(files_->state().rules);
  EXPECT_FALSE(files_->state().good);
  EXPECT_EQ(files_->state().loads_failed, 1U);
  EXPECT_THAT(log(), HasSubstr("web.yaml:1:27: the password of 'alice'"));
  EXPECT_THAT(log(), HasSubstr("no TCP port is opened"));
  directory_.write("web.yaml", kUser);
  EXPECT_TRUE(comes([](const auto& state) { return state.rules != nullptr; }));
  EXPECT_TRUE(files_->state().good);
}

TEST_F(AccessFilesTest, ALaterErrorKeepsTheRules) {
  start(kUser);
  const auto before = files_->state().rules;
  ASSERT_TRUE(before);
  directory_.write("web.yaml", "basic_auth_users:\n");
  EXPECT_TRUE(comes_to_log("is refused; the one in force is kept"));
  EXPECT_FALSE(files_->state().good);
  EXPECT_EQ(files_->state().rules, before);
  // The same error is logged once, however often it is tried.
  const auto failed = files_->state().loads_failed;
  EXPECT_TRUE(comes([&](const auto& state) { return state.loads_failed >= failed + 3; }));
  const std::string logged = log();
  EXPECT_EQ(logged.find("has no value"), logged.rfind("has no value"));
  // But again at a reload.
  files_->reload();
  EXPECT_TRUE(comes([&](const auto&) { return log().size() > logged.size(); }));
}

// A tool that writes in place leaves half a file for a moment, or for good when the disk is full.
TEST_F(AccessFilesTest, LessProtectionNeedsAReload) {
  for (const auto& [lost, less] : {std::pair("passwords", kVerified),
                                   {"client certificates", kTls + kUser},
                                   {"TLS, client certificates", kUser}}) {
    SCOPED_TRACE(lost);
    put_new();
    start(kVerified + kUser);
    const auto before = files_->state().rules;
    ASSERT_TRUE(before) << log();
    directory_.write("web.yaml", less);
    // It is tried repeatedly, and refused each time.
    EXPECT_TRUE(comes([](const auto& state) { return state.loads_failed >= 3; }));
    EXPECT_EQ(files_->state().rules, before);
    EXPECT_FALSE(files_->state().good);
    const std::string logged = "(" + std::string(lost) + "); ";
    EXPECT_THAT(log(), HasSubstr(logged + "if that is intended, run systemctl reload jetmemd"));
    files_->reload();
    EXPECT_TRUE(comes([](const auto& state) { return state.good; }));
    EXPECT_NE(files_->state().rules, before);
    EXPECT_THAT(log(), HasSubstr(logged + "accepted because of the reload"));
  }
}

TEST_F(AccessFilesTest, WarnsAboutPermissions) {
  directory_.write("web.yaml", kUser);
  ::chmod(directory_.file("web.yaml").c_str(), 0644);
  start(kUser);
  EXPECT_TRUE(files_->state().good);
  EXPECT_THAT(log(), HasSubstr("worse http: " + directory_.file("web.yaml") +
                               ": holds secrets and can be read by every user"));
  ::chmod(directory_.file("web.yaml").c_str(), 0646);
  files_->reload();
  EXPECT_TRUE(comes_to_log("can be changed by every user"));
}

TEST_F(AccessFilesTest, NoticesANewPairUnlessItHasExpired) {
  put_new();
  start(kTls);
  const auto before = files_->state().rules;
  MadeCertificate second;
  make_certificate(second, {.name = "renewed"});
  // One after the other, as tools write them: half of a pair is never used.
  directory_.write("a.crt", second.certificate_pem);
  EXPECT_TRUE(comes([](const auto& state) { return !state.good; }));
  EXPECT_EQ(files_->state().rules, before);
  directory_.write("a.key", second.key_pem);
  EXPECT_TRUE(comes([](const auto& state) { return state.good; }));
  EXPECT_EQ(files_->state().rules->subject, "CN=renewed");
  EXPECT_EQ(before->subject, "CN=localhost");
  put_new(kExpired);
  // Between the two writes the pair does not match, which is another error.
  EXPECT_TRUE(comes_to_log("a.crt: the certificate has expired on 20"));
  EXPECT_FALSE(files_->state().good);
  EXPECT_EQ(files_->state().rules->subject, "CN=renewed");
}

// A device without a battery for its clock starts in 1970: that must not close its port.
TEST_F(AccessFilesTest, AtStartAnExpiredCertificateIsServedWithAWarning) {
  put_new(kExpired);
  start(kTls);
  ASSERT_TRUE(files_->state().rules);
  EXPECT_TRUE(files_->state().good);
  EXPECT_THAT(log(),
              HasSubstr("worse http: " + directory_.file("a.crt") + ": the certificate has"));
  EXPECT_TRUE(comes_to_log("the certificate of CN=old has expired on"));
}

TEST_F(AccessFilesTest, AReloadReadsImmediately) {
  start(kUser, std::chrono::hours(1));
  directory_.write("web.yaml", kUser +
                                   "  bob: $2y$10$hLqFl9jSjoAAy95Z/zw8Ye8wkdMBM8c5Bn1ptYqP/"
                                   "AXyV0.oy0S8m\n");
  files_->reload();
  EXPECT_TRUE(comes([](const auto& state) { return state.rules->users.size() == 2; }));
}

}  // namespace
}  // namespace jetmem
