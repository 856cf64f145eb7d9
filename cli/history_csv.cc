#include "cli/history_csv.h"

#include <array>
#include <charconv>

#include "base/utc_time.h"

namespace jetmem {
namespace {

constexpr const char* kLineEnd = "\r\n";

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  return out + "\"";
}

// The shortest that reads back as the same double.
void append(std::string& out, double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  out.append(text.data(), end).push_back(',');
}

std::string seconds_of(Nanoseconds wall) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(wall).count();
  std::string out = std::to_string(ms / 1000);
  std::string rest = std::to_string(1000 + ms % 1000);
  return out + "." + rest.substr(1);
}

}  // namespace

std::string csv_header() {
  return std::string("series,time,seconds,boot,trusted,resolution,count,min,average,max") +
         kLineEnd;
}

std::string csv_lines(const SeriesPast& past) {
  const std::string key = field(past.key);
  std::string out;
  for (const HistoryPoint& point : past.points) {
    out += key + "," + utc_time(point.wall) + "," + seconds_of(point.wall) + ",";
    out += std::to_string(point.boot) + "," + (point.wall_trusted ? "true" : "false") + ",";
    out += std::string(resolution_name(point.resolution)) + "," + std::to_string(point.count) + ",";
    append(out, point.min);
    append(out, point.average);
    append(out, point.max);
    out.pop_back();
    out += kLineEnd;
  }
  return out;
}

}  // namespace jetmem
