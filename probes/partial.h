// What a jetmem-probe had found before it crashed, hung or was killed.
//
// With --progress it prints pieces of its result as soon as they are known: "begun {...}",
// "gpu {...}" once the GPU was asked, and "done {...}" for each kind and target that it is through
// with. One that loads a vendor's libraries last then costs nothing but what it was at.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace jetmem {

// The pieces in what it printed as one line in the format of a result, without a newline, which
// parse_probe_run() takes. Empty where nothing was done. A piece that was cut or is none is left
// out; without a sound beginning, or with a GPU that is none, there is nothing.
// `took`: from its start to its end, which it can no longer say itself.
std::string partial_probe_result(std::string_view text, std::chrono::duration<double> took);

}  // namespace jetmem
