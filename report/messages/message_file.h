// SPDX-License-Identifier: Apache-2.0
// A file of messages: those of /etc/jetmem/messages.d, and jetmem's own in messages/*.yaml
// (docs/write-a-message.md).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/kernel_log/catalogue/message.h"
#include "collectors/kernel_log/event/soc.h"
#include "config/load.h"
#include "config/yaml_document.h"

namespace jetmem {

// A line, or the lines of one event, and what they must give.
struct MessageExample {
  Position at;
  std::size_t message = 0;  // of MessageFile::messages
  std::vector<std::string> lines;
  kernel_log::Soc soc = kernel_log::Soc::kUnknown;
  bool nothing = false;
  std::string kind;                           // another than the message's
  std::map<std::string, std::string> fields;  // as Event prints them; a list as "[a,b]"
};

// Of a site's own.
inline constexpr std::size_t kMaxSiteMessages = 500;

enum class MessageForm {
  kUser,     // what a site may write: no lines of several, nothing that needs code
  kShipped,  // all keys
};

// What the messages are made of lies here: it must outlive each event that they decoded.
struct MessageFile {
  std::vector<kernel_log::Message> messages;
  std::vector<std::string> files;  // of the messages
  std::vector<Position> places;    // likewise
  std::vector<std::string> sources;
  std::vector<std::string> form_texts;  // one form a line
  std::vector<MessageExample> examples;
  std::vector<ConfigError> errors;  // an entry with one is not among the messages

  std::deque<std::string> texts;
  std::deque<std::vector<kernel_log::Text>> lists;
  std::deque<std::vector<kernel_log::Form>> forms;
  std::deque<std::vector<kernel_log::Constant>> constants;
  std::deque<std::vector<kernel_log::Exception>> exceptions;
};

// Adds the messages of one file's text. `name` stands for the file in errors.
void read_messages(MessageForm form, std::string_view name, std::string_view text,
                   MessageFile& out);

// "12", "true", "null", a text as it is, "[a,b]": a field of an event as examples write it.
std::string field_as_text(const kernel_log::Event& event, std::string_view name);

// The first number in the text that no field can hold; empty: there is none.
std::string_view too_large_number(std::string_view text);
inline constexpr std::string_view kTooLarge =
    "larger than 9223372036854775807, the largest number of a field";

}  // namespace jetmem
