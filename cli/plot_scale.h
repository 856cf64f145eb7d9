// Where the ticks of an axis go: at figures that a person reads with ease.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace jetmem {

struct ValueScale {
  double low = 0;
  double high = 1;
  double step = 1;  // between ticks; low and high are ticks
};

// At most `most` steps (at least 1). Equal ends are spread. `binary`: steps of 1, 2, 4, ... 512 of
// a power of 1024, for bytes.
ValueScale value_scale(double least, double greatest, std::size_t most, bool binary);

struct TimeTick {
  double time = 0;  // seconds since 1970
  std::string clock;
  std::string date;  // empty: the same as of the tick before
};

// Local time, at most `most` of them, at whole minutes, hours or days.
std::vector<TimeTick> time_ticks(double from, double to, std::size_t most);

}  // namespace jetmem
