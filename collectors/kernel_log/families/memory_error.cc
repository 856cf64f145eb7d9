#include "collectors/kernel_log/families/families.h"

namespace jetmem::kernel_log {
namespace {

Piece decode(std::string_view, Event&) { return {}; }
void describe(const Event&, std::string&) {}

}  // namespace

const Family kMemoryError{.name = "memory_error", .anchors = {}, .decode = decode, .complete = nullptr, .describe = describe};

}  // namespace jetmem::kernel_log
