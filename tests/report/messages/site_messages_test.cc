// SPDX-License-Identifier: Apache-2.0
#include "report/messages/site_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "collectors/kernel_log/decode/assembler.h"
#include "report/diagnosis/cause.h"
#include "report/events/event_json.h"
#include "report/events/kernel_event_record.h"
#include "report/messages/message_check.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::EventKind;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kTimeout = R"(messages:
  - id: acme-timeout
    line: "acme {dev:dev}: gave up after {timeout_ms:nat} ms"
    cause: "the cable is loose"
    remedy: "check the cable"
    examples:
      - line: "acme 2-1a: gave up after 12 ms"
        gives: {dev: 2-1a, timeout_ms: 12}
)";

std::vector<std::string> errors_of(std::string_view text) {
  MessageFile file;
  read_messages(MessageForm::kUser, "site.yaml", text, file);
  std::vector<std::string> out;
  for (const ConfigError& each : file.errors) out.push_back(describe(each));
  for (const ConfigError& each : check_messages(MessageForm::kUser, file)) {
    out.push_back(describe(each));
  }
  return out;
}

std::vector<Event> events_of(std::string_view text, const SiteMessages& messages) {
  std::vector<Event> out;
  kernel_log::Assembler assembler(
      kernel_log::Soc::kUnknown, [&](const Event& event) { out.push_back(event); },
      messages.catalogues());
  kernel_log::LogLine line;
  line.text = text;
  assembler.line(line);
  assembler.flush();
  return out;
}

class SiteMessagesTest : public testing::Test {
 protected:
  void put(const std::string& name, std::string_view text) {
    std::ofstream(folder_.file(name)) << text;
  }
  std::unique_ptr<const SiteMessages> load() { return SiteMessages::load(folder_.path()); }
  TempDir folder_;
};

TEST_F(SiteMessagesTest, AnEventHasItsMessageAndFields) {
  put("50-acme.yaml", kTimeout);
  const auto messages = load();
  EXPECT_THAT(messages->errors(), IsEmpty());
  const std::vector<Event> events = events_of("acme 2-1a: gave up after 12 ms", *messages);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind(), EventKind::kCustom);
  EXPECT_EQ(message_id(events[0]), "acme-timeout");
  EXPECT_EQ(events[0].number("timeout_ms"), 12);
  EXPECT_FALSE(events[0].is_guess());
}

TEST_F(SiteMessagesTest, ItsCauseReachesWhoExplainsTheRecord) {
  put("50-acme.yaml", kTimeout);
  const auto messages = load();
  const EventRecord record =
      kernel_event_record(events_of("acme 2-1a: gave up after 12 ms", *messages).at(0),
                          kernel_log::Origin::kSystem, {});
  EXPECT_EQ(record.what, EventWhat::kKernel);
  EXPECT_EQ(record.kind, "custom");
  EXPECT_EQ(record.subject, "acme-timeout 2-1a");
  const std::vector<const EventRecord*> events{&record};
  const auto causes = diagnosis::explain(events, {});
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].id, "acme-timeout");
  EXPECT_EQ(causes[0].cause, "The cable is loose.");
  EXPECT_EQ(causes[0].remedy, "Check the cable.");
  EXPECT_EQ(causes[0].harm, diagnosis::Harm::kWarning);
}

TEST_F(SiteMessagesTest, WithoutADirectoryOrMessagesThereIsNoCatalogue) {
  EXPECT_EQ(load()->catalogue(), nullptr);
  EXPECT_EQ(SiteMessages::load("/nowhere/at/all")->catalogue(), nullptr);
  EXPECT_THAT(SiteMessages::load("")->errors(), IsEmpty());
}

TEST_F(SiteMessagesTest, ABrokenEntryOrFileLeavesTheOthers) {
  put("10-broken.yaml", "messages: [\n");
  put("20-half.yaml", "messages:\n  - {id: none, line: x}\n");
  put("30-good.yaml", kTimeout);
  put("40-other.yml", kTimeout);
  const auto messages = load();
  EXPECT_EQ(messages->size(), 1U);
  ASSERT_NE(messages->catalogue(), nullptr);
  EXPECT_NE(messages->catalogue()->find("acme-timeout"), nullptr);
  EXPECT_GE(messages->errors().size(), 4U);
}

