// Names of the fields in which an alert's labels are told, to the journal and to programs.
#pragma once

#include <string>
#include <string_view>

namespace jetmem {

// "JETMEM_LABEL_AREA" for the label area.
std::string label_field(std::string_view label);

}  // namespace jetmem
