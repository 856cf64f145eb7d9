// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/meminfo.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "collectors/storage.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kMeminfoPaths{"/proc/meminfo"};
constexpr std::size_t kMaxMeminfoFields = 256;

// Fields whose meaning a person needs at night. All others go by the two patterns at the end.
constexpr std::array kMeminfoMetrics{
    gauge("jetmem_meminfo_MemTotal_bytes",
          "Memory that Linux owns. Less than the module's size: firmware carve-outs and the "
          "kernel itself were taken before."),
    gauge("jetmem_meminfo_MemFree_bytes",
          "Memory nobody uses. CUDA on integrated GPUs reports this, not MemAvailable, as free "
          "memory; the page cache makes it small on a healthy machine.",
          {}, 1, Worst::kMin),
    gauge("jetmem_meminfo_MemAvailable_bytes",
          "The kernel's estimate of what new programs can allocate without swapping. Near zero, "
          "an OOM kill is imminent.",
          {}, 1, Worst::kMin),
    gauge("jetmem_meminfo_SwapFree_bytes",
          "Swap not in use. On a Jetson swap is often zram, which takes its space from the same "
          "memory.",
          {}, 1, Worst::kMin),
    gauge("jetmem_meminfo_CmaTotal_bytes",
          "Size of all contiguous memory areas. 0: there are none, and drivers that need "
          "contiguous memory, as those without an IOMMU do, cannot allocate it."),
    gauge("jetmem_meminfo_CmaFree_bytes",
          "Free pages inside the contiguous memory areas. It also falls when movable pages "
          "merely borrow the area, so a low value alone is not a failure.",
          {}, 1, Worst::kMin),
    gauge("jetmem_meminfo_NvMapMemUsed_bytes",
          "Memory that the NVIDIA nvmap driver has allocated for GPU, camera and video. Steady "
          "growth is a leak; no cgroup limit contains it.",
          {}, 1, Worst::kMax),
    gauge("jetmem_meminfo_NvMapMemFree_bytes",
          "What nvmap keeps in stock for its next allocations. It is small and not the GPU's "
          "free memory."),
    gauge("jetmem_meminfo_*_bytes", "Field * of /proc/meminfo.", {}, kMaxMeminfoFields),
    gauge("jetmem_meminfo_*", "Field * of /proc/meminfo, a number of huge pages.", {},
          kMaxMeminfoFields),
};
constexpr const Descriptor& kAnyBytes = kMeminfoMetrics[kMeminfoMetrics.size() - 2];
constexpr const Descriptor& kAnyCount = kMeminfoMetrics[kMeminfoMetrics.size() - 1];

const Descriptor* descriptor_of(const Meminfo::Field& field) {
  constexpr std::string_view kPrefix = "jetmem_meminfo_";
  constexpr std::string_view kSuffix = "_bytes";
  if (!field.is_bytes) return &kAnyCount;
  for (const Descriptor& d : kMeminfoMetrics) {
    if (d.is_pattern()) continue;
    const std::string_view name =
        d.name.substr(kPrefix.size(), d.name.size() - kPrefix.size() - kSuffix.size());
    if (name == field.name) return &d;
  }
  return &kAnyBytes;
}

// What a value cannot be: the kernel's numbers are of 64 bits, and one below 0 wraps.
constexpr std::uint64_t kWrapped = std::uint64_t{1} << 63;

enum class Line { kField, kEmpty, kMalformed, kImpossible };

// "Name: number[ kB]"; sizes in bytes.
Line parse_line(std::string_view line, std::string_view& name, std::uint64_t& value,
                bool& is_bytes) {
  if (trim(line).empty()) return Line::kEmpty;
  const std::size_t colon = line.find(':');
  name = line.substr(0, colon);
  if (colon == std::string_view::npos || name.empty() || is_blank(name.front())) {
    return Line::kMalformed;
  }
  std::string_view rest = line.substr(colon + 1);
  skip_blanks(rest);
  const auto number = take_u64(rest);
  if (!number) {
    const std::string_view digits = rest.substr(rest.starts_with('-') ? 1 : 0);
    const bool is_number = !digits.empty() && is_digit(digits.front());
    return is_number ? Line::kImpossible : Line::kMalformed;
  }
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  is_bytes = rest == " kB";
  if (!is_bytes && !rest.empty()) return Line::kMalformed;
  if (*number >= (is_bytes ? kWrapped / 1024 : kWrapped)) return Line::kImpossible;
  value = is_bytes ? *number * 1024 : *number;
  return Line::kField;
}

