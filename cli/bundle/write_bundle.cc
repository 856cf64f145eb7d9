// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/write_bundle.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/root/snapshot.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "base/version.h"
#include "cli/bundle/history_copy.h"
#include "cli/bundle/other_machine.h"
#include "cli/bundle/pack.h"
#include "cli/bundle/redact.h"
#include "cli/bundle/source_records.h"
#include "cli/client/alerts_client.h"
#include "cli/client/daemon_client.h"
#include "cli/client/local_snapshot.h"
#include "cli/client/rule_input.h"
#include "cli/draw/number_text.h"
#include "collectors/sampler/registry.h"
#include "config/load.h"
#include "config/yaml_files.h"
#include "report/alerts/alerts.h"
#include "report/device/device_now.h"
#include "report/exposition/exposition.h"

namespace jetmem {
namespace {

constexpr std::size_t kMaxCopied = 4U << 20;
constexpr std::size_t kMaxSiteFiles = 1U << 20;  // of one directory
// For what comes behind the history: the manifest and the archive's end.
constexpr std::uint64_t kReserve = 256U << 10;

class Bundler {
 public:
  Bundler(const BundleOptions& needed, const Settings& settings)
      : needed_(needed), settings_(settings), client_("", needed, settings) {}

  Result<BundleDone> run() {
    if (!needed_.root.empty()) {
      auto other = Root::at(needed_.root);
      if (!other) return tl::unexpected(std::move(other.error()).within("--root"));
      root_ = std::move(*other);
    }
    std::optional<OtherMachine> answers;
    if (is_live() && !needed_.daemon.empty()) {
      auto asked = ask_other_machine(client_);
      if (!asked) return tl::unexpected(std::move(asked.error()));
      answers = std::move(*asked);
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(needed_.now).count();
    auto made = BundleWriter::create(needed_.file, needed_.part_folder, needed_.folder,
                                     needed_.max_bytes, seconds);
    if (!made) return tl::unexpected(std::move(made.error()));
    bundle_ = std::move(*made);
    Result<void> ok;
    if (answers) {
      ok = add_answers(*answers);
    } else {
      ok = read_sources();
      if (ok) ok = config();
      if (ok && needed_.history.count() > 0) ok = history();
    }
    if (ok) ok = finish(seconds);
    if (!ok) return tl::unexpected(std::move(ok.error()));
    return BundleDone{bundle_->bytes(), bundle_->entries(), std::move(manifest_)};
  }

 private:
  bool is_live() const { return root_.is_live(); }
  void step(std::string_view what) const {
    if (needed_.progress) needed_.progress(what);
  }
  void omit(std::string path, std::string why) {
    omitted_.push_back({std::move(path), std::move(why)});
  }

  // In place of its files, which cannot be read from here; those of this machine are another's.
  Result<void> add_answers(const OtherMachine& machine) {
    is_of_other_ = true;
    // Not where it is: a bundle has no addresses.
    const std::string why = "only the answers of its jetmemd were taken";
    manifest_.facts = machine.facts;
    manifest_.sources = machine.sources;
    for (Manifest::SourceRemark& note : manifest_.sources) {
      note.reason = redact_text(note.reason, redacted_);
      // What is absent there was looked for; reading the bundle finds it as absent.
      if (note.state != state_name(SourceState::kAbsent)) note.skipped = why;
    }
    for (const auto& [path, text] : machine.json) {
      if (auto ok = bundle_->add(path, redact_json(text, redacted_, 2) + "\n"); !ok) return ok;
    }
    if (!machine.metrics.empty()) {
      const std::string text = redact_text(machine.metrics, redacted_, /*ids=*/false);
      if (auto ok = bundle_->add(kCapturedMetrics, text); !ok) return ok;
    }
    omit("/", "another machine: " + why + "; run jetmem capture on it for all of it");
    for (const auto& [path, reason] : machine.missing) omit(path, redact_text(reason, redacted_));
    return {};
  }

  // What only the daemon has: texts of the programs that it runs.
  std::map<std::string, std::string> texts() {
    std::map<std::string, std::string> out;
    if (!is_live()) return out;
    step("asking jetmemd");
    std::string why;
    // Its sources say what to read in part, also where it has no texts.
    if (auto now = client_.ask("/api/v1/now", parse_device_now)) {
      daemon_.sources = std::move(now->sources);
    }
    if (auto found = client_.ask("/api/v1/texts", parse_texts)) {
      out = std::move(*found);
    } else {
      why = std::move(found.error().message);
    }
    for (const SourceInfo* info : all_source_infos()) {
      if (info->access != Access::kProgram || out.contains(std::string(info->paths.front()))) {
        continue;
      }
      const bool is_known = daemon_.source(info->name) != nullptr;
      std::string reason = is_known ? daemon_.absence_reason(info->name) : "";
      if (reason.empty()) reason = "jetmemd has no output of it now";
      omit(std::string(info->paths.front()), why.empty() ? reason : "needs jetmemd: " + why);
    }
    return out;
  }

  Result<void> read_sources() {
    SourceRecords records(root_, *bundle_, needed_.whole_log);
    LocalSnapshotOptions options;
    options.texts = texts();
    for (const SourceNow& each : daemon_.sources) {
      if (each.is_read_in_part()) options.in_part.push_back(each.name);
    }
    options.begins = [this](std::string_view source) { step(source); };
    options.seen = [&](const SourceInfo& info, const Snapshot& snapshot) {
      records.take(info, snapshot);
    };
    options.config = needed_.config;
    options.kernel_log = [&](int fd, const kernel_log::Catalogue* site) {
      step("kernel_log");
      log_clock_ = SystemClock().mono();
      records.take_kernel_log(KernelLogSource::kInfo, fd, site);
    };
    if (is_live() && ::geteuid() != 0 && ::access(settings_.reader.socket.c_str(), F_OK) == 0) {
      options.reader_socket = settings_.reader.socket;
    }
    auto shot = LocalSnapshot::read(needed_.root, {}, std::move(options));
    if (!shot) return tl::unexpected(std::move(shot.error()));
    if (!records.result()) return records.result();
    redacted_ = records.redacted();
    note_sources((*shot)->sampler(), records);
    manifest_.facts = (*shot)->facts();
    manifest_.errors = records.errors();
    omitted_.insert(omitted_.end(), records.omitted().begin(), records.omitted().end());
    step("alerts");
    if (auto ok = metrics(**shot); !ok) return ok;
    return alerts(**shot);
  }

  void note_sources(const Sampler& sampler, const SourceRecords& records) {
    for (std::size_t i = 0; i < sampler.size(); ++i) {
      const SourceStatus& status = sampler.status(i);
      Manifest::SourceRemark note;
      note.name = sampler.info(i).name;
      note.state = state_name(status.state);
      note.reason = redact_text(printable(status.reason, 500), redacted_);
      if (!records.has(note.name)) {
        const SourceNow* const seen = daemon_.source(note.name);
        if (seen != nullptr && sampler.info(i).access == Access::kProgram) {
          note.state = printable(seen->state, 20);
          note.reason = redact_text(printable(seen->reason, 500), redacted_);
          // What is absent was looked for.
          if (note.state != state_name(SourceState::kAbsent)) {
            note.skipped = "jetmemd has no output of it now";
          }
        } else if (!status.skipped.empty()) {
          note.skipped = redact_text(printable(status.skipped, 500), redacted_);
        } else if (status.state == SourceState::kFailed || status.state == SourceState::kDenied) {
          note.error = status.error;
        }
      }
      manifest_.sources.push_back(std::move(note));
    }
  }

  // The answers in a bundle of another machine are all that there is of it.
  Result<bool> answers_of_tree() {
    if (is_live() || !from_tree(kCapturedNow)) return false;
    for (const char* path : {kCapturedNow, kCapturedDoctor, kCapturedMetrics}) {
      const auto text = from_tree(path);
      if (!text) continue;
      if (auto ok = bundle_->add(path, *text); !ok) return tl::unexpected(std::move(ok.error()));
    }
    return true;
  }

  Result<void> metrics(const LocalSnapshot& shot) {
    const auto has_answers = answers_of_tree();
    if (!has_answers) return tl::unexpected(has_answers.error());
    if (*has_answers) return {};
    Page page;
    fill_page(shot.table(), shot.now(), 1, page);
    std::string text;
    render_text(page, text);
    return bundle_->add(kCapturedMetrics, redact_text(text, redacted_, /*ids=*/false));
  }

  Result<void> add_alerts(const std::string& json) {
    return bundle_->add("/jetmem/alerts.json", redact_json(json, redacted_, 2) + "\n");
  }

  Result<void> alerts(const LocalSnapshot& shot) {
    if (is_live()) {
      if (auto reply = client_.ask("/api/v1/alerts")) {
        return add_alerts(reply->body);
      }
    } else if (auto text = from_tree("/jetmem/alerts.json")) {
      return add_alerts(*text);
    }
    return add_alerts(
        alerts_json(evaluate_now(shot, rules_in_force(settings_.rules), settings_.rules)));
  }

  std::optional<std::string> from_tree(const std::string& path) const {
    int error = 0;
    const UniqueFd fd = root_.open_file(path, error);
    ByteBuffer bytes;
    if (!fd.valid() || read_to_end(fd.get(), kMaxCopied, bytes) != 0) return std::nullopt;
    return std::string(bytes.view());
  }

  Result<void> config() {
    if (!is_live()) return config_of_tree("/jetmem/config");
    step("settings");
    const auto loaded = load_named_or_default(needed_.config, known_sources());
    if (!loaded) {
      omit("/jetmem/config/jetmem.yaml", "invalid settings: `jetmem config check`");
    } else {
      const std::string text = redact_text(show_settings(*loaded), redacted_, /*ids=*/false);
      if (auto ok = bundle_->add("/jetmem/config/jetmem.yaml", text); !ok) return ok;
    }
    if (auto ok = site_files(settings_.rules.directory, "/jetmem/config/rules"); !ok) return ok;
    return site_files(settings_.messages.directory, "/jetmem/config/messages");
  }

  Result<void> site_files(const std::string& directory, const std::string& folder) {
    const YamlFiles files = read_yaml_files(directory);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < files.names.size(); ++i) {
      const std::string path =
          folder + "/" + std::filesystem::path(files.names[i]).filename().string();
      const std::string text = redact_text(files.texts[i], redacted_, /*ids=*/false);
      bytes += text.size();
      if (bytes > kMaxSiteFiles) {
        omit(path, "the files there have more than " + std::to_string(kMaxSiteFiles >> 10) +
                       " KiB together");
        return {};
      }
      if (auto ok = bundle_->add(path, text); !ok) return ok;
    }
    return {};
  }

