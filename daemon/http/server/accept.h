// SPDX-License-Identifier: Apache-2.0
// What a client takes, by its headers Accept and Accept-Encoding (RFC 9110, 12.5).
#pragma once

#include <string_view>

namespace jetmem {

// gzip is named, or all codings are, with another weight than 0.
bool accepts_gzip(std::string_view accept_encoding);

// OpenMetrics 1.0 is named, with a weight above 0 and not below that of plain text. Prometheus and
// OpenTelemetry's collector name it first; a browser does not.
bool prefers_open_metrics(std::string_view accept);

}  // namespace jetmem
