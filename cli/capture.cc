// jetmem capture: everything that jetmem reads of this device, in one file to carry away.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/last_words.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utc_time.h"
#include "cli/bundle/copy_folder.h"
#include "cli/bundle/kept_bundles.h"
#include "cli/bundle/pack.h"
#include "cli/bundle/unfinished.h"
#include "cli/bundle/write_bundle.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/rule_input.h"
#include "collectors/registry.h"

namespace jetmem {
namespace {

using Json = nlohmann::ordered_json;

struct CaptureOptions {
  std::string root;
  std::string file;
  std::string history;
  std::string max_size;
  std::string deadline = "2m";
  std::string daemon;
  ClientAccess access;
  std::vector<std::string> config;
  bool no_history = false;
  bool json = false;
  // As jetmemd starts it.
  bool automatic = false;
  std::string alert;
  std::uint32_t keep = 0;
  std::string max_total_size;
  std::string history_file;
};

void give_up(int signal) {
  remove_unfinished();
  if (signal == SIGALRM) {
    constexpr char kLate[] = "jetmem capture: did not end within its deadline\n";
    (void)!::write(STDERR_FILENO, kLate, sizeof kLate - 1);
    ::_exit(kExitFailed);
  }
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

// However it ends.
void leave_nothing_behind() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM}) std::signal(signal, give_up);
  before_last_words(remove_unfinished);
  std::atexit(remove_unfinished);
}

void write_file(const char* path, const char* text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!::write(fd, text, std::strlen(text));
  ::close(fd);
}

// Whoever may not do one of these goes on as it is.
void step_back(bool automatic) {
  (void)::setpriority(PRIO_PROCESS, 0, 19);
  constexpr int kIoprioWhoProcess = 1;
  constexpr int kIdle = 3 << 13;
  (void)::syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, kIdle);
  if (!automatic) return;
  // Memory may be short right now: before anything else goes, this does.
  write_file("/proc/self/oom_score_adj", "1000");
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit most{512U << 20, 512U << 20};
  (void)::setrlimit(RLIMIT_AS, &most);
#endif
}

// "20261122T021147Z"
std::string compact_time(Nanoseconds wall) {
  std::string out;
  for (const char c : utc_time(wall).substr(0, 19)) {
    if (c != '-' && c != ':') out += c;
  }
  return out + "Z";
}

std::string safe_name(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 64)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
    out += is_plain ? c : '-';
  }
  return out;
}

// Of the file's name, if that is a bundle's own.
std::string folder_in(const std::string& file, const std::string& name) {
  if (file == "-") return name;
  std::string base = std::filesystem::path(file).filename().string();
  for (const char* ending : {".tar.zst", ".tar.gz", ".tar"}) {
    if (base.size() <= std::strlen(ending) || !base.ends_with(ending)) continue;
    base.resize(base.size() - std::strlen(ending));
    break;
  }
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
                    format_size(done.bytes) + ", " + std::to_string(done.files) + " files\n";
  std::size_t ok = 0;
  for (const Manifest::SourceNote& note : done.manifest.sources) ok += note.state == "ok" ? 1U : 0U;
  out += "sources: " + std::to_string(ok) + " of " + std::to_string(done.manifest.sources.size()) +
         " read\n";
  for (const Manifest::SourceNote& note : done.manifest.sources) {
    if (note.state == "ok") continue;
    const std::string& why = note.skipped.empty() ? note.reason : note.skipped;
    out += "  " + note.name + ": " + (note.skipped.empty() ? note.state : "not read") +
           (why.empty() ? "" : ": " + printable(why, 200)) + "\n";
  }
  if (done.manifest.capture) {
    out += "left out:\n";
    for (const Manifest::LeftOut& each : done.manifest.capture->left_out) {
      out += "  " + printable(each.path, 200) + ": " + printable(each.why, 300) + "\n";
    }
  }
  for (const std::string& name : removed) out += "removed: " + printable(name, 200) + "\n";
  if (file != "-") {
    out += "look at it anywhere: jetmem --root " + printable(file, PATH_MAX) + " doctor\n";
  }
  return out;
}

