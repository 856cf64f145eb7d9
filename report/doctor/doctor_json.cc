#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/doctor/doctor.h"

namespace jetmem {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostSteps = 64;
constexpr std::size_t kMostEvidence = 100;
constexpr std::size_t kMostJson = 4U << 20;

Json evidence_json(const std::vector<DoctorAnswer::Evidence>& all) {
  Json out = Json::array();
  for (const DoctorAnswer::Evidence& each : all) {
    Json one;
    one["text"] = each.text;
    if (each.time) one["time"] = *each.time;
    out.push_back(std::move(one));
  }
  return out;
}

std::string text_of(const nlohmann::json& json, const char* name,
                    std::size_t most = DoctorAnswer::kMaxText) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return {};
  return printable(found->get_ref<const std::string&>(), most);
}

std::optional<double> number_of(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::uint64_t count_of(const nlohmann::json& json, const char* name) {
  const double value = number_of(json, name).value_or(0);
  return value >= 0 && value < 1e15 ? static_cast<std::uint64_t>(value) : 0;
}

std::vector<DoctorAnswer::Evidence> parse_evidence(const nlohmann::json& json, const char* name) {
  std::vector<DoctorAnswer::Evidence> out;
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array()) return out;
  for (const auto& each : *found) {
    if (!each.is_object() || out.size() == kMostEvidence) continue;
    out.push_back({text_of(each, "text"), number_of(each, "time")});
  }
  return out;
}

Result<DoctorAnswer> parse(const nlohmann::json& json) {
  if (!json.is_object()) return fail(Errc::kMalformed, "no JSON object");
  if (text_of(json, "schema") != DoctorAnswer::kSchema) {
    return fail(Errc::kMalformed, "not of schema " + std::string(DoctorAnswer::kSchema) +
                                      " but \"" + text_of(json, "schema", 60) + "\"");
  }
  DoctorAnswer out;
  if (const auto from = json.find("from"); from != json.end() && from->is_object()) {
    out.by = text_of(*from, "by");
    out.from = text_of(*from, "place");
    out.version = text_of(*from, "version");
    out.boot_id = text_of(*from, "boot_id");
    out.since_boot = number_of(*from, "since_boot_seconds").value_or(0);
    out.wall = number_of(*from, "time");
  }
  const auto verdict = verdict_named(text_of(json, "verdict"));
  if (!verdict) return fail(Errc::kMalformed, "no verdict that is known");
  out.verdict = *verdict;
  out.conclusion = text_of(json, "conclusion", 4 * DoctorAnswer::kMaxText);
  out.zone = text_of(json, "time_zone", 40);
  out.timeline = parse_evidence(json, "timeline");
  if (const auto past = json.find("history"); past != json.end() && past->is_object()) {
    out.history = text_of(*past, "place");
    out.history_questions = count_of(*past, "questions");
    out.no_history = text_of(*past, "absent");
  }
  const auto steps = json.find("steps");
  if (steps == json.end() || !steps->is_array() || steps->empty())
    return fail(Errc::kMalformed, "no steps");
  for (const auto& each : *steps) {
    if (!each.is_object()) return fail(Errc::kMalformed, "a step that is no object");
    if (out.steps.size() == kMostSteps) break;
    DoctorAnswer::Step step;
    step.name = text_of(each, "step");
    step.title = text_of(each, "title");
    const auto found = verdict_named(text_of(each, "verdict"));
    if (!found) return fail(Errc::kMalformed, "step " + step.name + ": no verdict that is known");
    step.verdict = *found;
    step.summary = text_of(each, "summary");
    step.evidence = parse_evidence(each, "evidence");
    step.evidence_left_out = count_of(each, "evidence_left_out");
    step.cause = text_of(each, "cause");
    step.remedy = text_of(each, "remedy");
    step.confirm = text_of(each, "confirm");
    step.runbook = text_of(each, "runbook");
    out.steps.push_back(std::move(step));
  }
  if (const auto notes = json.find("notes"); notes != json.end() && notes->is_array()) {
    for (const auto& each : *notes) {
      if (each.is_string() && out.notes.size() < kMostEvidence) {
        out.notes.push_back(printable(each.get_ref<const std::string&>(), DoctorAnswer::kMaxText));
      }
    }
  }
  return out;
}

}  // namespace

std::string doctor_json(const DoctorAnswer& answer) {
  Json out;
  out["schema"] = DoctorAnswer::kSchema;
  Json from;
  from["by"] = answer.by;
  from["place"] = answer.from;
  from["version"] = answer.version;
  from["boot_id"] = answer.boot_id;
  if (answer.wall) from["time"] = *answer.wall;
  from["since_boot_seconds"] = answer.since_boot;
  out["from"] = std::move(from);
  out["verdict"] = verdict_name(answer.verdict);
  out["conclusion"] = answer.conclusion;
  out["time_zone"] = answer.zone;
  out["timeline"] = evidence_json(answer.timeline);
  Json past;
  if (answer.history.empty()) {
    past["absent"] = answer.no_history;
  } else {
    past["place"] = answer.history;
    past["questions"] = answer.history_questions;
  }
  out["history"] = std::move(past);
  out["steps"] = Json::array();
  for (const DoctorAnswer::Step& step : answer.steps) {
    Json one;
    one["step"] = step.name;
    one["title"] = step.title;
    one["verdict"] = verdict_name(step.verdict);
    one["summary"] = step.summary;
    one["evidence"] = evidence_json(step.evidence);
    if (step.evidence_left_out > 0) one["evidence_left_out"] = step.evidence_left_out;
    if (!step.cause.empty()) one["cause"] = step.cause;
    if (!step.remedy.empty()) one["remedy"] = step.remedy;
    if (!step.confirm.empty()) one["confirm"] = step.confirm;
    if (!step.runbook.empty()) one["runbook"] = step.runbook;
    out["steps"].push_back(std::move(one));
  }
  if (!answer.notes.empty()) out["notes"] = answer.notes;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<DoctorAnswer> parse_doctor(std::string_view json) {
  if (json.size() > kMostJson)
    return fail(Errc::kTooLarge, "the doctor's answer is larger than 4 MiB");
  try {
    const auto parsed = nlohmann::json::parse(json, nullptr, false);
    if (parsed.is_discarded()) return fail(Errc::kMalformed, "the doctor's answer is no JSON");
    auto out = parse(parsed);
    if (!out) return tl::unexpected(std::move(out.error()).within("the doctor's answer"));
    return out;
  } catch (const nlohmann::json::exception& error) {
    return fail(Errc::kMalformed,
                std::string("the doctor's answer: ") + printable(error.what(), 200));
  }
}

}  // namespace jetmem