TEST_F(SiteMessagesTest, OneIdIsOneMessageInAllFiles) {
  put("10.yaml", kTimeout);
  put("20.yaml", kTimeout);
  const auto messages = load();
  EXPECT_EQ(messages->size(), 1U);
  ASSERT_EQ(messages->errors().size(), 1U);
  EXPECT_THAT(messages->errors()[0].file, HasSubstr("20.yaml"));
}

TEST_F(SiteMessagesTest, MessagesAndBytesAreBounded) {
  std::string text = "messages:\n";
  for (int i = 0; i < 600; ++i) {
    const std::string n = std::to_string(i);
    text += "  - id: m-" + n + "\n    line: \"acme number " + n +
            " failed\"\n    examples: [{line: \"acme number " + n + " failed\", gives: {}}]\n";
  }
  put("10.yaml", text);
  put("20.yaml", "# " + std::string(kMaxSiteMessageBytes - 10, 'x') + "\n");
  const auto messages = load();
  EXPECT_EQ(messages->size(), kMaxSiteMessages);
  ASSERT_EQ(messages->errors().size(), 2U);
  EXPECT_THAT(messages->errors()[0].message, HasSubstr("more than 500 messages"));
  EXPECT_THAT(messages->errors()[1].message, HasSubstr("is not read"));
}

TEST_F(SiteMessagesTest, TheSameTextIsKnown) {
  put("10.yaml", kTimeout);
  const auto messages = load();
  EXPECT_TRUE(load()->has_same_text(*messages));
  put("10.yaml", std::string(kTimeout) + "# changed\n");
  EXPECT_FALSE(load()->has_same_text(*messages));
}

TEST(MessageCheck, NamesEachMistakeWithItsPlaceAndFix) {
  EXPECT_THAT(errors_of(kTimeout), IsEmpty());
  EXPECT_THAT(
      errors_of(R"(messages:
  - id: one
    kind: camera_timeot
    line: "acme one: gave up"
    examples: [{line: "acme one: gave up", gives: {}}]
  - id: two
    line: "acme two: {n:numbr} lost"
    examples: [{line: "acme two: 5 lost", gives: {n: 5}}]
  - id: three
    line: "acme three: lost {n:nat} of {all:nat} frames"
    examples:
      - line: "acme three: lost 5 from 7 frames"
        gives: {n: 5, all: 7}
  - id: four
    line: "acme four: lost {n:nat} frames"
    examples:
      - line: "acme four: lost 5 frames"
        gives: {n: 6}
  - id: five
    line: "acme five: lost {n:nat} frames"
)"),
      ElementsAre(
          AllOf(HasSubstr("site.yaml:3:11"), HasSubstr("did you mean 'camera_timeout'?")),
          AllOf(HasSubstr("site.yaml:7:11"),
                HasSubstr("no type of field is named 'numbr': int nat")),
          AllOf(HasSubstr("site.yaml:19:5"), HasSubstr("add a line as the log has it")),
          AllOf(HasSubstr("site.yaml:12:9"), HasSubstr("fits up to 'acme three: lost 5 '")),
          AllOf(HasSubstr("site.yaml:17:9"), HasSubstr("says {n: 6}, the line gives {n: 5}"))));
}

TEST(MessageCheck, EachKeyHasItsForm) {
  for (const char* key :
       {"set: [a]", "set: a", "unless: [a, b]", "unless: {a: {b: c}}", "program: maybe",
        "line: {a: b}", "id: [a]", "id: Upper", "say: [a, b]", "kind: [a]", "examples: {a: b}",
        "examples: [a]", "examples: [{line: x, gives: [a]}]",
        "examples: [{line: {a: b}, gives: {}}]", "set: {kind: x}", "cause: \"\\e[31m\""}) {
    EXPECT_THAT(errors_of("messages:\n  - id: one\n    line: acme one gave up\n    " +
                          std::string(key) + "\n"),
                testing::Not(IsEmpty()))
        << key;
  }
  for (const char* file :
       {"", "a", "- a", "messages: a", "messages: {a: b}", "messages: [a, [b], {c: d}]",
        "heads: [a]", "messages: []\nmessages: []", "\xff", "messages: &a [*a]"}) {
    EXPECT_THAT(errors_of(file), testing::Not(IsEmpty())) << file;
  }
}

