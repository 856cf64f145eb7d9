// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/line/record.h"
#include "tests/fuzz/target.h"

FUZZ(text) {
  using kernel_log::Record;
  const auto record =
      parsed_twice(kernel_log::parse_record, text, &Record::text, &Record::caller, &Record::seq,
                   &Record::stamp, &Record::facility, &Record::fragment);
  check(!record || (record->text.size() <= kernel_log::kMaxRecord && record->level <= 7));
}