// More free than there is: by the names of both.
void drop_impossible(Meminfo& out) {
  struct Part {
    std::string_view name;
    std::string_view whole;
  };
  constexpr std::array kParts{Part{"MemFree", "MemTotal"}, Part{"MemAvailable", "MemTotal"},
                              Part{"SwapFree", "SwapTotal"}, Part{"CmaFree", "CmaTotal"},
                              Part{"HugePages_Free", "HugePages_Total"}};
  for (const Part& part : kParts) {
    const auto whole = out.find(part.whole);
    const auto found = std::find_if(out.fields.begin(), out.fields.end(),
                                    [&](const auto& field) { return field.name == part.name; });
    if (!whole || found == out.fields.end() || found->value <= *whole) continue;
    out.fields.erase(found);
    out.absent.add("impossible");
  }
}

Result<void> parse_lines(std::string_view text, Meminfo& out) {
  std::vector<Meminfo::Field>& fields = out.fields;
  Lines lines(text);
  std::size_t count = 0;
  std::size_t malformed = 0;
  bool same_names = true;  // as in the reading before: then none is there twice
  for (std::string_view line; lines.next(line);) {
    std::string_view name;
    std::uint64_t value = 0;
    bool is_bytes = false;
    const Line what = parse_line(line, name, value, is_bytes);
    if (what == Line::kMalformed) ++malformed;
    if (what == Line::kImpossible) out.absent.add("impossible");
    if (what != Line::kField) continue;
    if (count == kMaxMeminfoFields) {
      out.absent.add("beyond_bound");
      continue;
    }
    if (count == fields.size()) fields.emplace_back();
    Meminfo::Field& field = fields[count++];
    field.value = value;
    if (field.name == name && field.is_bytes == is_bytes) continue;
    same_names = false;
    field.name = name;
    field.is_bytes = is_bytes;
    field.descriptor = descriptor_of(field);
  }
  if (count == 0) return fail(Errc::kMalformed, "no line of the form 'Name: number'");
  if (malformed > count) {
    return fail(Errc::kMalformed, std::to_string(malformed) +
                                      " lines are not 'Name: number', only " +
                                      std::to_string(count) + " are");
  }
  // A number at the end of a text that was cut may have lost digits, or its unit.
  if (text.back() != '\n') return lines.malformed("cut off: no newline at its end");
  fields.resize(count);
  if (!same_names) {
    while (const auto twin = find_twin(fields, &Meminfo::Field::name)) {
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(*twin));
      ++malformed;
    }
  }
  if (malformed > 0) out.absent.add("malformed", malformed);
  drop_impossible(out);
  return {};
}

}  // namespace

const SourceInfo MeminfoSource::kInfo{
    .name = "meminfo",
    .what = "total, free, available, cached, CMA and nvmap memory",
    .paths = kMeminfoPaths,
    .metrics = kMeminfoMetrics,
};

std::optional<std::uint64_t> Meminfo::find(std::string_view name) const {
  for (const Field& field : fields) {
    if (field.name == name) return field.value;
  }
  return std::nullopt;
}

Result<void> parse_meminfo(std::string_view text, Meminfo& out) {
  out.absent.reset();
  auto ok = parse_lines(text, out);
  // What a refused text left behind must not be taken for checked names next time.
  if (!ok) out.fields.clear();
  return ok;
}

void MeminfoSource::write(SampleWriter& out, WriteContext& context) const {
  context.absent.add(reading_.absent);
  for (const Meminfo::Field& field : reading_.fields) {
    const auto value = static_cast<double>(field.value);
    if (field.descriptor->is_pattern()) {
      out.put(*field.descriptor, value, field.name);
    } else {
      out.put(*field.descriptor, value);
    }
  }
}

}  // namespace jetmem
