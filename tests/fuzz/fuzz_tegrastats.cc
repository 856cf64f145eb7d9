// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "collectors/jetson/tegrastats/source.h"
#include "tests/fuzz/target.h"

namespace jetmem {
namespace {

// Every word is in a field that is known or stands in `unknown`, in its order.
void check_words(std::string_view text, const TegrastatsLine& line) {
  constexpr const char* kSpaces = " \t\n\v\f\r";
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; (begin = text.find_first_not_of(kSpaces, begin)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpaces, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  check(line.known_words + line.unknown.size() + line.unknown_more == words.size());
  auto word = words.begin();
  for (const std::string& unknown : line.unknown) {
    while (word != words.end() && word->substr(0, 120) != unknown) ++word;
    check(word != words.end());
    ++word;
  }
}

}  // namespace
}  // namespace jetmem

FUZZ(text) {
  static TegrastatsLine reused;
  static TegrastatsSource source;
  TegrastatsLine fresh;
  parse_tegrastats_line(text, fresh);
  parse_tegrastats_line(text, reused);
  check(fresh == reused);
  check_words(text, fresh);
  check(fresh.cores.size() <= 256 && fresh.gr3d.mhz.size() <= 16 && fresh.gr3d2.mhz.size() <= 16);
  check(fresh.engines.size() <= 64 && fresh.rails.size() <= 64 && fresh.zones.size() <= 64);
  check(fresh.unknown.size() <= 64);
  std::set<std::string> names;
  for (const TegrastatsLine::Engine& engine : fresh.engines) {
    check(names.insert(engine.name).second);
    check(engine.load.off || engine.load.percent || engine.load.mhz);
  }
  names.clear();
  for (const TegrastatsLine::Zone& zone : fresh.zones) {
    check(names.insert(zone.name).second);
    check(!zone.celsius || (*zone.celsius > -200 && *zone.celsius <= 1001));
  }

  Tegrastats first;
  const bool ok = parse_tegrastats(text, first).has_value();
  Snapshot snapshot;
  snapshot.add("/jetmem/tegrastats", text, 0);
  check(source.parse(snapshot, {}).has_value() == ok);
  check(!ok || source.reading() == first);
}
