// What a capture has on the disk that is not to stay there if it ends midway: by a signal, by its
// deadline, by refused memory, or by a library that calls exit().
//
// Names are remembered once the file is this capture's own, and forgotten as it gets its name or is
// removed. Nothing here takes memory; remove_unfinished() may be called by a signal's handler. For
// one thread.
#pragma once

#include <string>

namespace jetmem {

// A folder is removed last, once it is empty.
enum class Unfinished { kPart, kCopy, kFolder };

void remember_unfinished(Unfinished what, const std::string& name);
void forget_unfinished(Unfinished what);
void remove_unfinished();

}  // namespace jetmem
