// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/catalogue/form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "collectors/kernel_log/catalogue/form_check.h"
#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

std::string anchor_of(std::string_view form) {
  const CompiledForm compiled = compile_form(form);
  return std::string(compiled.as_form(compiled.code).anchor());
}

// "whole a=1 b=x", "cut a=1", "none".
std::string matched(std::string_view form, std::string_view line) {
  const CompiledForm compiled = compile_form(form);
  FormMatcher matcher;
  const FormMatch how = matcher.match(compiled.as_form(compiled.code), line);
  if (how == FormMatch::kNone) return "none";
  Event event;
  matcher.write(event);
  const std::string fields = fields_of(event);
  return (how == FormMatch::kWhole ? "whole" : "cut") + (fields.empty() ? "" : " " + fields);
}

TEST(Form, MatchesWholeLines) {
  constexpr const char* kRows[][3] = {
      {"request timed out", "request timed out", "whole"},
      {"request timed out", "request timed out twice", "none"},
      {"request timed out", "a request timed out", "none"},
      {"request timed out...", "request timed out twice", "whole"},
      {"...request timed out", "a request timed out", "whole"},
      // Types take what they are.
      {"value: {a:int}.", "value: -12.", "whole a=-12"},
      {"value: {a:nat}.", "value: -12.", "none"},
      {"value: {a:hex}.", "value: 0x1f.", "whole a=0x1f"},
      {"value: {a:xnum}.", "value: 1f.", "whole a=31"},
      {"value: {a:nat}.", "value: 99999999999999999999.", "none"},
      {"of size {size:size} failed", "of size 4096 failed", "whole size=4096"},
      {"of size {size:size} failed", "of size 2 MiB failed", "whole size=2097152"},
      {"of size {size:size} failed", "of size 1.5 GiB failed", "whole size_text=1.5 GiB"},
      {"{dev:dev}: failed", "usb 2-1:1.0: failed", "none"},
      {"usb {dev:dev}: failed", "usb 2-1:1.0: failed", "whole dev=2-1:1.0"},
      {"{op:one(Read=read|Write=write)}-error", "Write-error", "whole op=write"},
      {"panic: {fatal:one(no=false|yes=true)}", "panic: yes", "whole fatal=true"},
      {"error{_:one( now=| later=)} again", "error later again", "whole"},
      {"of {op:one(a\\=b=x\\|y|c)} failed", "of a=b failed", "whole op=x|y"},
      // Text is the shortest, and a task the longest, that fits.
      {"in {a} of {b}", "in x of y of z", "whole a=x b=y of z"},
      {"{comm:comm} invoked oom-killer", "tmux: server invoked oom-killer",
       "whole comm=tmux: server"},
      {"{comm:comm} invoked oom-killer", "0123456789abcdef invoked oom-killer", "none"},
      // A word may be empty at the line's end.
      {"acme temperature {n:nat}{_:one(|%| C)}", "acme temperature 45", "whole n=45"},
      {"acme temperature {n:nat}{_:one(|%| C)}", "acme temperature 45%", "whole n=45"},
  };
  for (const auto& [form, line, how] : kRows) EXPECT_EQ(matched(form, line), how) << form;
}

TEST(Form, OptionsMayBeMissing) {
  constexpr std::string_view kForm = "swap-error[ ][({dev:dev}:{sector:nat})]";
  EXPECT_EQ(matched(kForm, "swap-error (179:2:812)"), "whole dev=179:2 sector=812");
  EXPECT_EQ(matched(kForm, "swap-error(179:2:812)"), "whole dev=179:2 sector=812");
  EXPECT_EQ(matched(kForm, "swap-error"), "whole");
  EXPECT_EQ(matched(kForm, "swap-error (x:2:812) more"), "none");
}

