// SPDX-License-Identifier: Apache-2.0
// Messages of a site's files, what is checked of them, and those that are built in (`jetmem
// messages check --shipped` holds each of these to its own examples).
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "collectors/kernel_log/catalogue/catalogue.h"
#include "collectors/kernel_log/catalogue/message_notes.h"
#include "collectors/kernel_log/decode/assembler.h"
#include "config/yaml_files.h"
#include "report/diagnosis/cause.h"
#include "report/events/event_json.h"
#include "report/events/kernel_event_record.h"
#include "report/messages/message_check.h"
#include "report/messages/site_messages.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using kernel_log::Catalogue;
using kernel_log::Event;
using kernel_log::EventKind;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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

TEST_F(SiteMessagesTest, ItsFieldsAndCauseReachWhoExplainsTheRecord) {
  put("50-acme.yaml", kTimeout);
  const auto messages = load();
  EXPECT_THAT(messages->errors(), IsEmpty());
  const std::vector<Event> found = events_of("acme 2-1a: gave up after 12 ms", *messages);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind(), EventKind::kCustom);
  EXPECT_EQ(message_id(found[0]), "acme-timeout");
  EXPECT_EQ(found[0].number("timeout_ms"), 12);
  EXPECT_FALSE(found[0].is_guess());
  const EventRecord record = kernel_event_record(found[0], kernel_log::Origin::kSystem, {});
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
                Not(IsEmpty()))
        << key;
  }
  for (const char* file :
       {"", "a", "- a", "messages: a", "messages: {a: b}", "messages: [a, [b], {c: d}]",
        "heads: [a]", "messages: []\nmessages: []", "\xff", "messages: &a [*a]"}) {
    EXPECT_THAT(errors_of(file), Not(IsEmpty())) << file;
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
              Contains(HasSubstr("make one of them narrower")));
  // A cut line gives what it has not.
  EXPECT_THAT(errors_of(R"(messages:
  - id: cut
    line: "acme {dev:dev}: gave up after {timeout_ms:nat}[ ms]"
    examples: [{line: "acme a: gave up after 2500 ms", gives: {dev: a, timeout_ms: 2500}}]
)"),
              Contains(HasSubstr("cut off behind")));
  EXPECT_THAT(errors_of(R"(messages:
  - id: says
    say: "{port} gave up"
    line: "acme {dev:dev}: gave up now[ on {port}]"
    examples: [{line: "acme a: gave up now", gives: {dev: a}}]
)"),
              Contains(HasSubstr("put it in {?...}")));
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
                testing::Each(Not(HasSubstr("fits too much"))))
        << line;
  }
}

TEST(MessageCheck, EachMistakeOfAKeyIsOneError) {
  const std::string large = "99999999999999999999";
  const std::string line = "    line: \"acme {dev:dev}: gave up after ";
  const std::string example = "    examples: [{line: \"acme 2-1a: gave up after 12 ms\"";
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      // Only fields that the line has, each with one meaning.
      {"    unless: {devi: a}\n", {"site.yaml:3:14", "did you mean 'dev'?"}},
      {"    say: \"{dev}{?, {port}}\"\n", {"site.yaml:3:10", "'port'; there are: dev, timeout_ms"}},
      {"    say: \"{timeout_m:words}\"\n", {"site.yaml:3:10", "did you mean 'timeout_ms'?"}},
      {line + "{n:nat} of {n:nat} ms\"\n", {"site.yaml:3:11", "give it another name, or {_}"}},
      {"    set: {harmless: maybe}\n", {"site.yaml:3:21", "true or false"}},
      {"    set: {harmless: \"true\"}\n", {"site.yaml:3:21", "true or false"}},
      {"    set: {harmless: 1}\n", {"site.yaml:3:21", "true or false"}},
      {"    set: {harmless: null}\n", {"site.yaml:3:21", "true or false"}},
      // A number that is too large.
      {"    examples: [{line: \"acme 2-1a: gave up after " + large + " ms\", gives: {}}]\n",
       {large, "{name:word}"}},
      {"    set: {limit: -" + large + "}\n", {large, "in quotes"}},
      {"    line: \"acme gave up at {at:xnum} of\"\n    examples: [{line: acme gave up at "
       "0xfffffffffffffff0 of, gives: {at: 18446744073709551600}}]\n",
       {"18446744073709551600 is larger than"}},
      // A value that may be cut.
      {line + "{timeout_ms:nat}[ ms]\"\n", {"put what follows {timeout_ms} into the line's text"}},
      // A line without an event is only for jetmem's own.
      {"    kind: none\n" + example + ", gives: nothing}]\n", {"site.yaml:3:11", "harmless: true"}},
      {example + ", kind: custm, gives: {}}]\n", {"did you mean 'custom'?"}},
      // Lines that must give nothing.
      {"    nothing: \"acme 2-1a: gave up after 12 ms\"\n",
       {"the example gives nothing, found {dev: 2-1a"}},
      {"    examples: []\n    nothing: \"acme 2-1a: gave in\"\n", {"has no example"}},
      // An example gives what its message sets, too.
      {"    set: {harmless: true}\n" + example +
           ", gives: {dev: 2-1a, timeout_ms: 12, harmless: false}}]\n",
       {"harmless: false", "harmless: true"}},
      {example + "}]\n", {"the example says {}, the line gives {dev: 2-1a"}}};
  for (const auto& [keys, parts] : cases) {
    const std::vector<std::string> errors = errors_of(entry(keys));
    ASSERT_EQ(errors.size(), 1U) << keys;
    for (const std::string& part : parts) EXPECT_THAT(errors[0], HasSubstr(part)) << keys;
  }
  EXPECT_EQ(too_large_number("at 0x7fffffffffffffff of 9223372036854775807, x" + large), "");
  for (const char* right :
       {"say: \"{process} of {dev}\"", "say: \"{dma_client} {message}\"",
        "say: \"{? for {timeout_ms} ms}\"", "nothing: [\"acme 2-1a: gave in\", \"acme 2-1a\"]",
        "set: {harmless: true}"}) {
    EXPECT_THAT(errors_of(entry("    " + std::string(right) + "\n")), IsEmpty()) << right;
  }
}

