#include "collectors/kernel_log/soc.h"

namespace jetmem::kernel_log {

std::string_view soc_name(Soc) { return {}; }
std::optional<Soc> soc_named(std::string_view) { return std::nullopt; }
Soc soc_of_compatible(std::string_view) { return Soc::kUnknown; }
std::uint32_t stream_id(Soc, std::uint32_t raw) { return raw; }
std::string_view stream_client(Soc, std::string_view, std::uint32_t) { return {}; }

}  // namespace jetmem::kernel_log
