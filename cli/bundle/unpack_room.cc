#include "cli/bundle/unpack_room.h"

#include <sys/statfs.h>

#include <fstream>
#include <optional>

#include "base/text.h"
#include "base/units.h"

namespace jetmem {
namespace {

constexpr long kTmpfs = 0x01021994;
constexpr long kRamfs = 0x858458f6;
constexpr std::uint64_t kFreeDisk = 16U << 20;
constexpr std::uint64_t kFreeMemory = 256U << 20;

std::optional<std::uint64_t> available(const std::string& meminfo) {
  std::ifstream in(meminfo);
  std::string line;
  for (int n = 0; n < 100 && std::getline(in, line); ++n) {
    std::string_view rest = line;
    if (!rest.starts_with("MemAvailable:")) continue;
    rest.remove_prefix(13);
    skip_blanks(rest);
    const auto kib = take_u64(rest);
    if (kib) return *kib * 1024;
  }
  return std::nullopt;
}

}  // namespace

Result<void> room_to_unpack(const std::string& folder, std::uint64_t bytes,
                            const std::string& meminfo) {
  struct statfs disk {};
  if (::statfs(folder.c_str(), &disk) != 0) return {};  // making the folder tells more
  const std::string advice = "; set TMPDIR to a folder on a disk with more";
  const auto free =
      static_cast<std::uint64_t>(disk.f_bavail) * static_cast<std::uint64_t>(disk.f_bsize);
  if (free < bytes + kFreeDisk) {
    return fail(Errc::kIo, "no room to unpack in " + printable(folder, 200) + ": " +
                               format_size(free) + " free" + advice);
  }
  const auto type = static_cast<long>(disk.f_type);
  if (type != kTmpfs && type != kRamfs) return {};
  const auto memory = available(meminfo);
  if (!memory || *memory >= bytes + kFreeMemory) return {};
  return fail(Errc::kIo, "no room to unpack in " + printable(folder, 200) +
                             ", which lies in memory: " + format_size(*memory) + " available" +
                             advice);
}

}  // namespace jetmem
