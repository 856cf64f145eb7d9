#include "collectors/meminfo.h"

#include <array>

#include "base/text.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kPaths{"/proc/meminfo"};
constexpr std::size_t kMaxFields = 256;

constexpr auto kGauge = MetricType::kGauge;

// Fields whose meaning a person needs at night. All others go by the two patterns at the end.
constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_meminfo_MemTotal_bytes",
               .type = kGauge,
               .help = "Memory that Linux owns. Less than the module's size: firmware carve-outs "
                       "and the kernel itself were taken before."},
    Descriptor{.name = "jetmem_meminfo_MemFree_bytes",
               .type = kGauge,
               .help = "Memory nobody uses. CUDA on integrated GPUs takes this, not MemAvailable, "
                       "for free memory; the page cache makes it small on a healthy machine.",
               .worst = Worst::kMin},
    Descriptor{.name = "jetmem_meminfo_MemAvailable_bytes",
               .type = kGauge,
               .help = "The kernel's estimate of what new programs could get without swapping. "
                       "Near zero, the OOM killer is near.",
               .worst = Worst::kMin},
    Descriptor{.name = "jetmem_meminfo_SwapFree_bytes",
               .type = kGauge,
               .help = "Swap not in use. On a Jetson swap is often zram, which takes its space "
                       "from the same memory.",
               .worst = Worst::kMin},
    Descriptor{.name = "jetmem_meminfo_CmaTotal_bytes",
               .type = kGauge,
               .help = "Size of all contiguous memory areas. 0: what needs memory in one piece, "
                       "as drivers without an IOMMU do, gets none."},
    Descriptor{.name = "jetmem_meminfo_CmaFree_bytes",
               .type = kGauge,
               .help = "Free pages inside the contiguous memory areas. It also falls when movable "
                       "pages merely borrow the area, so a low value alone is not a failure.",
               .worst = Worst::kMin},
    Descriptor{.name = "jetmem_meminfo_NvMapMemUsed_bytes",
               .type = kGauge,
               .help = "Memory that the NVIDIA nvmap driver has handed out to GPU, camera and "
                       "video. Steady growth is a leak; no cgroup limit contains it.",
               .worst = Worst::kMax},
    Descriptor{.name = "jetmem_meminfo_NvMapMemFree_bytes",
               .type = kGauge,
               .help = "What nvmap keeps in stock for its next allocations. It is small and not "
                       "the GPU's free memory."},
    Descriptor{.name = "jetmem_meminfo_*_bytes",
               .type = kGauge,
               .help = "Field * of /proc/meminfo.",
               .max_series = kMaxFields},
    Descriptor{.name = "jetmem_meminfo_*",
               .type = kGauge,
               .help = "Field * of /proc/meminfo, a number of huge pages.",
               .max_series = kMaxFields},
};
constexpr const Descriptor& kAnyBytes = kMetrics[kMetrics.size() - 2];
constexpr const Descriptor& kAnyCount = kMetrics[kMetrics.size() - 1];

const Descriptor* descriptor_of(const Meminfo::Field& field) {
  constexpr std::string_view kPrefix = "jetmem_meminfo_";
  constexpr std::string_view kSuffix = "_bytes";
  if (!field.is_bytes) return &kAnyCount;
  for (const Descriptor& d : kMetrics) {
    if (d.is_pattern()) continue;
    const std::string_view name =
        d.name.substr(kPrefix.size(), d.name.size() - kPrefix.size() - kSuffix.size());
    if (name == field.name) return &d;
  }
  return &kAnyBytes;
}

// Takes the line of a field that stood at this place in the reading before: the usual case, in
// one pass. False when it is any other line, and then nothing was taken.
bool take_same_field(std::string_view& text, Meminfo::Field& field) {
  std::string_view rest = text;
  if (!take_prefix(rest, field.name) || !take_prefix(rest, ":")) return false;
  const auto value = take_u64(rest);
  if (!value || !take_prefix(rest, field.is_bytes ? " kB\n" : "\n")) return false;
  if (field.is_bytes && *value > UINT64_MAX / 1024) return false;
  field.value = field.is_bytes ? *value * 1024 : *value;
  text = rest;
  return true;
}

}  // namespace

const SourceInfo MeminfoSource::kInfo{
    .name = "meminfo",
    .what = "total, free, available, cached, CMA and nvmap memory",
    .paths = kPaths,
    .metrics = kMetrics,
};

std::optional<std::uint64_t> Meminfo::find(std::string_view name) const {
  for (const Field& field : fields) {
    if (field.name == name) return field.value;
  }
  return std::nullopt;
}

Result<void> parse_meminfo(std::string_view text, Meminfo& out) {
  Lines lines(text);
  std::string_view line;
  std::size_t count = 0;
  bool same_names = out.settled;  // as in the reading before: then nothing needs to be looked up
  out.settled = false;
  while (true) {
    if (std::string_view rest = lines.rest();
        count < out.fields.size() && take_same_field(rest, out.fields[count])) {
      lines.took_line(rest);
      ++count;
      continue;
    }
    if (!lines.next(line)) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      return lines.malformed("expected 'Name: number', found '" + printable(line, 60) + "'");
    }
    const std::string_view name = line.substr(0, colon);
    std::string_view rest = line.substr(colon + 1);
    auto value = take_u64(rest);
    if (!value) {
      return lines.malformed("no number that fits 64 bits behind '" + printable(name, 60) + "'");
    }
    const bool is_bytes = rest == " kB";
    if (!is_bytes && !rest.empty()) {
      return lines.malformed("unknown unit '" + printable(rest, 20) + "', expected 'kB' or none");
    }
    if (is_bytes) {
      if (*value > UINT64_MAX / 1024) return lines.malformed("size beyond 64 bits");
      *value *= 1024;
    }
    if (count < out.fields.size() && out.fields[count].name == name &&
        out.fields[count].is_bytes == is_bytes) {
      out.fields[count++].value = *value;
      continue;
    }
    if (count >= kMaxFields) return lines.malformed("more than 256 fields");
    same_names = false;
    if (count >= out.fields.size()) out.fields.emplace_back();
    Meminfo::Field& field = out.fields[count++];
    field.name = name;
    field.value = *value;
    field.is_bytes = is_bytes;
    field.descriptor = descriptor_of(field);
  }
  if (count == 0) return fail(Errc::kMalformed, "empty");
  // A number at the end of a text that was cut may have lost digits, or its unit.
  if (text.back() != '\n') return lines.malformed("cut off: no newline at its end");
  if (count < out.fields.size()) out.fields.resize(count);
  for (std::size_t i = 0; !same_names && i < out.fields.size(); ++i) {
    for (std::size_t j = i + 1; j < out.fields.size(); ++j) {
      if (out.fields[i].name != out.fields[j].name) continue;
      // One field a line.
      return fail(Errc::kMalformed, "line " + std::to_string(j + 1) + ": field '" +
                                        printable(out.fields[i].name, 60) + "' twice");
    }
  }
  out.settled = true;
  return {};
}

Result<void> MeminfoSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  const auto text = snapshot.text_of(kPaths[0]);
  if (!text) return tl::unexpected(text.error());
  return parse_meminfo(*text, reading_);
}

void MeminfoSource::write(SampleWriter& out, WriteContext& /*context*/) const {
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