  Result<void> config_of_tree(const std::string& folder) {
    std::vector<std::string> names;
    bool cut = false;
    if (root_.list(folder, 256, names, cut) != 0) return {};
    for (const std::string& name : names) {
      const std::string path = folder + "/" + name;
      if ((name == "rules" || name == "messages") && folder == "/jetmem/config") {
        if (auto ok = config_of_tree(path); !ok) return ok;
      } else if (const auto text = from_tree(path); text && bundle_->is_free(path)) {
        if (auto ok = bundle_->add(path, *text); !ok) return ok;
      }
    }
    return {};
  }

  // In a captured tree: a plain file in it, wherever a link would lead.
  Result<std::string> history_file() const {
    if (!is_live()) {
      constexpr std::string_view kFile = "/jetmem/history.db";
      int error = 0;
      const UniqueFd fd = root_.open_file(kFile, error);
      if (!fd.valid() && error == ENOENT) return fail(Errc::kAbsent, "missing");
      if (!fd.valid()) return tl::unexpected(FileText{kFile, {}, error}.as_error());
      std::error_code ignored;
      const auto path =
          std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd.get()), ignored);
      if (ignored) return fail(Errc::kIo, "the path of the history is unknown");
      return path.string();
    }
    if (!needed_.history_file.empty()) return needed_.history_file;
    if (!settings_.history.directory.empty()) return settings_.history.directory + "/history.db";
    const char* state = std::getenv("STATE_DIRECTORY");
    const std::string_view all = state == nullptr ? std::string_view() : state;
    const std::string first(all.substr(0, all.find(':')));
    return (first.empty() ? "/var/lib/jetmem" : first) + "/history.db";
  }

