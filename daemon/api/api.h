// The JSON pages below /api/v1/: read-only, each bounded in bytes and time. All on the web thread,
// but for what asks the history, which is the desk's to do: the web thread never waits for a disk.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "daemon/api/budget.h"
#include "daemon/api/history_desk.h"
#include "daemon/api/kept_body.h"
#include "daemon/api/parameters.h"
#include "daemon/page_box.h"
#include "daemon/readiness.h"
#include "daemon/told_box.h"
#include "history/history.h"
#include "report/answers/answer_head.h"
#include "report/device_now.h"

namespace jetmem {

// What the loop tells; all of it must outlive the web thread.
struct ApiTold {
  SourcesBox* sources = nullptr;
  TextsBox* texts = nullptr;
  // Null: there is none, and why. Where Web::stop() left a question behind, not to end at all.
  History* history = nullptr;
  std::string no_history = "the history is switched off (history.enabled)";
  std::string boot_id{};
};

struct ApiAnswer {
  unsigned code = 200;
  std::shared_ptr<const std::string> body;
  bool later = false;  // the history was asked, and there is none yet: ask the same again
};

// How long an asker has for what the history is asked.
struct ApiPatience {
  std::chrono::milliseconds wait{2'000};  // in which the web thread does nothing else
  bool may_come_again = false;            // ApiAnswer::later is understood
  bool again = false;                     // it did
};

// {"error": ..., "fix": ...}
ApiAnswer api_error(unsigned code, std::string_view error, std::string_view fix = {});
ApiAnswer api_text(std::string json);

class Api {
 public:
  Api(ApiTold told, const Clock& clock, PageBox& pages, AlertsBox& alerts,
      const Readiness& readiness);

  struct Endpoint {
    std::string_view path;
    bool is_of_now = false;  // answered only while the loop samples
    std::span<const std::string_view> parameters{};
    ApiAnswer (*answer)(Api& api, const Parameters& parameters) = nullptr;
  };
  static std::span<const Endpoint> endpoints();
  // Null where there is none of this path.
  static const Endpoint* find(std::string_view path);

  // `trouble`: why nobody can say how things are now; empty: it can be said.
  ApiAnswer answer(const Endpoint& endpoint, std::span<const Parameter> parameters,
                   const std::string& trouble, ApiPatience patience = {});

  HistoryDesk& desk() { return desk_; }
  // Questions to the history that were not answered in time, or not taken in for that reason.
  std::uint64_t timeouts() const { return timeouts_; }

  // For the pages:

  // The device as the newest page shows it.
  const DeviceNow& now();
  // What `make` makes of the history, on the desk's thread: it is to own all else that it uses. A
  // question of the same key is the same one.
  ApiAnswer at_desk(const std::string& key, std::function<ApiAnswer()> make);
  // How long the last answer of it took there.
  Nanoseconds desk_took() const { return desk_took_; }
  // Null where `body` is not to be told any more: see below.
  std::shared_ptr<const std::string> kept(const KeptBody& body, Nanoseconds rest);
  ApiAnswer keep(KeptBody& body, ApiAnswer answer, Nanoseconds cost);
  // What `make` makes, made again when what it is made of changed: at the soonest after `rest`, and
  // after ten times as long as making it took, so that asking often costs the device little.
  ApiAnswer kept(KeptBody& body, Nanoseconds rest, const std::function<std::string()>& make);
  // Null: there is none; no_history() says so.
  History* history() { return told_.history; }
  const std::string& why_no_history() const { return told_.no_history; }
  ApiAnswer no_history() const;
  // Whether jetmem has a metric of this name now, recorded or not.
  bool has_metric(const std::string& name);
  // Of an answer about the past: it is true also while nobody can say how things are now.
  AnswerFrom from() const;
  TextsBox* texts() { return told_.texts; }
  Nanoseconds wall() const { return clock_.wall(); }

  KeptBody now_body;
  KeptBody status_body;
  KeptBody doctor_body;
  KeptBody top_body;
  KeptBody cma_body;
  KeptBody fragmentation_body;
  KeptBody thermal_body;

 private:
  // What now() is made of: another one when any of it is.
  std::array<std::uint64_t, 4> newest();
  void look_at_past();
  // Why there is no answer of the desk; counts it.
  std::string late(HistoryDesk::State state);

  ApiTold told_;
  const Clock& clock_;
  PageBox& pages_;
  AlertsBox& alerts_;
  const Readiness& readiness_;
  std::string trouble_;
  Budget budget_;
  DeviceNow now_;
  std::array<std::uint64_t, 4> now_of_{};
  HistoryDesk desk_;
  ApiPatience patience_;
  std::uint64_t timeouts_ = 0;
  Nanoseconds desk_took_{0};
  // Of look_at_past(), on the clock of mono(); negative: never.
  Nanoseconds past_asked_{-1};
  Nanoseconds past_seen_{-1};
  Nanoseconds past_pause_{0};
  Nanoseconds boot_asked_{-1};
};

// The pages, one file each.
ApiAnswer api_now(Api& api, const Parameters& parameters);
ApiAnswer api_status(Api& api, const Parameters& parameters);
ApiAnswer api_doctor(Api& api, const Parameters& parameters);
ApiAnswer api_top(Api& api, const Parameters& parameters);
ApiAnswer api_cma(Api& api, const Parameters& parameters);
ApiAnswer api_fragmentation(Api& api, const Parameters& parameters);
ApiAnswer api_thermal(Api& api, const Parameters& parameters);
ApiAnswer api_history(Api& api, const Parameters& parameters);
ApiAnswer api_events(Api& api, const Parameters& parameters);
ApiAnswer api_texts(Api& api, const Parameters& parameters);

}  // namespace jetmem
