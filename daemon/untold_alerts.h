// The alerts that fire and that nobody was told of yet, kept over a restart of the daemon within
// one boot: a small file in the runtime directory, which is memory.
//
//   {"format":1,"boot_id":"5b0f...","untold":[{"alert":"JetmemX","labels":"cbf29ce484222325"}]}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/alert_news.h"

namespace jetmem {

struct UntoldAlert {
  std::string alert;
  std::string labels;  // a digest of them

  bool operator==(const UntoldAlert&) const = default;
};

UntoldAlert untold_alert(const std::string& alert, const AlertNews::Labels& labels);

class UntoldAlerts {
 public:
  static constexpr std::string_view kFile = "alert-hook.json";
  static constexpr std::size_t kMost = 32;
  static constexpr std::size_t kMaxBytes = 8192;

  // Either empty: nothing is kept.
  UntoldAlerts(const std::string& directory, std::string boot_id);

  bool keeps() const { return !path_.empty(); }
  // What the daemon before this one left; none where there is no file, or another boot's.
  Result<std::vector<UntoldAlert>> load();
  // Written where it is not what was kept last.
  Result<void> keep(std::vector<UntoldAlert> untold);

 private:
  std::string path_;
  std::string boot_id_;
  std::vector<UntoldAlert> kept_;
};

// For tests. What is in the text need not be trusted.
Result<std::vector<UntoldAlert>> parse_untold_alerts(std::string_view text,
                                                     std::string_view boot_id);

}  // namespace jetmem