  Result<void> history() {
    step("history");
    constexpr const char* kPath = "/jetmem/history.db";
    const std::uint64_t used = bundle_->bytes() + kReserve;
    const std::uint64_t room = needed_.max_bytes > used ? needed_.max_bytes - used : 0;
    const auto file = history_file();
    if (!file) {
      omit(kPath, file.error().message);
      return {};
    }
    HistoryCopyOptions how;
    how.file = *file;
    how.beside = needed_.part_folder + "/history.db";
    how.live = is_live();
    how.keep = needed_.history;
    how.max_bytes = room;
    auto copy = copy_history(how);
    if (!copy) {
      const bool none = copy.error().code == Errc::kAbsent;
      omit(kPath, none ? "missing file " + *file : copy.error().message);
      return {};
    }
    redacted_.add(copy->redacted);
    if (copy->events_cut > 0) {
      omit(kPath, std::to_string(copy->events_cut) + " events from before the last " +
                      format_duration(needed_.history) + " of their boot");
    }
    return bundle_->add_file(kPath, copy->fd.get(), copy->size);
  }

  Result<void> finish(std::int64_t seconds) {
    if (is_live() && !is_of_other_) manifest_.facts.captured_at = seconds;
    Manifest::Capture capture;
    capture.reason = needed_.reason;
    capture.alert = needed_.alert;
    capture.version = kVersion;
    if (is_live() && !is_of_other_) capture.log_seconds = to_seconds(log_clock_);
    if (const Manifest* before = root_.manifest(); before != nullptr && before->capture) {
      capture = *before->capture;
    }
    // Never read; listed so that nobody searches for it.
    capture.omitted.push_back({"/proc/*/cmdline, /proc/*/environ", "never taken"});
    const auto log_message = [&](std::uint64_t count, const char* path, const char* why) {
      if (count > 0) capture.omitted.push_back({path, std::to_string(count) + " " + why});
    };
    log_message(redacted_.arguments, "/proc/cmdline",
                "kernel arguments unrelated to memory, IOMMU or power");
    log_message(redacted_.addresses, "*", "IP and MAC addresses (<address>)");
    log_message(redacted_.ids, "*", "UUIDs, serial numbers and keys (<id>)");
    log_message(redacted_.names, "*", "names of hosts and people (<name>)");
    if (redacted_.lines > 0) {
      const std::string size = bytes_text(redacted_.line_bytes);
      log_message(redacted_.lines, "/dev/kmsg, /sys/fs/pstore/*, /var/lib/systemd/pstore/*",
                  ("lines that jetmem does not decode, " + size + " (--whole-log)").c_str());
    }
    capture.omitted.insert(capture.omitted.end(), omitted_.begin(), omitted_.end());
    manifest_.capture = std::move(capture);
    step("manifest");
    if (auto ok = bundle_->add("/jetmem/manifest.json", manifest_text(manifest_)); !ok) return ok;
    return bundle_->finish();
  }

  const BundleOptions& needed_;
  const Settings& settings_;
  DeviceClient client_;
  Root root_ = Root::live();
  std::unique_ptr<BundleWriter> bundle_;
  Manifest manifest_;
  Redacted redacted_;
  std::vector<Manifest::Omitted> omitted_;
  DeviceNow daemon_;          // its sources, where it answers
  bool is_of_other_ = false;  // of another machine than this, or the tree's
  Nanoseconds log_clock_{0};  // when the kernel's log was read
};

}  // namespace

Result<BundleDone> write_bundle(const BundleOptions& needed, const Settings& settings) {
  return Bundler(needed, settings).run();
}

}  // namespace jetmem
