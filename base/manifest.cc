#include "base/manifest.h"

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;

struct ErrnoName {
  std::string_view name;
  int value;
};

// By name, because errno numbers differ between architectures.
constexpr std::array kErrnoNames{
    ErrnoName{"EACCES", EACCES}, ErrnoName{"EPERM", EPERM},
    ErrnoName{"ENOENT", ENOENT}, ErrnoName{"ENODEV", ENODEV},
    ErrnoName{"ENXIO", ENXIO},   ErrnoName{"EOPNOTSUPP", EOPNOTSUPP},
    ErrnoName{"EAGAIN", EAGAIN}, ErrnoName{"EIO", EIO},
    ErrnoName{"EINVAL", EINVAL}, ErrnoName{"ENODATA", ENODATA},
    ErrnoName{"ETIME", ETIME},   ErrnoName{"ETIMEDOUT", ETIMEDOUT},
    ErrnoName{"EFBIG", EFBIG},   ErrnoName{"EREMOTEIO", EREMOTEIO},
    ErrnoName{"EBUSY", EBUSY},   ErrnoName{"EINTR", EINTR},
    ErrnoName{"ENOMEM", ENOMEM}, ErrnoName{"EMFILE", EMFILE},
    ErrnoName{"EISDIR", EISDIR}, ErrnoName{"ENOTDIR", ENOTDIR},
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
  const auto size = facts.page_size.value_or(4096);
  if (size < 1024 || size > (1U << 24) || (size & (size - 1)) != 0) {
    return fail(Errc::kMalformed, "facts.page_size: not a power of two from 1024 to 16 MiB");
  }
  if (facts.clock_ticks_per_second == 0U) {
    return fail(Errc::kMalformed, "facts.clock_ticks_per_second: zero");
  }
  return {};
}

}  // namespace

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
  const auto errors = json.find("errors");
  if (errors == json.end()) return manifest;
  if (!errors->is_object()) return fail(Errc::kMalformed, "errors: not an object");
  for (const auto& [path, name] : errors->items()) {
    const std::string errno_name = name.is_string() ? name.get<std::string>() : std::string();
    int value = 0;
    for (const ErrnoName& known : kErrnoNames) {
      if (known.name == errno_name) value = known.value;
    }
    if (value == 0 || path.empty() || path.front() != '/') {
      return fail(Errc::kMalformed, "errors: '" + printable(path) + "': '" + printable(errno_name) +
                                        "' is not an errno name known here");
    }
    manifest.errors.push_back({path, value});
  }
  return manifest;
}

}  // namespace jetmem
