// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/zoneinfo.h"
#include "tests/fuzz/target.h"

FUZZ(text) { parsed_twice(parse_zoneinfo, text, &Zoneinfo::zones); }
