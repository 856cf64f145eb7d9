// SPDX-License-Identifier: Apache-2.0
// jetmem capture: everything that jetmem reads of this device, in one file to carry away.

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/root/bundle_name.h"
#include "base/root/temporary_folder.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/bundle/bundle_files.h"
#include "cli/bundle/pack.h"
#include "cli/bundle/write_bundle.h"
#include "cli/client/device_client.h"
#include "cli/client/rule_input.h"
#include "cli/commands.h"
#include "cli/draw/number_text.h"
#include "cli/exit_codes.h"
#include "cli/suggestion.h"
#include "collectors/sampler/registry.h"

namespace jetmem {
namespace {

using Json = nlohmann::ordered_json;

struct CaptureOptions : Target {
  std::string file;
  std::string history;
  std::string max_size;
  std::string deadline = "2m";
  bool no_history = false;
  bool whole_log = false;
  // As jetmemd starts it.
  bool automatic = false;
  std::string alert;
  std::uint32_t keep = 0;
  std::string max_total_size;
  std::string history_file;
};

// What a signal's handler removes, as nobody may be there who does it later.
struct Unfinished {
  volatile pid_t owner = 0;  // 0: there is none
  int folder = -1;
  char path[PATH_MAX];
};
Unfinished unfinished;

void remove_unfinished() {
  // A child process has other descriptors.
  if (unfinished.owner != ::getpid()) return;
  TemporaryFolder::remove_now(unfinished.folder, unfinished.path, {"bundle", "history.db"});
}

void exceed_deadline(int) {
  remove_unfinished();
  constexpr char kLate[] = "jetmem capture: exceeded its deadline\n";
  (void)!::write(STDERR_FILENO, kLate, sizeof kLate - 1);
  ::_exit(kExitUnavailable);
}

// The signal is blocked here, and has its usual effect right after.
void end_early(int sig) {
  remove_unfinished();
  ::raise(sig);
}

void remove_on_signals(const TemporaryFolder& folder) {
  const std::string& path = folder.path();
  if (path.size() >= sizeof unfinished.path) return;
  unfinished.path[path.copy(unfinished.path, path.size())] = '\0';
  unfinished.folder = folder.descriptor();
  unfinished.owner = ::getpid();
  for (const int sig : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    if (::sigaction(sig, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) continue;
    now = {};
    now.sa_handler = end_early;
    now.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(sig, &now, nullptr);
  }
}

void remove_now(std::unique_ptr<TemporaryFolder>& folder) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  folder.reset();
  unfinished.owner = 0;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

// What is not permitted stays as it is.
void step_back(bool automatic) {
  (void)::setpriority(PRIO_PROCESS, 0, 19);
  constexpr int kIoprioWhoProcess = 1;
  constexpr int kIdle = 3 << 13;
  (void)::syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, kIdle);
  if (!automatic) return;
  // Memory may be short right now: before anything else goes, this does.
  std::ofstream("/proc/self/oom_score_adj") << 1000;
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit most{512U << 20, 512U << 20};
  (void)::setrlimit(RLIMIT_AS, &most);
#endif
}

// Of the file's name, if that is a bundle's own.
std::string folder_in(const std::string& file, const std::string& name) {
  if (file == "-") return name;
  std::string base = std::filesystem::path(file).filename().string();
  base.erase(base.size() - bundle_ending(base).size());
  return base.front() == '.' || base.front() == '-' ? name : base;
}

std::string answer_json(const std::string& file, const BundleDone& done,
                        const std::vector<std::string>& removed) {
  const Json whole = Json::parse(manifest_text(done.manifest), nullptr, false);
  Json json{{"schema", "jetmem-capture/1"}};
  if (file != "-") json["file"] = file;
  json["size_bytes"] = done.bytes;
  json["files"] = done.files;
  for (const char* key : {"facts", "capture", "sources", "errors"}) {
    if (whole.contains(key)) json[key] = whole[key];
  }
  json["removed"] = removed;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string answer_text(const std::string& file, const BundleDone& done,
                        const std::vector<std::string>& removed) {
  std::string out = (file == "-" ? "written" : printable(file, PATH_MAX)) + ": " +
                    bytes_text(done.bytes) + ", " + std::to_string(done.files) + " files\n";
  std::size_t ok = 0;
  for (const Manifest::SourceRemark& note : done.manifest.sources)
    ok += note.state == "ok" ? 1U : 0U;
  out += "sources: " + std::to_string(ok) + " of " + std::to_string(done.manifest.sources.size()) +
         " read\n";
  for (const Manifest::SourceRemark& note : done.manifest.sources) {
    if (note.state == "ok") continue;
    const std::string& why = note.skipped.empty() ? note.reason : note.skipped;
    out += "  " + note.name + ": " + (note.skipped.empty() ? note.state : "not read") +
           (why.empty() ? "" : ": " + printable(why, 200)) + "\n";
  }
  if (done.manifest.capture) {
    out += "omitted:\n";
    for (const Manifest::Omitted& each : done.manifest.capture->omitted) {
      out += "  " + printable(each.path, 200) + ": " + printable(each.reason, 300) + "\n";
    }
  }
  for (const std::string& name : removed) out += "removed: " + printable(name, 200) + "\n";
  if (file != "-") {
    out += "read it anywhere: jetmem --root " + shell_word(file) + " doctor\n";
  }
  return out;
}

int wrong(std::string message) { return failed("capture", {Errc::kInvalid, std::move(message)}); }

// Where the bundle and a copy of the history are while they are written: beside the bundle, as the
// temporary directory is memory on many devices. Sets part_folder.
Result<std::unique_ptr<TemporaryFolder>> make_part_folder(BundleOptions& needed, bool automatic) {
  // Another name is refused when the bundle is made.
  const bool is_file = needed.file != "-" && !bundle_ending(needed.file).empty();
  if (!is_file && needed.history.count() == 0) return nullptr;
  if (is_file) {
    const std::string directory = std::filesystem::path(needed.file).parent_path().string();
    remove_abandoned_folders(directory.empty() ? "." : directory, kBundlePrefix, kPartEnding);
  }
  // jetmemd would take a helper for what a program of alerts left running, and removes the folder.
  const auto helper = automatic ? TemporaryFolder::Helper::kNone : TemporaryFolder::Helper::kOne;
  auto folder = is_file ? TemporaryFolder::make(needed.file + std::string(kPartEnding), helper)
                        : TemporaryFolder::make_in(temporary_directory(), "jetmem-copy-");
  if (folder) {
    needed.part_folder = (*folder)->inside();
  } else if (folder.error().code == Errc::kAbsent) {
    folder.error().code = Errc::kIo;
  }
  return folder;
}

bool is_there(const std::string& name) {
  struct stat info {};
  return ::lstat(name.c_str(), &info) == 0;
}

bool is_taken(const std::string& file) {
  return is_there(file) || is_there(file + std::string(kPartEnding));
}

int run_capture(const CaptureOptions& options) {
  auto settings = settings_for("capture", options.config);
  if (!settings && !options.automatic) return exit_code(settings.error().code);
  if (!settings) {
    // An incident does not wait until a settings file is fixed.
    std::fputs("jetmem capture: continuing with the defaults\n", stderr);
    settings = default_settings(known_sources());
  }
  BundleOptions needed;
  static_cast<Target&>(needed) = options;
  needed.history_file = options.history_file;
  needed.reason = options.automatic ? "alert" : "on request";
  needed.alert = options.alert;
  needed.now = SystemClock().wall();
  needed.history = std::chrono::duration_cast<std::chrono::seconds>(settings->capture.history);
  if (!options.history.empty()) {
    const auto history = parse_duration(options.history);
    if (!history) return wrong("--history: " + history.error().message);
    needed.history = std::chrono::duration_cast<std::chrono::seconds>(*history);
  }
  if (options.no_history) needed.history = std::chrono::seconds(0);
  needed.whole_log = options.whole_log;
  needed.max_bytes = settings->capture.max_size;
  std::uint64_t max_total = settings->capture.max_size;
  for (const auto& [text, to, name] :
       {std::tuple{&options.max_size, &needed.max_bytes, "--max-size"},
        std::tuple{&options.max_total_size, &max_total, "--max-total-size"}}) {
    if (text->empty()) continue;
    const auto size = parse_size(*text);
    if (!size) return wrong(std::string(name) + ": " + size.error().message);
    *to = *size;
  }
  const auto deadline = parse_duration(options.deadline);
  if (!deadline || deadline->count() < 1000) return wrong("--deadline: a duration of 1s or more");
  const std::string name = bundle_stem(needed.now, options.alert);
  needed.file = options.file;
  // Nothing that is there is lost by not naming a file.
  for (int n = 1; needed.file.empty() || (options.file.empty() && is_taken(needed.file)); ++n) {
    needed.file = name + (n > 1 ? "-" + std::to_string(n) : "") + ".tar.zst";
  }
  needed.folder = folder_in(needed.file, name);
  if (needed.file == "-" && ::isatty(STDOUT_FILENO) == 1) {
    return wrong("refusing to write a bundle to a terminal: give -o FILE or redirect it");
  }
  if (options.automatic) needed.max_bytes = std::min(needed.max_bytes, max_total);

  const bool shows = ::isatty(STDERR_FILENO) == 1 && !options.automatic;
  if (shows) {
    needed.progress = [](std::string_view step) {
      std::fprintf(stderr, "\r\033[Kcapture: %.*s", static_cast<int>(step.size()), step.data());
    };
  }
  std::string directory = std::filesystem::path(needed.file).parent_path().string();
  if (directory.empty()) directory = ".";
  if (options.whole_log) {
    std::fputs(
        "jetmem capture: warning: the bundle will hold every line of the kernel log and of crash "
        "records: names of Wi-Fi networks, hosts and people, serial numbers, IMEI, command lines, "
        "and keys and passwords in them. Read it before you share it.\n",
        stderr);
  }
  step_back(options.automatic);
  if (needed.file != "-") {
    if (options.automatic) {
      std::error_code ignored;
      if (std::filesystem::create_directory(directory, ignored)) {
        std::filesystem::permissions(directory, std::filesystem::perms::owner_all, ignored);
      }
    }
  }
  auto folder = make_part_folder(needed, options.automatic);
  if (!folder) return failed("capture", folder.error());
  if (*folder) remove_on_signals(**folder);
  std::signal(SIGALRM, exceed_deadline);
  ::alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(*deadline).count()));
  const auto done = write_bundle(needed, *settings);
  ::alarm(0);
  remove_now(*folder);
  if (shows) std::fputs("\r\033[K", stderr);
  if (!done) return failed("capture", done.error());
  std::vector<std::string> removed;
  if (options.automatic && options.keep > 0) {
    removed = remove_old_bundles(directory, std::filesystem::path(needed.file).filename().string(),
                                 options.keep, max_total);
  }
  const std::string text = options.json ? answer_json(needed.file, *done, removed)
                                        : answer_text(needed.file, *done, removed);
  std::fputs(text.c_str(), needed.file == "-" ? stderr : stdout);
  return kExitOk;
}

}  // namespace

