// SPDX-License-Identifier: Apache-2.0
// Folders below $TMPDIR that a command makes for itself. Each is locked while its process lives, so
// that the next command can remove those of commands that were killed.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace jetmem {

// $TMPDIR if it is an absolute path, else /tmp.
std::string temporary_directory();

// Removes this user's folders in `where` whose name begins with `prefix` and that nobody has
// locked. One made within the last ten seconds may not be locked yet and stays.
void remove_abandoned_folders(const std::string& where, std::string_view prefix);

// Held as long as the descriptor is open; not valid when the folder could not be opened.
UniqueFd lock_folder(const std::string& folder);

}  // namespace jetmem
