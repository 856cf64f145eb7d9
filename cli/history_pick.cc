#include "cli/history_pick.h"

#include <algorithm>
#include <set>

#include "base/series_key.h"
#include "base/text.h"

namespace jetmem {
namespace {

constexpr std::string_view kPrefix = "jetmem_";
constexpr std::size_t kMostNamed = 5;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == ':';
}

std::string_view take_name(std::string_view& text) {
  skip_blanks(text);
  std::size_t n = 0;
  while (n < text.size() && is_name_char(text[n])) ++n;
  const std::string_view name = text.substr(0, n);
  text.remove_prefix(n);
  skip_blanks(text);
  return name;
}

// In quotes with the escapes of an exposition, or bare up to a comma or the end.
bool take_value(std::string_view& text, std::string& value) {
  skip_blanks(text);
  if (!take_prefix(text, "\"")) {
    const std::size_t end = text.find_first_of(",}");
    if (end == std::string_view::npos || end == 0) return false;
    value = std::string(trim(text.substr(0, end)));
    text.remove_prefix(end);
    return true;
  }
  while (!text.empty() && text.front() != '"') {
    char c = text.front();
    text.remove_prefix(1);
    if (c == '\\') {
      if (text.empty()) return false;
      c = text.front() == 'n' ? '\n' : text.front();
      text.remove_prefix(1);
    }
    value.push_back(c);
  }
  const bool closed = take_prefix(text, "\"");
  skip_blanks(text);
  return closed;
}

tl::unexpected<Error> no_series(std::string_view text, std::string_view what,
                                std::string_view rest) {
  return fail(Errc::kInvalid, "'" + printable(text, 120) +
                                  "' names no series: " + std::string(what) + " at '" +
                                  printable(rest, 40) + "'; write NAME or 'NAME{label=\"value\"}'");
}

bool matches(const SeriesName& name, const SeriesWish& wish) {
  return std::all_of(wish.labels.begin(), wish.labels.end(), [&](const auto& label) {
    return std::find(name.labels.begin(), name.labels.end(), label) != name.labels.end();
  });
}

// The bare name of what was asked, for a search in names.
std::string bare(std::string_view family) {
  take_prefix(family, kPrefix);
  return std::string(family);
}

std::string near_names(const std::vector<SeriesKnown>& all, const std::string& family) {
  std::set<std::string, std::less<>> names;
  for (const SeriesKnown& each : all) {
    names.insert(each.key.substr(0, each.key.find('{')));
  }
  std::vector<std::string> near;
  if (const std::string_view nearest = nearest_name(family, names); !nearest.empty()) {
    near.emplace_back(nearest);
  }
  const std::string part = bare(family);
  std::size_t more = 0;
  for (const std::string& name : names) {
    if (name.find(part) == std::string::npos) continue;
    if (std::find(near.begin(), near.end(), name) != near.end()) continue;
    if (near.size() < kMostNamed) {
      near.push_back(name);
    } else {
      ++more;
    }
  }
  std::string out;
  for (const std::string& name : near) out += (out.empty() ? "" : ", ") + printable(name, 120);
  if (more > 0) out += " and " + std::to_string(more) + " more";
  return out;
}

}  // namespace

Result<SeriesWish> parse_series_wish(std::string_view text) {
  SeriesWish wish;
  std::string_view rest = text;
  wish.family = std::string(take_name(rest));
  if (wish.family.empty()) return no_series(text, "no name", rest);
  if (wish.family.compare(0, kPrefix.size(), kPrefix) != 0) wish.family.insert(0, kPrefix);
  if (rest.empty()) return wish;
  if (!take_prefix(rest, "{")) return no_series(text, "something else", rest);
  skip_blanks(rest);
  while (!take_prefix(rest, "}")) {
    const std::string name(take_name(rest));
    std::string value;
    if (name.empty() || !take_prefix(rest, "=") || !take_value(rest, value)) {
      return no_series(text, "no label=\"value\"", rest);
    }
    wish.labels.emplace_back(name, value);
    if (!take_prefix(rest, ",") && (rest.empty() || rest.front() != '}')) {
      return no_series(text, "neither ',' nor '}'", rest);
    }
    skip_blanks(rest);
  }
  if (!trim(rest).empty()) return no_series(text, "something behind it", rest);
  return wish;
}

Result<std::vector<SeriesKnown>> pick_series(History& history, const SeriesWish& wish) {
  auto known = history.series(wish.family);
  if (!known) return tl::unexpected(std::move(known.error()));
  if (known->empty()) {
    const auto all = history.series("");
    if (!all) return tl::unexpected(all.error());
    std::string message = "nothing is recorded of " + printable(wish.family, 120);
    if (all->empty()) {
      message += ", nor of anything else yet";
    } else if (const std::string near = near_names(*all, wish.family); !near.empty()) {
      message += "; did you mean " + near + "?";
    } else {
      message += "; `jetmem history` lists what is";
    }
    return fail(Errc::kInvalid, std::move(message));
  }
  std::vector<SeriesKnown> out;
  std::string some;
  for (const SeriesKnown& each : *known) {
    const auto name = parse_series_key(each.key);
    if (name && matches(*name, wish)) out.push_back(each);
    if (some.size() < 200) some += (some.empty() ? "" : ", ") + printable(each.key, 160);
  }
  if (out.empty()) {
    return fail(Errc::kInvalid, "no series of " + printable(wish.family, 120) +
                                    " has these labels; recorded: " + some);
  }
  std::sort(out.begin(), out.end(),
            [](const SeriesKnown& a, const SeriesKnown& b) { return a.key < b.key; });
  return out;
}

}  // namespace jetmem
