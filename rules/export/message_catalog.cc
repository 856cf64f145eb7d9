// SPDX-License-Identifier: Apache-2.0
#include "rules/export/message_catalog.h"

#include <algorithm>
#include <cstdint>

#include "base/text/text.h"
#include "rules/model/alert_fields.h"
#include "rules/model/texts.h"

namespace jetmem {
namespace {

constexpr std::size_t kWidth = 76;
constexpr std::size_t kMaxParagraph = 4096;

// "@NAME@" of the rule's own would be taken for a field.
void append_plain(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const bool is_field = text[i] == '@' && i + 1 < text.size() &&
                          ((text[i + 1] >= 'A' && text[i + 1] <= 'Z') || text[i + 1] == '_');
    if (is_field) out += ' ';
  }
}

// journalctl puts the entry's fields in place of @FIELD@; a field's name may have no digit there.
std::string with_fields(std::string_view text) {
  std::string out;
  for (const TextPart& part : split_text(text)) {
    if (part.kind == TextPart::Kind::kPlain) append_plain(out, part.text);
    if (part.kind == TextPart::Kind::kValue) out.append("@JETMEM_VALUE_TEXT@");
    if (part.kind == TextPart::Kind::kLabel) {
      out.append("@").append(label_field(part.text)).append("@");
    }
  }
  return out;
}

// A line that begins with one of # ; - would be a comment or the next entry. So no line begins with
// anything but a letter, a digit or a field.
void append_line(std::string& out, std::string_view line) {
  const char first = line.empty() ? ' ' : line.front();
  const bool is_plain = first == '@' || is_digit(first) || (first >= 'a' && first <= 'z') ||
                        (first >= 'A' && first <= 'Z');
  if (!is_plain) out += ' ';
  out.append(line).append("\n");
}

// How much of a line it takes: what a field holds is most often short.
std::size_t width(std::string_view word) {
  constexpr std::size_t kOfField = 8;
  const std::size_t at = word.find("@JETMEM_");
  return at == std::string_view::npos ? word.size() : at + kOfField;
}

// Lines as short as a terminal has them, where words allow it.
void append_paragraph(std::string& out, std::string_view label, std::string_view text) {
  const std::string all = one_line(std::string(label) + with_fields(text), kMaxParagraph);
  out += '\n';
  std::string line;
  std::size_t used = 0;
  std::string_view rest = all;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (!line.empty() && used + 1 + width(word) > kWidth) {
      append_line(out, line);
      line.clear();
      used = 0;
    }
    if (!line.empty()) {
      line += ' ';
      ++used;
    }
    line.append(word);
    used += width(word);
  }
  if (!line.empty()) append_line(out, line);
}

}  // namespace

std::string alert_message_id(std::string_view alert) {
  const std::string text = "jetmem alert " + std::string(alert);
  std::uint64_t high = fnv1a(text);
  std::uint64_t low = fnv1a(text, 0x6a65746d656d0001);
  // A random UUID's form, which tools expect of such an ID.
  high = (high & ~std::uint64_t{0xf000}) | 0x4000;
  low = (low & ~(std::uint64_t{3} << 62)) | (std::uint64_t{2} << 62);
  std::string out(32, '0');
  write_hex(high, std::span(out).first(16));
  write_hex(low, std::span(out).last(16));
  return out;
}

std::string message_catalog(const RuleSet& rules) {
  std::string out = "# What journalctl -x says below jetmem's alerts. Made from its rules.\n";
  for (const Rule& rule : rules.rules) {
    out.append("\n-- ").append(alert_message_id(rule.name)).append("\n");
    out.append("Subject: ").append(rule.name).append(" (").append(severity_name(rule.severity));
    out.append("): @JETMEM_ALERT_STATE@\nDefined-By: jetmem\n");
    append_paragraph(out, {}, rule.texts.summary);
    if (!rule.texts.cause.empty()) append_paragraph(out, "Likely cause: ", rule.texts.cause);
    if (!rule.texts.remedy.empty()) append_paragraph(out, "Remedy: ", rule.texts.remedy);
    if (!rule.texts.runbook.empty()) out.append("\nRunbook: @JETMEM_RUNBOOK@\n");
    out.append("\nWhat it looks at, and what that is now:\n    jetmem rules explain ");
    out.append(rule.name).append("\n");
  }
  return out;
}

}  // namespace jetmem
