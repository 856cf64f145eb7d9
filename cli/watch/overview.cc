// SPDX-License-Identifier: Apache-2.0
// The first view: what is wrong, who holds the memory, and what happened.
#include <algorithm>

#include "cli/draw/number_text.h"
#include "cli/draw/terminal.h"
#include "cli/text/answer_text.h"
#include "cli/text/judgement_text.h"
#include "cli/text/status_screen.h"
#include "cli/watch/draw.h"
#include "cli/watch/views.h"

namespace jetmem::watch {
namespace {

constexpr std::size_t kNarrow = 64;  // columns
constexpr std::size_t kShort = 24;   // rows: a shorter terminal scrolls
constexpr std::size_t kTall = 32;
constexpr std::size_t kMaxSparkline = 60;
constexpr double kLeastRange = 0.05;  // of the whole: smaller changes are no mountain

class Overview {
 public:
  Overview(const Model& model, const Shown& shown, Size size, Glyphs glyphs)
      : model_(model),
        now_(*model.now()),
        status_(model.status()),
        shown_(shown),
        size_(size),
        glyphs_(glyphs),
        style_{static_cast<int>(size.columns), true, glyphs.utf8} {}

  Body body() {
    add_holders();
    for (const std::string& note : now_.notes) {
      add_wrapped(out_, note, 0, size_.columns, glyphs_, Style::kWarning, 2);
    }
    // Beside title, keys and the newest events.
    const std::size_t taken = out_.size() + (is_narrow() ? 3 : 4);
    const std::size_t rows = std::max(size_.rows, kShort);
    const std::string page = fitted(parts(), rows > taken ? rows - taken : 0);
    std::vector<Line> lines = page_lines(page, glyphs_, size_.columns);
    out_.insert(out_.begin(), std::move_iterator(lines.begin()), std::move_iterator(lines.end()));
    add_events(out_, now_, shown_.filter, size_.columns, glyphs_, false);
    return std::move(out_);
  }

 private:
  bool is_narrow() const { return size_.columns < kNarrow; }
  bool is_tall() const { return size_.rows >= kTall; }

  // In the words of `jetmem status`.
  std::vector<ScreenPart> parts() const {
    const std::size_t fields = is_tall() ? 2 : 1;
    const std::size_t areas = is_tall() ? 0 : is_narrow() ? 3 : 1;
    return {{0, verdict_text(status_, status_.from, style_, is_tall() ? 4 : 3)},
            {0, device_line(status_, style_, is_narrow() || is_tall() ? 2 : 1, /*of=*/true)},
            {0, budget_text(status_.budget, style_, is_tall())},
            {1, memory_line(status_, style_, "", is_narrow() ? 3 : 2)},
            {2, cma_line(status_.cma, style_, areas, std::identity())},
            {5, past_line()},
            {4, gpu_line(status_, style_, fields)},
            {3, thermal_line(status_.thermal, style_, fields)},
            {0, alerts_text()}};
  }

  // "last 10m available ▁▂▃▅  CMA used ▅▅▅▅"; on a narrow terminal the first of them.
  std::string past_line() const {
    std::string line;
    const std::size_t columns = size_.columns / (is_narrow() ? 1 : 2);
    add_past(line, "available ", Quantity::kAvailable, status_.mem_total_bytes, columns);
    if (line.empty() || !is_narrow()) {
      add_past(line, "CMA used ", Quantity::kCmaUsed, status_.cma.total_bytes, columns);
    }
    if (line.empty()) return {};
    return labelled_as_is("last " + duration_text(model_.past_seconds()), line);
  }

  void add_past(std::string& line, const std::string& name, Quantity quantity,
                std::optional<double> whole, std::size_t columns) const {
    if (!value_of(status_, quantity)) return;
    if (!line.empty()) line += "  ";
    const std::size_t taken = kLabelWidth + name.size();
    const std::size_t cells = columns > taken ? std::min(columns - taken, kMaxSparkline) : 1;
    const Sparkline of{model_.at(), model_.past_seconds(), whole.value_or(0) * kLeastRange};
    line += name + sparkline(model_.past(quantity), of, cells, glyphs_);
  }

  std::string alerts_text() const {
    const std::size_t most = is_tall() ? 10 : is_narrow() ? 2 : 3;
    StatusAnswer matching = status_;
    std::erase_if(matching.alerts, [&](const StatusAnswer::Alert& alert) {
      return !has_filter(alert.name + " " + alert.severity + " " + alert.summary, shown_.filter);
    });
    if (matching.alerts.size() > most) {
      matching.alerts_omitted += matching.alerts.size() - most;
      matching.alerts.resize(most);
    }
    return alerts_list(matching, style_, is_narrow() || is_tall() ? 2 : 1,
                       [](const std::string&) { return std::string("press 6"); });
  }

  void add_holders() {
    const std::size_t most = is_tall() ? 10 : is_narrow() ? 2 : 4;
    TopAnswer top = filtered_top(now_, shown_, most);
    if (top.groups.empty()) {
      const std::string why = shown_.filter.empty() ? absence_reason(top.absent, "groups") : "";
      add_wrapped(out_, why.empty() ? "Holders: none that match" : "Holders: not known: " + why, 0,
                  size_.columns, glyphs_, Style::kDim, 1);
      return;
    }
    if (top.groups.size() > most) top.groups.resize(most);
    out_ = page_lines(holders_table(top, style_), glyphs_, size_.columns);
  }

  const Model& model_;
  const DeviceNow& now_;
  const StatusAnswer& status_;
  const Shown& shown_;
  Size size_;
  Glyphs glyphs_;
  ScreenStyle style_;
  Body out_;
};

}  // namespace

Body overview_body(const Model& model, const Shown& shown, Size size, Glyphs glyphs) {
  return Overview(model, shown, size, glyphs).body();
}

}  // namespace jetmem::watch
