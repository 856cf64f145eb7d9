#include "health/rules/message_catalog.h"

#include <array>
#include <cstdint>

#include "health/rules/alert_fields.h"
#include "health/rules/texts.h"

namespace jetmem {
namespace {

std::uint64_t fnv1a(std::string_view text, std::uint64_t hash) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

void append_hex(std::string& out, std::uint64_t number) {
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[number >> shift & 15];
}

// journalctl puts the entry's fields in place of @FIELD@.
std::string with_fields(std::string_view text) {
  std::string out;
  for (const TextPart& part : split_text(text)) {
    if (part.kind == TextPart::Kind::kPlain) out.append(part.text);
    if (part.kind == TextPart::Kind::kValue) out.append("@JETMEM_VALUE_SHOWN@");
    if (part.kind == TextPart::Kind::kLabel) {
      out.append("@").append(label_field(part.text)).append("@");
    }
  }
  return out;
}

}  // namespace

std::string alert_message_id(std::string_view alert) {
  const std::string text = "jetmem alert " + std::string(alert);
  std::uint64_t high = fnv1a(text, 0xcbf29ce484222325);
  std::uint64_t low = fnv1a(text, 0x6a65746d656d0001);
  // A random UUID's form, which tools expect of such an ID.
  high = (high & ~std::uint64_t{0xf000}) | 0x4000;
  low = (low & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62);
  std::string out;
  append_hex(out, high);
  append_hex(out, low);
  return out;
}

std::string message_catalog(const RuleSet& rules) {
  std::string out = "# What journalctl -x says below jetmem's alerts. Made from its rules.\n";
  for (const Rule& rule : rules.rules) {
    out.append("\n-- ").append(alert_message_id(rule.name)).append("\n");
    out.append("Subject: ").append(rule.name).append(" (").append(severity_name(rule.severity));
    out.append("): @JETMEM_ALERT_STATE@\nDefined-By: jetmem\n\n");
    out.append(with_fields(rule.texts.summary)).append("\n");
    if (!rule.texts.cause.empty()) {
      out.append("\nLikely cause: ").append(with_fields(rule.texts.cause)).append("\n");
    }
    if (!rule.texts.remedy.empty()) {
      out.append("\nRemedy: ").append(with_fields(rule.texts.remedy)).append("\n");
    }
    if (!rule.texts.runbook.empty()) out.append("\nRunbook: @JETMEM_RUNBOOK@\n");
    out.append("\n`jetmem rules explain ").append(rule.name);
    out.append("` says what it looks at and what that is now.\n");
  }
  return out;
}

}  // namespace jetmem