void add_capture_command(const Command& program) {
  const Command command =
      program.add("capture", "Write everything that jetmem reads of this device into one file");
  auto& options = command.runs(run_capture);
  command.option("-o,--output", options.file, "FILE",
                 "The bundle: .tar.zst, .tar.gz or .tar; - is standard output (default: "
                 "jetmem-capture-TIME.tar.zst here)");
  command.option("--history", options.history, "DURATION",
                 "How much recorded history to include (default: capture.history, 6h)");
  command.flag("--no-history", options.no_history, "Include no recorded history")
      .excludes({"--history"});
  command.flag("--whole-log", options.whole_log,
               "Include also the lines of the kernel log and of crash records that jetmem does not "
               "decode; they may hold serial numbers, names, keys and passwords");
  command.option("--max-size", options.max_size, "SIZE",
                 "Largest size of the bundle (default: capture.max_size, 64MiB)");
  command.option("--deadline", options.deadline, "DURATION",
                 "Give up after this long (default: 2m)");
  command.json("Report what was written as JSON");
  command.device();
  // For jetmemd.
  command.flag("--automatic", options.automatic).excludes({"--whole-log"}).hidden();
  command.option("--alert", options.alert, "").hidden();
  command.option("--history-file", options.history_file, "").hidden();
  command.option("--keep", options.keep, "").hidden();
  command.option("--max-total-size", options.max_total_size, "").hidden();
  command.footer(
      "Takes the files that the sources read (`jetmem sources`), the kernel log, the last hours of "
      "the recorder, the settings and rules, and the output of the programs that jetmemd runs. "
      "Of the kernel log and of crash records it takes the lines that jetmem decodes; of other "
      "lines "
      "only when they were printed and how long they were. Takes no command lines, environments, "
      "network addresses, serial numbers or host names: "
      "omissions are listed here and in jetmem/manifest.json. Unreadable files are recorded as "
      "such, never as absent. Read a bundle anywhere: jetmem --root FILE doctor. --root DIR packs "
      "a captured tree again. As root, or with access to jetmem-reader's socket, it reads more.");
  command.exit_status("0 if it was written; otherwise no file remains");
}

}  // namespace jetmem