TEST(MessageCheck, JoinsAndPrefersOnlyFieldsThatALineHas) {
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

const MessageFile& entries() {
  static const auto* const file = [] {
    auto* out = new MessageFile;
    const YamlFiles files = read_yaml_files(JETMEM_MESSAGES);
    for (const ConfigText& each : files.views()) {
      read_messages(MessageForm::kShipped, std::filesystem::path(each.name).filename().string(),
                    each.text, *out);
    }
    return out;
  }();
  return *file;
}

TEST(ShippedMessages, AreThoseThatAreBuiltIn) {
  std::set<std::string_view> ids;
  for (const kernel_log::Message& each : entries().messages) ids.insert(each.id.view());
  for (const kernel_log::Message& each : Catalogue::shipped().messages()) {
    EXPECT_EQ(ids.erase(each.id.view()), 1U)
        << each.id.view() << " is built in and not in messages/*.yaml";
  }
  for (const std::string_view id : ids) ADD_FAILURE() << id << " is not built in";
  EXPECT_EQ(kernel_log::shipped_notes().size(), Catalogue::shipped().messages().size());
}

TEST(ShippedMessages, SayWhereTheyAreFrom) { EXPECT_THAT(entries().sources, Not(Contains(""))); }

// generate.py compiles the shipped forms, compile_form() those of a file.
TEST(ShippedMessages, AreCompiledAsAUsersAre) {
  for (const kernel_log::Message& each : entries().messages) {
    const kernel_log::Message* const built = Catalogue::shipped().find(each.id);
    ASSERT_NE(built, nullptr) << each.id.view();
    ASSERT_EQ(built->forms.size(), each.forms.size()) << each.id.view();
    for (std::size_t i = 0; i < each.forms.size(); ++i) {
      EXPECT_EQ(built->forms[i].code.view(), each.forms[i].code.view());
      EXPECT_EQ(built->forms[i].anchor(), each.forms[i].anchor());
    }
  }
}

// Any process chooses its name, of up to 15 bytes, which the kernel prints in front of, or within,
// these lines. Of each only the name varies: {}.
constexpr std::array kLinesWithAName{
    "{}[99]: segfault at 0 ip 0000000000000000 sp 00007ffd2f8a1b20 error 14 in prog[400000+1000]",
    "{}[99]: segfault at 10 ip 0000aaaad1a01234 sp 00007ffd2f8a1b20 error 4 likely on CPU 3 (core "
    "3, socket 0)",
    "{}[99]: unhandled exception: DABT (lower EL), ESR 0x0000000092000006, level 2 translation "
    "fault in prog[400000+1000]",
    "{}[99]: unhandled exception:",
    "{}[99]: unhandled exception: DABT (lower EL), ESR 0x0000000092000006,",
    "{}[99]: unhandled exception: SP/PC alignment, ESR 0x000000008a000000, SP/PC alignment "
    "exception in prog[400000+1000]",
    "{}[99]: unhandled level 2 translation fault (11) at 0x00000000, esr 0x92000006, in "
    "prog[400000+1000]",
    "{}[99]: undefined instruction: pc=0000000000400000",
    "{}[99]: syscall 291",
    "{}[99]: unhandled signal 11 code 0x1 at 0x0000000000000000 in prog[400000+1000]",
    "{}: unhandled page fault (11) at 0x00000000, code 0x017",
    "{} (4711): undefined instruction: pc=00010448",
    "Alignment trap: {} (4711) PC=0x00010448 Instr=0xe5923000 Address=0x00000001 FSR 0x001",
    "traps: {}[99] general protection fault ip:400000 sp:7ffd2f8a1b20 error:0 in prog[400000+1000]",
    "{}[99] general protection ip:400000 sp:7ffd2f8a1b20 error:0 in prog[400000+1000]",
    "traps: {}[99] trap invalid opcode ip:400000 sp:7ffd2f8a1b20 error:0 in prog[400000+1000]",
    "{}[99] bad frame in rt_sigreturn frame:00007ffd2f8a1b20 ip:400000 sp:7ffd2f8a1b20 orax:f in "
    "prog[400000+1000]",
    "{}[99] vsyscall attempted with vsyscall=none ip:ffffffffff600400 cs:33 sp:7ffd2f8a1b20 ax:60 "
    "si:0 di:0",
    "umip: {}[99] ip:400000 sp:7ffd2f8a1b20: SGDT instruction cannot be used by applications.",
    "x86/split lock detection: #AC: {}/99 took a split_lock trap at address: 0x400000",
    "{}: potentially unexpected fatal signal 11.",
    "{} (4711): Using mlock ulimits for SHM_HUGETLB is obsolete",
    "mmap: {} (4711) uses deprecated remap_file_pages() syscall. See "
    "Documentation/mm/remap_file_pages.rst.",
    "{} (4711) uses deprecated remap_file_pages() syscall. See "
    "Documentation/vm/remap_file_pages.txt.",
    "warning: `{}' uses 32-bit capabilities (legacy support in use)",
    "capability: warning: `{}' uses deprecated v2 capabilities in a way that may be insecure",
    "{}[99]: memfd_create() called without MFD_EXEC or MFD_NOEXEC_SEAL set",
    "{} (4711): /proc/4711/oom_adj is deprecated, please use /proc/4711/oom_score_adj instead.",
    "{} (4711): drop_caches: 3",
    "{} uses obsolete (PF_INET,SOCK_PACKET)",
    "{}: 4711 output lines suppressed due to ratelimiting",
    "{} (4711) used greatest stack depth: 11480 bytes left",
    "process '{}' started with executable stack",
    "process `{}' is using deprecated sysctl (syscall) net.ipv6.neigh.lo.base_reachable_time",
    "futex_wake_op: {} tries to shift op by -1; fix this program",
    "ptrace attach of \"prog\"[98] was attempted by \"{}\"[99]",
};

kernel_log::LogLine of_kernel(const std::string& text, std::size_t number) {
  kernel_log::LogLine line;
  line.text = text;
  line.number = number;
  line.voice = kernel_log::Voice::kKernel;
  return line;
}

TEST(ShippedMessages, NoNameOfATaskMakesALineAnEvent) {
  std::set<std::string> names;
  for (const MessageExample& example : entries().examples) {
    for (const std::string& line : example.lines) {
      for (std::size_t n = 3; n <= std::min<std::size_t>(line.size(), 15); ++n)
        names.insert(line.substr(0, n));
    }
  }
  EXPECT_GT(names.size(), 5000U);
  std::string line;
  std::size_t lines = 0;
  std::size_t wrong = 0;
  std::map<std::string, std::string> first_of;
  kernel_log::Assembler assembler(kernel_log::Soc::kUnknown, [&](const kernel_log::Event& event) {
    if (event.is_guess()) return;
    ++wrong;
    first_of.emplace(message_id(event), line);
  });
  for (const std::string_view form : kLinesWithAName) {
    const std::size_t at = form.find("{}");
    for (const std::string& name : names) {
      line = std::string(form.substr(0, at)) + name + std::string(form.substr(at + 2));
      assembler.line(of_kernel(line, ++lines));
      assembler.flush();
    }
  }
  for (const auto& [id, example] : first_of) ADD_FAILURE() << id << ": " << example;
  std::printf("%zu names in %zu lines of the kernel: %zu events of %zu\n", names.size(),
              kLinesWithAName.size(), wrong, lines);
}

// Nor does a process hide what the kernel reports of it by a name out of such a line, nor by such
// lines around it.
TEST(ShippedMessages, NoNameOfATaskHidesItsKill) {
  std::size_t lines = 0;
  std::size_t kills = 0;
  kernel_log::Assembler assembler(kernel_log::Soc::kUnknown, [&](const kernel_log::Event& event) {
    if (event.is_guess()) return;
    EXPECT_EQ(event.kind(), kernel_log::EventKind::kOomKill) << message_id(event);
    ++kills;
  });
  const auto feed = [&](const std::string& line) { assembler.line(of_kernel(line, ++lines)); };
  for (const std::string_view form : kLinesWithAName) {
    for (std::size_t at = 0; at + 3 <= form.size(); ++at) {
      const std::string name(form.substr(at, 15));
      feed(std::string(form).replace(form.find("{}"), 2, name));
      feed("Out of memory: Killed process 4711 (" + name +
           ") total-vm:8123456kB, anon-rss:7000000kB, file-rss:0kB, shmem-rss:0kB, "
           "UID:1000 pgtables:14000kB oom_score_adj:0");
    }
  }
  assembler.flush();
  EXPECT_EQ(kills, lines / 2);
  EXPECT_GT(kills, 1000U);
}

}  // namespace
}  // namespace jetmem
