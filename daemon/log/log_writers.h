// SPDX-License-Identifier: Apache-2.0
// Where the scribe writes: the journal with structured fields, or stderr.
#pragma once

#include <memory>

#include "daemon/log/async_logger.h"

namespace jetmem {

// The journal when stderr is connected to it (systemd sets JOURNAL_STREAM), else stderr.
std::unique_ptr<LogWriter> make_log_writer();

// Spdlog's stderr sink: time, level and message, coloured on a terminal.
std::unique_ptr<LogWriter> make_stderr_writer();

// An own spdlog sink on sd_journal_sendv: the stock one carries no fields and throws.
std::unique_ptr<LogWriter> make_journal_writer();

}  // namespace jetmem