int wrong(const std::string& message) {
  std::fprintf(stderr, "jetmem capture: %s\n", message.c_str());
  return kExitUsage;
}

bool is_taken(const std::string& file) {
  struct stat info {};
  return ::lstat(file.c_str(), &info) == 0 || ::lstat((file + ".part").c_str(), &info) == 0;
}

int run_capture(const CaptureOptions& options) {
  if (!options.root.empty() && !options.daemon.empty()) {
    return wrong("--root and --daemon exclude each other");
  }
  auto settings = settings_for("capture", options.config);
  if (!settings && !options.automatic) return kExitUsage;
  if (!settings) {
    // An incident does not wait until somebody has mended a file.
    std::fputs("jetmem capture: going on with the defaults\n", stderr);
    settings = default_settings(known_sources());
  }
  BundleWanted wanted;
  wanted.root = options.root;
  wanted.config = options.config;
  wanted.daemon = options.daemon;
  wanted.access = options.access;
  wanted.history_file = options.history_file;
  wanted.why = options.automatic ? "alert" : "asked for";
  wanted.alert = options.alert;
  wanted.now = SystemClock().wall();
  wanted.history = std::chrono::duration_cast<std::chrono::seconds>(settings->capture.history);
  if (!options.history.empty()) {
    const auto history = parse_duration(options.history);
    if (!history) return wrong("--history: " + history.error().message);
    wanted.history = std::chrono::duration_cast<std::chrono::seconds>(*history);
  }
  if (options.no_history) wanted.history = std::chrono::seconds(0);
  wanted.max_bytes = settings->capture.max_size;
  std::uint64_t max_total = settings->capture.max_size;
  for (const auto& [text, to, name] :
       {std::tuple{&options.max_size, &wanted.max_bytes, "--max-size"},
        std::tuple{&options.max_total_size, &max_total, "--max-total-size"}}) {
    if (text->empty()) continue;
    const auto size = parse_size(*text);
    if (!size) return wrong(std::string(name) + ": " + size.error().message);
    *to = *size;
  }
  const auto deadline = parse_duration(options.deadline);
  if (!deadline || deadline->count() < 1000) return wrong("--deadline: a duration of 1s or more");
  const std::string alert = options.alert.empty() ? "" : "-" + safe_name(options.alert);
  const std::string name = "jetmem-capture-" + compact_time(wanted.now) + alert;
  wanted.file = options.file;
  // Nothing that is there is lost by not naming a file.
  for (int n = 1; wanted.file.empty() || (options.file.empty() && is_taken(wanted.file)); ++n) {
    wanted.file = name + (n > 1 ? "-" + std::to_string(n) : "") + ".tar.zst";
  }
  wanted.folder = folder_in(wanted.file, name);
  if (wanted.file == "-" && ::isatty(STDOUT_FILENO) == 1) {
    return wrong("a bundle is nothing for a terminal: name a file, or send it elsewhere");
  }
  if (options.automatic) wanted.max_bytes = std::min(wanted.max_bytes, max_total);

  const bool shows = ::isatty(STDERR_FILENO) == 1 && !options.automatic;
  if (shows) {
    wanted.progress = [](std::string_view step) {
      std::fprintf(stderr, "\r\033[Kcapture: %.*s", static_cast<int>(step.size()), step.data());
    };
  }
  std::string directory = std::filesystem::path(wanted.file).parent_path().string();
  if (directory.empty()) directory = ".";
  step_back(options.automatic);
  if (wanted.file != "-") {
    if (options.automatic) {
      std::error_code ignored;
      if (std::filesystem::create_directory(directory, ignored)) {
        std::filesystem::permissions(directory, std::filesystem::perms::owner_all, ignored);
      }
    }
    remove_left_parts(directory);
  }
  leave_nothing_behind();
  std::optional<CopyFolder> folder;
  wanted.history_copy = wanted.file + ".db-copy";
  if (wanted.file == "-" && wanted.history.count() > 0) {
    auto made = CopyFolder::make();
    if (!made) {
      std::fprintf(stderr, "jetmem capture: %s\n", made.error().message.c_str());
      return kExitFailed;
    }
    folder = std::move(*made);
    wanted.history_copy = folder->path() + "/history.db-copy";
  }
  ::alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(*deadline).count()));
  const auto done = write_bundle(wanted, *settings);
  ::alarm(0);
  folder.reset();
  if (shows) std::fputs("\r\033[K", stderr);
  if (!done) {
    std::fprintf(stderr, "jetmem capture: %s\n", printable(done.error().message, 1000).c_str());
    return done.error().code == Errc::kInvalid ? kExitUsage : kExitFailed;
  }
  std::vector<std::string> removed;
  if (options.automatic && options.keep > 0) {
    removed = remove_old_bundles(directory, std::filesystem::path(wanted.file).filename().string(),
                                 options.keep, max_total);
  }
  const std::string text = options.json ? answer_json(wanted.file, *done, removed)
                                        : answer_text(wanted.file, *done, removed);
  std::fputs(text.c_str(), wanted.file == "-" ? stderr : stdout);
  return kExitOk;
}

}  // namespace

