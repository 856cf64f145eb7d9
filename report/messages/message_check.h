// SPDX-License-Identifier: Apache-2.0
// Holds messages to their examples: each gives the fields it says, fits no second message, and where
// it is cut off it gives no value that the whole line does not have.
#pragma once

#include <string>
#include <vector>

#include "report/messages/message_file.h"

namespace jetmem {

struct MessageProblem {
  Position at;
  std::string message;  // complete but for the place
};

// `file`: the messages and examples of one or more files, whose own errors are not repeated here.
// Shipped ones are decoded instead of those that are built in; a user's behind those.
std::vector<MessageProblem> check_messages(MessageForm form, const MessageFile& file);

}  // namespace jetmem
