// SPDX-License-Identifier: Apache-2.0
#include "base/root/manifest.h"

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text/text.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;

struct ErrnoName {
  std::string_view name;
  int value;
};

// By name, because errno numbers differ between architectures.
constexpr std::array kErrnoNames{
    ErrnoName{"EACCES", EACCES},       ErrnoName{"EPERM", EPERM},
    ErrnoName{"ENOENT", ENOENT},       ErrnoName{"ENODEV", ENODEV},
    ErrnoName{"ENXIO", ENXIO},         ErrnoName{"EOPNOTSUPP", EOPNOTSUPP},
    ErrnoName{"EAGAIN", EAGAIN},       ErrnoName{"EIO", EIO},
    ErrnoName{"EINVAL", EINVAL},       ErrnoName{"ENODATA", ENODATA},
    ErrnoName{"ETIME", ETIME},         ErrnoName{"ETIMEDOUT", ETIMEDOUT},
    ErrnoName{"EFBIG", EFBIG},         ErrnoName{"EREMOTEIO", EREMOTEIO},
    ErrnoName{"EBUSY", EBUSY},         ErrnoName{"EINTR", EINTR},
    ErrnoName{"ENOMEM", ENOMEM},       ErrnoName{"EMFILE", EMFILE},
    ErrnoName{"EISDIR", EISDIR},       ErrnoName{"ENOTDIR", ENOTDIR},
    ErrnoName{"ELOOP", ELOOP},         ErrnoName{"ENAMETOOLONG", ENAMETOOLONG},
    ErrnoName{"ENFILE", ENFILE},       ErrnoName{"EREMOTE", EREMOTE},
    ErrnoName{"ESRCH", ESRCH},         ErrnoName{"ENOSYS", ENOSYS},
    ErrnoName{"EPROTO", EPROTO},       ErrnoName{"ESHUTDOWN", ESHUTDOWN},
    ErrnoName{"ESTALE", ESTALE},       ErrnoName{"ENOTCONN", ENOTCONN},
    ErrnoName{"E2BIG", E2BIG},         ErrnoName{"EFAULT", EFAULT},
    ErrnoName{"EEXIST", EEXIST},       ErrnoName{"ENOSPC", ENOSPC},
    ErrnoName{"EDOM", EDOM},           ErrnoName{"ERANGE", ERANGE},
    ErrnoName{"EOVERFLOW", EOVERFLOW}, ErrnoName{"ENOBUFS", ENOBUFS},
    ErrnoName{"ECANCELED", ECANCELED},
};

template <class T>
Result<void> take(const Json& from, const char* key, std::optional<T>& to) {
  const auto it = from.find(key);
  if (it == from.end() || it->is_null()) return {};
  bool fits = false;
  if constexpr (std::is_same_v<T, std::string>) {
    fits = it->is_string();
  } else if constexpr (std::is_unsigned_v<T>) {
    fits = it->is_number_unsigned();
  } else {
    fits = it->is_number_integer();
  }
  if (!fits) {
    return fail(Errc::kMalformed, std::string("facts.") + key + ": unexpected " + it->type_name());
  }
  to = it->template get<T>();
  return {};
}

Result<void> take_facts(const Json& json, Facts& facts) {
  if (!json.is_object()) return fail(Errc::kMalformed, "facts: not an object");
  Result<void> ok = take(json, "page_size", facts.page_size);
  if (ok) ok = take(json, "clock_ticks_per_second", facts.clock_ticks_per_second);
  if (ok) ok = take(json, "cpus", facts.cpus);
  if (ok) ok = take(json, "boot_id", facts.boot_id);
  if (ok) ok = take(json, "boot_time", facts.boot_time);
  if (ok) ok = take(json, "captured_at", facts.captured_at);
  if (!ok) return ok;
  for (const auto& [time, name] :
       {std::pair{facts.boot_time, "boot_time"}, std::pair{facts.captured_at, "captured_at"}}) {
    if (!time || (*time >= 0 && *time <= kLastSecond)) continue;
    return fail(Errc::kMalformed, std::string("facts.") + name + ": no likely time");
  }
  const auto size = facts.page_size.value_or(4096);
  if (size < 1024 || size > (1U << 24) || (size & (size - 1)) != 0) {
    return fail(Errc::kMalformed, "facts.page_size: not a power of two from 1024 to 16 MiB");
  }
  if (facts.clock_ticks_per_second == 0U) {
    return fail(Errc::kMalformed, "facts.clock_ticks_per_second: zero");
  }
  return {};
}