void add_capture_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "capture", "Write everything that jetmem reads of this device into one file");
  auto options = std::make_shared<CaptureOptions>();
  command
      ->add_option("-o,--output", options->file,
                   "The bundle: .tar.zst, .tar.gz or .tar; - for standard output (default: "
                   "jetmem-capture-TIME.tar.zst here)")
      ->type_name("FILE");
  command
      ->add_option("--history", options->history,
                   "How much of the recorded past goes with it (default: capture.history, 6h)")
      ->type_name("DURATION");
  command->add_flag("--no-history", options->no_history, "Nothing of the recorded past");
  command
      ->add_option("--max-size", options->max_size,
                   "The largest that the bundle may be (default: capture.max_size, 64MiB)")
      ->type_name("SIZE");
  command->add_option("--deadline", options->deadline, "Give up after this long (default: 2m)")
      ->type_name("DURATION");
  command->add_flag("--json", options->json, "Say what was written as JSON");
  command
      ->add_option("--daemon", options->daemon,
                   "Ask the jetmemd at this address (127.0.0.1:10743, unix:/path) and no other")
      ->type_name("ADDRESS");
  command->add_option("--config", options->config, "Settings file (default: those of jetmemd)")
      ->type_name("FILE");
  // For jetmemd.
  command->add_flag("--automatic", options->automatic)->group("");
  command->add_option("--alert", options->alert)->group("");
  command->add_option("--history-file", options->history_file)->group("");
  command->add_option("--keep", options->keep)->group("");
  command->add_option("--max-total-size", options->max_total_size)->group("");
  command->footer(
      "Takes the files that the sources read (`jetmem sources`), the kernel's log, the last hours "
      "of\n"
      "the recorder, the settings and rules, and what jetmemd knows of the programs that it runs. "
      "No\n"
      "command lines, environments, network addresses, serial numbers or host names: what is left "
      "out\n"
      "is said here and in jetmem/manifest.json. What could not be read is recorded as that, never "
      "as\n"
      "absent. Read it anywhere: jetmem --root FILE doctor. --root DIR packs a captured tree "
      "again.\n"
      "As root, or where jetmem-reader's socket lets you, it sees more.\n"
      "Exit status: 0 when it is written, 1 when not (nothing is left behind then), 2 on a wrong\n"
      "command line.");
  command->callback([options, &context] {
    options->root = context.root;
    options->access = context.access;
    context.status = run_capture(*options);
  });
}

}  // namespace jetmem
