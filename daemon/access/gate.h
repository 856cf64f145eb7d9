// Who may ask: the user and password of a request over TCP, where the rules want one, and the name
// by which it asks, where they want neither that nor TLS. The web thread's own.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/access/access_rules.h"
#include "daemon/access/host_guard.h"
#include "daemon/access/password_desk.h"
#include "daemon/access/refusals.h"
#include "daemon/pages.h"

namespace jetmem {

class Gate {
 public:
  // For so long a request waits for its password to be checked.
  static constexpr std::chrono::seconds kPatience{10};

  // `refusals` must outlive this object.
  explicit Gate(Refusals& refusals, const std::vector<std::string>& hosts = {})
      : refusals_(refusals), hosts_(hosts) {}

  // Null: nothing is asked.
  void set_rules(std::shared_ptr<const AccessRules> rules);
  // What is answered in place of the page; nothing: the page. With Answer::at_gate the request is
  // to come again at the desk's news.
  std::optional<Answer> check(const Request& request);

  PasswordDesk& desk() { return desk_; }
  const AccessRules* rules() const { return rules_.get(); }

 private:
  Answer refuse(AuthFailure why, const Request& request);
  Answer put_off(unsigned code, const Request& request);

  std::optional<Answer> check_host(const Request& request);

  Refusals& refusals_;
  const HostGuard hosts_;
  std::shared_ptr<const AccessRules> rules_;
  PasswordDesk desk_;
};

}  // namespace jetmem
