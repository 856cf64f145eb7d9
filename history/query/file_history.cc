// SPDX-License-Identifier: Apache-2.0
#include "history/store/store.h"

namespace jetmem {
namespace {

class FileHistory final : public History {
 public:
  explicit FileHistory(std::string file) : file_(std::move(file)) {}

  Result<std::vector<SeriesKnown>> series(std::string_view family) override {
    return with([&](HistoryStore& store) { return store.series(family); });
  }
  Result<SeriesPast> past(const SeriesQuery& requested) override {
    return with([&](HistoryStore& store) { return store.past(requested); });
  }
  Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall,
                                                         Nanoseconds timeout) override {
    return with([&](HistoryStore& store) { return store.at(wall, timeout); });
  }
  Result<EventsPast> events(const EventsQuery& requested) override {
    return with([&](HistoryStore& store) { return store.events(requested); });
  }
  Result<HistoryFacts> facts() override {
    return with([&](HistoryStore& store) { return store.facts(); });
  }

 private:
  // A file that was read as one that nobody writes may be written just then: what looks damaged is
  // looked at once more.
  template <class Ask>
  auto with(Ask ask) -> decltype(ask(std::declval<HistoryStore&>())) {
    for (int attempt = 0;; ++attempt) {
      if (!store_) {
        auto opened = HistoryStore::open_to_read(file_);
        if (!opened) return tl::unexpected(opened.error());
        store_ = std::move(*opened);
      }
      auto answer = ask(*store_);
      if (answer || attempt > 0 || answer.error().code != Errc::kMalformed) return answer;
      store_.reset();
    }
  }

  std::string file_;
  std::unique_ptr<HistoryStore> store_;
};

}  // namespace

std::unique_ptr<History> file_history(std::string file) {
  return std::make_unique<FileHistory>(std::move(file));
}

}  // namespace jetmem
