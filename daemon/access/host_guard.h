// Against a web page that leads a browser here by a name of its own (DNS rebinding): its name's
// address changes to this device's, and the browser then takes our answers for the page's own. Such
// a request has that name as its Host, so where neither TLS nor a password stands in the way only
// names that cannot be an outsider's are answered to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/listen_address.h"

namespace jetmem {

// 127.0.0.0/8 and ::1.
bool is_loopback(const ListenAddress& address);

class HostGuard {
 public:
  // `names`: what this device is called beside its addresses and localhost (http.hosts).
  explicit HostGuard(const std::vector<std::string>& names);

  // Whether somebody who asks for `host`, the header of that name, may be answered. An address is
  // nobody's name, and no browser leaves the header out. On other addresses than loopback every
  // name is fine as long as none is configured: a scraper may call this device as it likes.
  bool lets_in(std::string_view host, bool on_loopback) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace jetmem
