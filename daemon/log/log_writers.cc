// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/log_writers.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
// The place of this sink would be in every entry.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "base/text/print_error.h"
#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMostMessage = 16U << 10;
constexpr const char* kJournalSocket = "/run/systemd/journal/socket";

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kCritical:
      return spdlog::level::critical;
  }
  return spdlog::level::info;
}

// The part that both writers share: spdlog's exceptions end here.
class SpdlogWriter : public LogWriter {
 public:
  explicit SpdlogWriter(spdlog::sink_ptr sink) : logger_("jetmemd", std::move(sink)) {
    logger_.set_level(spdlog::level::trace);  // Scribe has chosen already
    logger_.set_error_handler([this](const std::string&) { ok_ = false; });
  }
  bool write(const LogEntry& entry) override {
    ok_ = true;
    // On a terminal, and in a journal that prints what it holds.
    const std::string text = printable(entry.message, kMostMessage);
    logger_.log(spdlog_level(entry.level), spdlog::string_view_t(text));
    return ok_;
  }

 protected:
  bool ok_ = true;

 private:
  spdlog::logger logger_;
};

class JournalSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  void set_fields(const LogEntry* entry) { entry_ = entry; }
  bool failed() const { return failed_; }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    lines_.clear();
    lines_.push_back("MESSAGE=" + std::string(message.payload.data(), message.payload.size()));
    lines_.push_back("PRIORITY=" + std::to_string(priority(message.level)));
    lines_.emplace_back("SYSLOG_IDENTIFIER=jetmemd");
    for (const auto& [name, value] : entry_->fields) lines_.push_back(name + "=" + value);
    parts_.clear();
    for (std::string& line : lines_) parts_.push_back({line.data(), line.size()});
    // It reports success when there is no journal at all.
    failed_ = sd_journal_sendv(parts_.data(), static_cast<int>(parts_.size())) < 0 ||
              ::access(kJournalSocket, F_OK) != 0;
  }
  void flush_() override {}

 private:
  static int priority(spdlog::level::level_enum level) {
    switch (level) {
      case spdlog::level::critical:
        return LOG_CRIT;
      case spdlog::level::err:
        return LOG_ERR;
      case spdlog::level::warn:
        return LOG_WARNING;
      case spdlog::level::info:
        return LOG_INFO;
      default:
        return LOG_DEBUG;
    }
  }

  const LogEntry* entry_ = nullptr;
  bool failed_ = false;
  std::vector<std::string> lines_;
  std::vector<iovec> parts_;
};

class JournalWriter final : public SpdlogWriter {
 public:
  explicit JournalWriter(const std::shared_ptr<JournalSink>& sink)
      : SpdlogWriter(sink), sink_(sink) {}
  bool write(const LogEntry& entry) override {
    sink_->set_fields(&entry);
    return SpdlogWriter::write(entry) && !sink_->failed();
  }

 private:
  std::shared_ptr<JournalSink> sink_;
};

// Spdlog's sink writes to a C stream and does not ask how it went.
class StderrWriter final : public SpdlogWriter {
 public:
  using SpdlogWriter::SpdlogWriter;
  bool write(const LogEntry& entry) override {
    bool ok = SpdlogWriter::write(entry);
    // What journalctl -x would say: a terminal has no fields to look it up in.
    bool fires = false;
    for (const auto& [name, value] : entry.fields) {
      fires |= name == "JETMEM_ALERT_STATE" && value == "firing";
      const char* label = label_of(name);
      if (label != nullptr && fires) print_error(std::string("    ") + label + ": " + value);
    }
    ok = ok && std::ferror(stderr) == 0;
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

std::unique_ptr<LogWriter> make_journal_writer() {
  return std::make_unique<JournalWriter>(std::make_shared<JournalSink>());
}

std::unique_ptr<LogWriter> make_log_writer() {
  return stderr_is_the_journal() ? make_journal_writer() : make_stderr_writer();
}

}  // namespace jetmem
