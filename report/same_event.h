// Whether two records tell of the same event: one out of the recorder, the other out of the
// kernel's log. Their moments come from clocks that are read one after the other, and of a captured
// device they may be rounded to whole seconds.
#pragma once

#include "history/event_record.h"

namespace jetmem {

// Of a log's stamp against the recorder's.
constexpr Nanoseconds kSameEventSlack = std::chrono::seconds(2);

// Whether `recorded` stands for `of_log`. Boots are compared where both say theirs (boot 0 does
// not): who knows that one of them is of another boot asks no further.
bool is_same_event(const EventRecord& recorded, const EventRecord& of_log);

}  // namespace jetmem