TEST(MessageCheck, RefusesWhatIsWrongOnlyBesideOthers) {
  EXPECT_THAT(errors_of(R"(messages:
  - id: wide
    line: "acme {dev:dev}: gave up{text}"
    examples: [{line: "acme a: gave up now", gives: {dev: a, text: " now"}}]
  - id: narrow
    line: "acme {dev:dev}: gave up now"
    examples: [{line: "acme a: gave up now", gives: {dev: a}}]
)"),
              testing::Contains(HasSubstr("make one of them narrower")));
  // A cut line gives what it has not.
  EXPECT_THAT(errors_of(R"(messages:
  - id: cut
    line: "acme {dev:dev}: gave up after {timeout_ms:nat}[ ms]"
    examples: [{line: "acme a: gave up after 2500 ms", gives: {dev: a, timeout_ms: 2500}}]
)"),
              testing::Contains(HasSubstr("cut off behind")));
  EXPECT_THAT(errors_of(R"(messages:
  - id: says
    say: "{port} gave up"
    line: "acme {dev:dev}: gave up now[ on {port}]"
    examples: [{line: "acme a: gave up now", gives: {dev: a}}]
)"),
              testing::Contains(HasSubstr("put it in {?...}")));
}

// An entry with this key, and the line and the example of kTimeout where it has none of its own.
std::string entry(const std::string& keys) {
  std::string out = "messages:\n  - id: acme-timeout\n" + keys;
  if (keys.find("    line:") == std::string::npos) {
    out += "    line: \"acme {dev:dev}: gave up after {timeout_ms:nat} ms\"\n";
  }
  if (keys.find("examples:") == std::string::npos) {
    out +=
        "    examples: [{line: \"acme 2-1a: gave up after 12 ms\", gives: {dev: 2-1a, timeout_ms: "
        "12}}]\n";
  }
  return out;
}

TEST(MessageCheck, SoMuchOfALineMustBeText) {
  for (const char* line : {"{text}failed{x}", "{text}rocess{x}", "{dev:dev}: {text} failed",
                           "...failed to{x}", "{x:word} {y:nat} errors", "usb 1-{x}",
                           "{@dev}timed out", "[acme ]{dev:dev}: lost {n:nat}"}) {
    EXPECT_THAT(errors_of(entry("    line: \"" + std::string(line) + "\"\n")),
                ElementsAre(AnyOf(HasSubstr("fits too much"), HasSubstr("no text of 5 bytes"))))
        << line;
  }
  for (const char* line :
       {"acme {dev:dev}: gave up", "{@dev}frame grabber stopped", "{what:one(sensor|grabber)} lost",
        "{x:word} acme_grabber lost {n:nat}"}) {
    EXPECT_THAT(errors_of(entry("    line: \"" + std::string(line) + "\"\n")),
                testing::Each(testing::Not(HasSubstr("fits too much"))))
        << line;
  }
}

TEST(MessageCheck, NamesOnlyFieldsThatALineHas) {
  EXPECT_THAT(errors_of(entry("    unless: {devi: a}\n")),
              ElementsAre(AllOf(HasSubstr("site.yaml:3:14"), HasSubstr("did you mean 'dev'?"))));
  EXPECT_THAT(errors_of(entry("    say: \"{dev}{?, {port} of {timeout_m:words}}\"\n")),
              ElementsAre(AllOf(HasSubstr("site.yaml:3:10"),
                                HasSubstr("'port'; there are: dev, timeout_ms")),
                          HasSubstr("did you mean 'timeout_ms'?")));
  for (const char* known :
       {"{process} of {dev}", "{dma_client} {message}", "{? for {timeout_ms} ms}"}) {
    EXPECT_THAT(errors_of(entry("    say: \"" + std::string(known) + "\"\n")), IsEmpty()) << known;
  }
  MessageFile file;
  read_messages(MessageForm::kShipped, "own.yaml",
                entry("    kind: camera_error\n    join: devi\n    prefer: port\n"), file);
  ASSERT_EQ(file.errors.size(), 2U);
  EXPECT_EQ(file.errors[0].line, 4);
  EXPECT_EQ(file.errors[1].line, 5);
}

