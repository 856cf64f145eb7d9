// SPDX-License-Identifier: Apache-2.0
// Where AsyncLogger writes: the journal with structured fields, or stderr.
#pragma once

#include <memory>

#include "daemon/log/async_logger.h"

namespace jetmem {

// The journal when stderr is connected to it (systemd sets JOURNAL_STREAM), else stderr.
std::unique_ptr<LogWriter> make_log_writer();

// Spdlog's stderr sink: time, level and message, coloured on a terminal.
std::unique_ptr<LogWriter> make_stderr_writer();

// sd_journal_sendv itself: spdlog's journal sink carries no fields.
std::unique_ptr<LogWriter> make_journal_writer();

}  // namespace jetmem