std::string text_of(const Json& from, const char* key) {
  const auto it = from.find(key);
  return it != from.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<Errc> errc_named(std::string_view name) {
  for (const Errc code : {Errc::kAbsent, Errc::kDenied, Errc::kMalformed, Errc::kNotRegular,
                          Errc::kTooLarge, Errc::kIo, Errc::kTimeout, Errc::kUnavailable}) {
    if (errc_name(code) == name) return code;
  }
  return std::nullopt;
}

Result<void> take_sources(const Json& json, Manifest& manifest) {
  if (!json.is_object()) return fail(Errc::kMalformed, "sources: not an object");
  for (const auto& [name, reported] : json.items()) {
    if (!reported.is_object()) {
      return fail(Errc::kMalformed, "sources." + printable(name) + ": not an object");
    }
    Manifest::SourceRemark note;
    note.name = name;
    note.state = text_of(reported, "state");
    note.reason = text_of(reported, "reason");
    note.skipped = text_of(reported, "skipped");
    const std::string error = text_of(reported, "error");
    // A kind of failure that a newer jetmem has is a failure all the same.
    if (!error.empty()) note.error = errc_named(error).value_or(Errc::kIo);
    manifest.sources.push_back(std::move(note));
  }
  return {};
}

void take_capture(const Json& json, Manifest& manifest) {
  if (!json.is_object()) return;
  Manifest::Capture capture{
      text_of(json, "reason"), text_of(json, "alert"), text_of(json, "version"), {}, {}};
  const auto seconds = json.find("log_seconds");
  if (seconds != json.end() && seconds->is_number()) {
    const double reported = seconds->get<double>();
    if (reported >= 0 && reported < 1e9) capture.log_seconds = reported;
  }
  const auto omitted = json.find("omitted");
  if (omitted != json.end() && omitted->is_array()) {
    for (const Json& each : *omitted) {
      if (each.is_object()) {
        capture.omitted.push_back({text_of(each, "path"), text_of(each, "reason")});
      }
    }
  }
  manifest.capture = std::move(capture);
}

}  // namespace

std::string_view errno_name(int error) {
  for (const ErrnoName& known : kErrnoNames) {
    if (known.value == error) return known.name;
  }
  return {};
}

int errno_named(std::string_view name) {
  for (const ErrnoName& known : kErrnoNames) {
    if (known.name == name) return known.value;
  }
  return 0;
}

const Manifest::SourceRemark* Manifest::source(std::string_view name) const {
  for (const SourceRemark& note : sources) {
    if (note.name == name) return &note;
  }
  return nullptr;
}

int Manifest::error_of(std::string_view path) const {
  for (const RecordedError& e : errors) {
    if (path.substr(0, e.path.size()) != e.path) continue;
    if (path.size() == e.path.size() || path[e.path.size()] == '/') return e.error;
  }
  return 0;
}

Result<Manifest> parse_manifest(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return fail(Errc::kMalformed, "not valid JSON");
  if (!json.is_object()) return fail(Errc::kMalformed, "not a JSON object");
  const auto format = json.find("format");
  if (format == json.end() || !format->is_number_integer() || *format != 1) {
    return fail(Errc::kMalformed, "format: expected 1");
  }
  Manifest manifest;
  if (const auto facts = json.find("facts"); facts != json.end()) {
    if (auto ok = take_facts(*facts, manifest.facts); !ok) return tl::unexpected(ok.error());
  }
  if (const auto sources = json.find("sources"); sources != json.end()) {
    if (auto ok = take_sources(*sources, manifest); !ok) return tl::unexpected(ok.error());
  }
  if (const auto capture = json.find("capture"); capture != json.end()) {
    take_capture(*capture, manifest);
  }
  const auto errors = json.find("errors");
  if (errors == json.end()) return manifest;
  if (!errors->is_object()) return fail(Errc::kMalformed, "errors: not an object");
  for (const auto& [path, name] : errors->items()) {
    const std::string reported = name.is_string() ? name.get<std::string>() : std::string();
    const int value = errno_named(reported);
    if (value == 0 || path.empty() || path.front() != '/') {
      return fail(Errc::kMalformed, "errors: '" + printable(path) + "': '" + printable(reported) +
                                        "' is not an errno name known here");
    }
    manifest.errors.push_back({path, value});
  }
  return manifest;
}

std::string manifest_text(const Manifest& manifest) {
  using Ordered = nlohmann::ordered_json;
  const Facts& known = manifest.facts;
  Ordered facts = Ordered::object();
  const auto put = [&](const char* key, const auto& value) {
    if (value) facts[key] = *value;
  };
  put("page_size", known.page_size);
  put("clock_ticks_per_second", known.clock_ticks_per_second);
  put("cpus", known.cpus);
  put("boot_id", known.boot_id);
  put("boot_time", known.boot_time);
  put("captured_at", known.captured_at);
  Ordered json{{"format", 1}, {"facts", std::move(facts)}};
  if (manifest.capture) {
    Ordered omitted = Ordered::array();
    for (const Manifest::Omitted& each : manifest.capture->omitted) {
      omitted.push_back({{"path", each.path}, {"reason", each.reason}});
    }
    Ordered capture{{"reason", manifest.capture->reason}};
    if (!manifest.capture->alert.empty()) capture["alert"] = manifest.capture->alert;
    capture["version"] = manifest.capture->version;
    if (manifest.capture->log_seconds) capture["log_seconds"] = *manifest.capture->log_seconds;
    capture["omitted"] = std::move(omitted);
    json["capture"] = std::move(capture);
  }
  Ordered sources = Ordered::object();
  for (const Manifest::SourceRemark& note : manifest.sources) {
    Ordered reported{{"state", note.state}};
    if (!note.reason.empty()) reported["reason"] = note.reason;
    if (!note.skipped.empty()) reported["skipped"] = note.skipped;
    if (note.error) reported["error"] = errc_name(*note.error);
    sources[note.name] = std::move(reported);
  }
  if (!sources.empty()) json["sources"] = std::move(sources);
  Ordered errors = Ordered::object();
  for (const Manifest::RecordedError& each : manifest.errors) {
    const std::string_view name = errno_name(each.error);
    errors[each.path] = name.empty() ? std::string_view("EIO") : name;
  }
  json["errors"] = std::move(errors);
  return json.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

}  // namespace jetmem