TEST(MessageCheck, ASentenceClosesItsBrackets) {
  for (const char* say : {"{dev", "{dev {timeout_ms}", "{dev}{? {timeout_ms}", "dev} lost", "{}",
                          "{dev {timeout_ms}}", "{timeout_ms:seconds}"}) {
    EXPECT_THAT(errors_of(entry("    say: \"" + std::string(say) + "\"\n")),
                ElementsAre(AllOf(HasSubstr("site.yaml:3:10"), HasSubstr("acme-timeout.say: "))))
        << say;
  }
}

TEST(MessageCheck, AFieldHasOneMeaning) {
  EXPECT_THAT(
      errors_of(entry("    line: \"acme {dev:dev}: gave up after {n:nat} of {n:nat} ms\"\n")),
      ElementsAre(AllOf(HasSubstr("site.yaml:3:11"), HasSubstr("give it another name, or {_}"))));
  for (const char* value : {"maybe", "\"true\"", "1", "null"}) {
    EXPECT_THAT(errors_of(entry("    set: {harmless: " + std::string(value) + "}\n")),
                ElementsAre(AllOf(HasSubstr("site.yaml:3:21"), HasSubstr("true or false"))))
        << value;
  }
}

TEST(MessageCheck, NamesANumberThatIsTooLarge) {
  constexpr const char* kLarge = "99999999999999999999";
  EXPECT_THAT(errors_of(entry("    examples: [{line: \"acme 2-1a: gave up after "
                              "99999999999999999999 ms\", gives: {}}]\n")),
              ElementsAre(AllOf(HasSubstr(kLarge), HasSubstr("{name:word}"))));
  EXPECT_THAT(errors_of(entry("    set: {limit: -99999999999999999999}\n")),
              ElementsAre(AllOf(HasSubstr(kLarge), HasSubstr("in quotes"))));
  EXPECT_THAT(errors_of(entry("    line: \"acme gave up at {at:xnum} of\"\n"
                              "    examples: [{line: acme gave up at 0xfffffffffffffff0 of, gives: "
                              "{at: 18446744073709551600}}]\n")),
              ElementsAre(HasSubstr("18446744073709551600 is larger than")));
  EXPECT_EQ(too_large_number("at 0x7fffffffffffffff of 9223372036854775807, x99999999999999999999"),
            "");
}

TEST(MessageCheck, ACutValueIsReportedWithWhatToWrite) {
  EXPECT_THAT(
      errors_of(entry("    line: \"acme {dev:dev}: gave up after {timeout_ms:nat}[ ms]\"\n")),
      ElementsAre(HasSubstr("put what follows {timeout_ms} into the line's text")));
}

// What else lacks is lacking because of it.
TEST(MessageCheck, AMisspelledKeyIsOneError) {
  for (const auto& [wrong, right] : std::map<std::string, std::string>{{"idd", "id"},
                                                                       {"linne", "line"},
                                                                       {"lines", "line"},
                                                                       {"exampels", "examples"},
                                                                       {"gievs", "gives"}}) {
    std::string text(kTimeout);
    const std::string key = (right == "id" ? "- " : right == "gives" ? "  " : "    ") + right + ":";
    text.replace(text.find(key) + key.size() - right.size() - 1, right.size(), wrong);
    EXPECT_THAT(errors_of(text),
                ElementsAre(HasSubstr("'" + wrong + "'; did you mean '" + right + "'?")))
        << text;
  }
}

TEST(MessageCheck, AnEntryIsNamedByItsPlace) {
  EXPECT_THAT(
      errors_of(
          std::string(kTimeout) +
          "  - {id: Bad Id, line: acme lost it, examples: [{line: acme lost it, gives: {}}]}\n"
          "  - {line: acme lost it, examples: [{line: acme lost it, gives: {}}]}\n"
          "  - {id: acme-timeout, line: acme lost it, examples: [{line: acme lost it, gives: "
          "{}}]}\n"),
      ElementsAre(AllOf(HasSubstr("site.yaml:9:10"), HasSubstr("messages[1].id"),
                        HasSubstr("'my-driver-timeout'")),
                  AllOf(HasSubstr("site.yaml:10:5"), HasSubstr("messages[2] has no id")),
                  AllOf(HasSubstr("site.yaml:11:10"), HasSubstr("choose another id"))));
}

