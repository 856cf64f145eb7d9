// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/api/unknown_metric.h"

#include <algorithm>
#include <vector>

#include "base/text/text.h"

namespace jetmem {

ApiAnswer unknown_metric(History& history, std::string_view name) {
  std::vector<std::string> families;
  if (const auto known = history.series({})) {
    for (const SeriesKnown& each : *known)
      families.push_back(each.key.substr(0, each.key.find('{')));
  }
  std::sort(families.begin(), families.end());
  families.erase(std::unique(families.begin(), families.end()), families.end());
  // Comparing letters costs the product of both lengths.
  const std::string_view nearest = nearest_name(name.substr(0, 100), families);
  const std::string shown = printable(name, 100);
  return {400, std::make_shared<const std::string>(json::write_document(1, [&](json::Fields& v) {
            v.output("error", "there is no metric " + shown);
            v.output("fix", nearest.empty() ? "/api/v1/history lists what is recorded"
                                            : "did you mean " + printable(nearest, 100) + "?");
            v.output("code", std::string("unknown_metric"));
          }))};
}

}  // namespace jetmem
