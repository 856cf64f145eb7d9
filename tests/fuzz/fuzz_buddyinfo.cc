// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/buddyinfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  using Zone = Buddyinfo::Zone;
  parsed_twice(parse_buddyinfo, text, each(&Buddyinfo::zones, &Zone::id, [](const Zone& zone) {
                 return std::vector(zone.counts().begin(), zone.counts().end());
               }));
}
