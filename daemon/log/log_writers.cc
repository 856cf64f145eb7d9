// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/log_writers.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
// The place of this writer would be in every entry.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text/print_error.h"
#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMostMessage = 16U << 10;
constexpr const char* kJournalSocket = "/run/systemd/journal/socket";

// By LogLevel.
constexpr std::array kPriorities{LOG_DEBUG, LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR, LOG_CRIT};
static_assert(kPriorities.size() == static_cast<std::size_t>(LogLevel::kCritical) + 1);
static_assert(static_cast<int>(LogLevel::kTrace) == spdlog::level::trace &&
              static_cast<int>(LogLevel::kInfo) == spdlog::level::info &&
              static_cast<int>(LogLevel::kCritical) == spdlog::level::critical);

// On a terminal, and in a journal that prints what it holds.
std::string text_of(const LogEntry& entry) { return printable(entry.message, kMostMessage); }

class JournalWriter final : public LogWriter {
 public:
  bool write(const LogEntry& entry) override {
    lines_.clear();
    lines_.push_back("MESSAGE=" + text_of(entry));
    lines_.push_back("PRIORITY=" +
                     std::to_string(kPriorities[static_cast<std::size_t>(entry.level)]));
    lines_.emplace_back("SYSLOG_IDENTIFIER=jetmemd");
    for (const auto& [name, value] : entry.fields) lines_.push_back(name + "=" + value);
    parts_.clear();
    for (std::string& line : lines_) parts_.push_back({line.data(), line.size()});
    // It reports success when there is no journal at all.
    return sd_journal_sendv(parts_.data(), static_cast<int>(parts_.size())) >= 0 &&
           ::access(kJournalSocket, F_OK) == 0;
  }

 private:
  std::vector<std::string> lines_;
  std::vector<iovec> parts_;
};

class StderrWriter final : public LogWriter {
 public:
  explicit StderrWriter(spdlog::sink_ptr sink) : logger_("jetmemd", std::move(sink)) {
    logger_.set_level(spdlog::level::trace);  // AsyncLogger has chosen already
    logger_.set_error_handler([this](const std::string&) { ok_ = false; });
  }
  bool write(const LogEntry& entry) override {
    ok_ = true;
    logger_.log(static_cast<spdlog::level::level_enum>(entry.level),
                spdlog::string_view_t(text_of(entry)));
    // What journalctl -x would say: a terminal has no fields to look it up in.
    bool fires = false;
    for (const auto& [name, value] : entry.fields) {
      fires |= name == "JETMEM_ALERT_STATE" && value == "firing";
      const char* label = label_of(name);
      if (label != nullptr && fires) print_error(std::string("    ") + label + ": " + value);
    }
    // Spdlog's sink writes to a C stream and does not ask how it went.
    const bool ok = ok_ && std::ferror(stderr) == 0;
    std::clearerr(stderr);
    return ok;
  }

 private:
  static const char* label_of(std::string_view field) {
    if (field == "JETMEM_CAUSE") return "likely cause";
    if (field == "JETMEM_REMEDY") return "remedy";
    if (field == "JETMEM_RUNBOOK") return "runbook";
    return nullptr;
  }

  bool ok_ = true;
  spdlog::logger logger_;
};

bool stderr_is_the_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  unsigned long long device = 0;
  unsigned long long inode = 0;
  struct stat info {};
  return stream != nullptr && std::sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&  // NOLINT
         ::fstat(STDERR_FILENO, &info) == 0 && info.st_dev == device && info.st_ino == inode;
}

}  // namespace

std::unique_ptr<LogWriter> make_stderr_writer() {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_st>();
  sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  return std::make_unique<StderrWriter>(std::move(sink));
}

std::unique_ptr<LogWriter> make_journal_writer() { return std::make_unique<JournalWriter>(); }

std::unique_ptr<LogWriter> make_log_writer() {
  return stderr_is_the_journal() ? make_journal_writer() : make_stderr_writer();
}

}  // namespace jetmem