TEST(MessageCheck, ALineWithoutAnEventIsOnlyForJetmemsOwn) {
  EXPECT_THAT(errors_of(entry("    kind: none\n    examples: [{line: \"acme 2-1a: gave up after 12 "
                              "ms\", gives: nothing}]\n")),
              ElementsAre(AllOf(HasSubstr("site.yaml:3:11"), HasSubstr("harmless: true"))));
  EXPECT_THAT(
      errors_of(entry(
          "    examples: [{line: \"acme 2-1a: gave up after 12 ms\", kind: custm, gives: {}}]\n")),
      ElementsAre(HasSubstr("did you mean 'custom'?")));
}

TEST(MessageCheck, LinesThatMustGiveNothing) {
  EXPECT_THAT(errors_of(entry("    nothing: \"acme 2-1a: gave up after 12 ms\"\n")),
              ElementsAre(HasSubstr("the example gives nothing, found {dev: 2-1a")));
  EXPECT_THAT(errors_of(entry("    nothing: [\"acme 2-1a: gave in\", \"acme 2-1a\"]\n")),
              IsEmpty());
  EXPECT_THAT(errors_of(entry("    examples: []\n    nothing: \"acme 2-1a: gave in\"\n")),
              ElementsAre(HasSubstr("has no example")));
}

TEST(MessageCheck, AnExampleGivesWhatItsMessageSetsToo) {
  const std::string line = "    examples: [{line: \"acme 2-1a: gave up after 12 ms\"";
  EXPECT_THAT(errors_of(entry("    set: {harmless: true}\n")), IsEmpty());
  EXPECT_THAT(errors_of(entry("    set: {harmless: true}\n" + line +
                              ", gives: {dev: 2-1a, timeout_ms: 12, harmless: false}}]\n")),
              ElementsAre(AllOf(HasSubstr("harmless: false"), HasSubstr("harmless: true"))));
  EXPECT_THAT(errors_of(entry(line + "}]\n")),
              ElementsAre(HasSubstr("the example says {}, the line gives {dev: 2-1a")));
}

TEST(MessageCheck, AMessageHasTheDefaultsOfItsFile) {
  MessageFile file;
  read_messages(
      MessageForm::kUser, "site.yaml",
      "defaults: {kind: swap_error, program: true}\n" + entry("") +
          "  - {id: akme, kind: gpu_hang, program: false, line: 'akme {dev:dev}: gave up', "
          "examples: [{line: 'akme 2-1a: gave up', gives: {dev: 2-1a}}]}\n",
      file);
  ASSERT_THAT(file.errors, IsEmpty());
  EXPECT_EQ(file.messages.at(0).kind, EventKind::kSwapError);
  EXPECT_TRUE(file.messages.at(0).program);
  EXPECT_EQ(file.messages.at(1).kind, EventKind::kGpuHang);
  EXPECT_FALSE(file.messages.at(1).program);
  EXPECT_THAT(errors_of("defaults: {line: x}\n" + entry("")),
              ElementsAre(HasSubstr("unknown key 'line'")));
}

TEST(Guesses, AreNoEventsOfTheirKind) {
  Event event(EventKind::kDmaAllocFailure);
  event.set_text("dev", "3-1");
  event.set_text("text", "foo 3-1: failed to allocate");
  event.set_guess();
  const EventRecord record = kernel_event_record(event, kernel_log::Origin::kSystem, {});
  EXPECT_EQ(record.what, EventWhat::kGuess);
  EXPECT_EQ(record.severity, "info");
  EXPECT_THAT(record.summary, HasSubstr("not a message that jetmem knows"));
  EXPECT_THAT(record.summary, HasSubstr("foo 3-1"));
  EXPECT_EQ(event_json(event)["known"], false);
  const std::vector<const EventRecord*> events{&record};
  for (const diagnosis::Cause& each : diagnosis::explain(events, {})) {
    EXPECT_EQ(each.harm, diagnosis::Harm::kNone);
    EXPECT_EQ(each.remedy + each.runbook, "");
  }
}

}  // namespace
}  // namespace jetmem