TEST(Form, OfACutLineOnlyWhatIsProvedIsBelieved) {
  constexpr std::string_view kForm = "request timed out after {ms:int} ms, code {code:int}";
  EXPECT_EQ(matched(kForm, "request timed out after 25"), "cut");
  EXPECT_EQ(matched(kForm, "request timed out after 2500 m"), "cut");
  EXPECT_EQ(matched(kForm, "request timed out after 2500 ms, code"), "cut");
  EXPECT_EQ(matched(kForm, "request timed out after 2500 ms, code "), "cut ms=2500");
  // Not so much that it could be told from other messages.
  EXPECT_EQ(matched(kForm, "request timed out"), "none");
  // Within free text a line that was cut looks like one that goes on in another way.
  EXPECT_EQ(matched("cannot open {file} in {dir}", "cannot open anything else"), "none");
  // Nor where it only says who prints: it may go on as any message of that driver's.
  constexpr std::string_view kDriver = "ACME: [{_:cname}: ]{_:one(Failed to get|Cannot get)} {_}";
  EXPECT_EQ(matched(kDriver, "ACME: loading"), "none");
  EXPECT_EQ(matched(kDriver, "ACME: loading: Fai"), "none");
  EXPECT_EQ(matched(kDriver, "ACME: loading: Failed to get"), "cut");
}

TEST(Form, TheAnchorIsInEachLine) {
  EXPECT_EQ(anchor_of("[maybe not this ]{a}: alloc failed, req-size: {n:nat} pages"),
            ": alloc failed, req-size: ");
  EXPECT_EQ(anchor_of("{op:one(a long word|another one)}-error"), "-error");
  EXPECT_EQ(anchor_of("a\\[bc\\]defghi"), "a[bc]defghi");
  EXPECT_EQ(anchor_of("failed[ again] to go"), "failed");
  EXPECT_EQ(anchor_of("{a} to {b}"), "");
}

TEST(Form, StepsAreBounded) {
  std::string options = "acme camera";
  for (int i = 0; i < 60; ++i) options += "[]";
  EXPECT_EQ(matched(options + " ok", "acme camera zz"), "none");
  options = "acme camera ";
  for (int i = 0; i < 50; ++i) options += "[x]";
  EXPECT_EQ(matched(options + "y", "acme camera " + std::string(25, 'x') + "z"), "none");
  const std::string line(4096, 'a');
  EXPECT_EQ(matched("{a}a{b}a{c}a{d}a{e}a{f} in the end", line), "none");
  EXPECT_EQ(matched("...a...a...a...a...a...a... in the end", line), "none");
}

TEST(FormReport, ErrorsSayWhatToWrite) {
  const auto error = [](std::string_view form) { return examine_form(form).error; };
  for (const char* right : {"failed to allocate {size:size} bytes", "lost [of {a}][by {a}] again",
                            "ring {size:size} of {size:nat}"}) {
    EXPECT_EQ(error(right), "");
  }
  for (const auto& [form, part] : std::map<const char*, const char*>{
           {"no [end", "write '\\['"},
           {"a ] alone", "write '\\]'"},
           {"a } alone", "write '\\}'"},
           {"field {name:number} here", "'number'"},
           {"field {name", "no '}'"},
           {"{a} {b}", "5 bytes"},
           {"size of {bytes:size} failed", "size, free"},
           {"lost it {how:one(now|)}", "one(|A|B)"},
           {"lost {a} again {a}", "'a' is the name of two fields"},
           {"lost {a} again[ {a:nat}]", "'a' is the name of two fields"}}) {
    EXPECT_NE(error(form).find(part), std::string::npos) << form << ": " << error(form);
  }
}

TEST(FormReport, BoundsWhatIsMatched) {
  std::string many = "gave up";
  for (int i = 0; i < 65; ++i) many += " a{_}";
  EXPECT_NE(examine_form(many).error.find("more than 64"), std::string::npos);
  EXPECT_NE(examine_form("gave up " + std::string(70'000, 'x') + " {a} {b}").error.find("4096"),
            std::string::npos);
}

TEST(FormReport, TellsWhatEachLineHas) {
  const FormReport report =
      examine_form("[acme ]{dev:dev}: {what:one(lost=l|gone)} {_} \\[{size:size}\\] bytes[ again]");
  EXPECT_EQ(report.error, "");
  EXPECT_THAT(report.fields, testing::ElementsAre("dev", "what", "size", "size_text"));
  EXPECT_EQ(report.fixed, std::string_view("gonebytes").size());
  EXPECT_FALSE(report.begins_with_text);
  EXPECT_TRUE(examine_form("[a ]{what:one(lost|gone)} again").begins_with_text);
  EXPECT_FALSE(examine_form("...once again").begins_with_text);
}

}  // namespace
}  // namespace jetmem::kernel_log
