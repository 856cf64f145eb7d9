// SPDX-License-Identifier: Apache-2.0
// Admits requests over TCP: checks user and password if the rules require them, else, without TLS,
// the Host header. The web thread's own.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/http/access/access_files.h"
#include "daemon/http/access/host_guard.h"
#include "daemon/http/access/password_verifier.h"
#include "daemon/http/server/pages.h"
#include "daemon/http/web_metrics.h"

namespace jetmem {

class Gate {
 public:
  // How long a request waits for its password to be checked.
  static constexpr std::chrono::seconds kTimeout{10};

  // `metrics` must outlive this object.
  explicit Gate(WebMetrics& metrics, const std::vector<std::string>& hosts = {})
      : metrics_(metrics), hosts_(hosts) {}

  // Null: no password is required.
  void set_rules(std::shared_ptr<const AccessRules> rules);
  // The answer that refuses the request; nothing: admitted. With Answer::at_gate pass the request
  // again after worker().changes().
  std::optional<Answer> check(const Request& request);

  PasswordVerifier& worker() { return verifier_; }
  const AccessRules* rules() const { return rules_.get(); }

 private:
  Answer refuse(AuthFailure why, const Request& request);
  Answer put_off(const Request& request);

  std::optional<Answer> check_host(const Request& request);

  WebMetrics& metrics_;
  const std::vector<std::string> hosts_;
  std::shared_ptr<const AccessRules> rules_;
  PasswordVerifier verifier_;
};

}  // namespace jetmem
