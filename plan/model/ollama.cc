// SPDX-License-Identifier: Apache-2.0
#include "plan/model/ollama.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text/text.h"
#include "collectors/probe/json.h"
#include "plan/model/model_file.h"

namespace jetmem::plan {
namespace {

constexpr std::string_view kMediaType = "application/vnd.ollama.image.";
constexpr std::size_t kMostLayersOfImage = 4096;
constexpr std::size_t kDigestDigits = 64;

// A digest becomes a file's name, so it is nothing but a digest.
std::optional<std::string> blob_name(std::string_view digest) {
  if (!take_prefix(digest, "sha256:") || digest.size() != kDigestDigits) return std::nullopt;
  if (!std::all_of(digest.begin(), digest.end(), is_lower_hex)) return std::nullopt;
  return "sha256-" + std::string(digest);
}

bool is_part(std::string_view part) {
  const auto is_allowed = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  };
  return !part.empty() && part.size() <= 128 && part.front() != '.' &&
         std::all_of(part.begin(), part.end(), is_allowed);
}

}  // namespace

Result<OllamaManifest> parse_ollama_manifest(std::string_view text) {
  const auto json = parse_json(text, {kMostManifestBytes, 8, 65536});
  if (!json) return tl::unexpected(json.error());
  JsonTaker in;
  OllamaManifest out;
  std::optional<Error> error;
  const JsonPath root{&*json};
  const JsonPath layers = in.member(root, "layers");
  in.each(layers, kMostLayersOfImage, [&](const JsonPath& layer) {
    const JsonPath type_at = in.member(layer, "mediaType");
    const std::string type_text = in.text(type_at, 120);
    std::string_view type = type_text;
    if (!take_prefix(type, kMediaType)) return;
    const bool is_beside = type == "projector" || type == "adapter";
    if (type == "tensor") {
      error = Error{Errc::kAbsent,
                    "the model is stored tensor by tensor, which is not read: expected a layer " +
                        std::string(kMediaType) + "model"};
    }
    if (!is_beside && type != "model" && type != "params") return;
    const JsonPath size_at = in.member(layer, "size");
    const double size = in.number(size_at);
    if (is_beside) out.beside_bytes += size;
    const JsonPath digest_at = in.member(layer, "digest");
    const std::string digest = in.text(digest_at, 200);
    const auto blob = blob_name(digest);
    if (!blob) {
      if (!error) {
        error =
            Error{Errc::kMalformed, digest_at.path() + ": expected sha256: and 64 hexadecimal " +
                                        "digits, found \"" + printable(digest, 80) + "\""};
      }
    } else if (type == "model") {
      out.model = *blob;
    } else if (type == "params") {
      out.parameters = *blob;
    }
  });
  if (in.error()) return tl::unexpected(*in.error());
  if (error && (out.model.empty() || error->code != Errc::kAbsent)) {
    return tl::unexpected(std::move(*error));
  }
  if (out.model.empty()) {
    return fail(Errc::kMalformed,
                "layers: expected one of type " + std::string(kMediaType) + "model, found none");
  }
  if (!(out.beside_bytes <= kMostModelBytes)) {
    return fail(Errc::kTooLarge, "layers: their sizes are more than 10 TB");
  }
  return out;
}

Result<std::optional<std::uint64_t>> parse_ollama_parameters(std::string_view text) {
  const auto json = parse_json(text, {kMostManifestBytes, 8, 65536});
  if (!json) return tl::unexpected(json.error());
  JsonTaker in;
  const JsonPath root{&*json};
  const JsonPath context_at = in.member(root, "num_ctx");
  const auto context = in.count_if_any(context_at, 1ULL << 32);
  if (in.error()) return tl::unexpected(*in.error());
  return context;
}

std::string ollama_manifest_path(std::string_view name) {
  std::string_view tag = "latest";
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && name.find('/', colon) == std::string_view::npos) {
    tag = name.substr(colon + 1);
    name = name.substr(0, colon);
  }
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    parts.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  if (parts.size() > 3 || !is_part(tag)) return {};
  if (parts.size() == 1) parts.insert(parts.begin(), "library");
  if (parts.size() == 2) parts.insert(parts.begin(), "registry.ollama.ai");
  std::string path = "manifests";
  for (const std::string_view part : parts) {
    if (!is_part(part)) return {};
    path.append("/").append(part);
  }
  return path.append("/").append(tag);
}

std::vector<std::string> ollama_folders() {
  std::vector<std::string> out;
  if (const char* models = std::getenv("OLLAMA_MODELS"); models != nullptr && *models != '\0') {
    out.emplace_back(models);
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    out.push_back(std::string(home) + "/.ollama/models");
  }
  out.emplace_back("/usr/share/ollama/.ollama/models");
  return out;
}

}  // namespace jetmem::plan
