// SPDX-License-Identifier: Apache-2.0
// Holds messages to their examples: each gives the fields it says, fits no second message, and
// where it is cut off it gives no value that the whole line does not have.
#pragma once

#include <vector>

#include "report/messages/message_file.h"

namespace jetmem {

// `file`: the messages and examples of one or more files, whose own errors are not repeated here.
// Shipped ones are decoded instead of those that are built in; a user's behind those.
std::vector<ConfigError> check_messages(MessageForm form, const MessageFile& file);

}  // namespace jetmem
