// SPDX-License-Identifier: Apache-2.0
// What jetmem knows, held to its own examples: each entry of messages/*.yaml gives what its
// examples say, fits no second message, and gives no wrong value where a line is cut off.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "collectors/kernel_log/catalogue/catalogue.h"
#include "collectors/kernel_log/catalogue/message_notes.h"
#include "config/yaml_files.h"
#include "report/messages/message_check.h"

namespace jetmem {
namespace {

using kernel_log::Catalogue;

const MessageFile& entries() {
  static const auto* const file = [] {
    auto* out = new MessageFile;
    const YamlFiles files = read_yaml_files(JETMEM_MESSAGES);
    out->errors = files.errors;
    for (const ConfigText& each : files.views()) {
      read_messages(MessageForm::kShipped, std::filesystem::path(each.name).filename().string(),
                    each.text, *out);
    }
    return out;
  }();
  return *file;
}

TEST(ShippedMessages, AreWithoutErrors) {
  for (const ConfigError& each : entries().errors) ADD_FAILURE() << describe(each);
  EXPECT_FALSE(entries().messages.empty());
}

TEST(ShippedMessages, GiveWhatTheirExamplesSay) {
  for (const ConfigError& each : check_messages(MessageForm::kShipped, entries())) {
    ADD_FAILURE() << describe(each);
  }
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

TEST(ShippedMessages, SayWhereTheyAreFrom) {
  for (std::size_t i = 0; i < entries().messages.size(); ++i) {
    EXPECT_FALSE(entries().sources[i].empty()) << entries().messages[i].id.view();
  }
}

}  // namespace
}  // namespace jetmem
