// SPDX-License-Identifier: Apache-2.0
// Protects against DNS rebinding: a web page changes the address of its own name to this device's,
// and the browser takes our answers for the page's own. Such a request has that name as its Host,
// so without TLS and passwords only names that cannot be an outsider's are answered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/listen_address.h"

namespace jetmem {

// 127.0.0.0/8 and ::1.
bool is_loopback(const ListenAddress& address);

// Whether a request with this Host header may be answered. `names`: those of this device beside its
// addresses and localhost (http.hosts). An address is safe, and no browser omits the header. On
// other addresses than loopback every name is allowed while none is configured, because a scraper
// may use any name.
bool allows_host(std::string_view host, bool on_loopback, const std::vector<std::string>& names);

}  // namespace jetmem
