// SPDX-License-Identifier: Apache-2.0
// The names are the lower-case tails of the TEGRA*_SID_* macros in Linux'
// include/dt-bindings/memory.
#include <algorithm>
#include <span>

#include "collectors/kernel_log/event/event.h"
#include "collectors/kernel_log/event/soc.h"

namespace jetmem::kernel_log {
namespace {

struct StreamId {
  std::uint16_t id;
  std::string_view name;
};

// Numbered ones: "mgbe_vf1", "mgbe_vf2".
struct StreamRange {
  std::uint16_t first;
  std::string_view name;
  std::uint8_t count;
  std::uint8_t number;  // of the first
};

// Tegra186; Tegra194 has all of them too.
constexpr StreamId kTegra186[] = {
    {0x0, "invalid"},    {0x1, "host1x"},     {0x2, "csi"},          {0x3, "vic"},
    {0x4, "vi"},         {0x5, "isp"},        {0x6, "nvdec"},        {0x7, "nvenc"},
    {0x8, "nvjpg"},      {0x9, "nvdisplay"},  {0xa, "tsec"},         {0xb, "tsecb"},
    {0xc, "se"},         {0x10, "gpu"},       {0x11, "afi"},         {0x12, "hda"},
    {0x13, "etr"},       {0x14, "eqos"},      {0x15, "ufshc"},       {0x16, "aon"},
    {0x17, "sdmmc4"},    {0x18, "sdmmc3"},    {0x19, "sdmmc2"},      {0x1a, "sdmmc1"},
    {0x1b, "xusb_host"}, {0x1c, "xusb_dev"},  {0x1d, "sata"},        {0x1e, "ape"},
    {0x1f, "sce"},       {0x28, "ape_1"},     {0x29, "ape_2"},       {0x2a, "rce"},
    {0x2b, "rce_1x"},    {0x2c, "ape_3"},     {0x2d, "ape_cam"},     {0x2e, "ape_cam_1x"},
    {0x32, "bpmp"},      {0x33, "smmu_test"}, {0x7f, "passthrough"},
};
constexpr StreamRange kTegra186Ranges[] = {
    {0xd, "se", 3, 1},         {0x20, "gpcdma_", 8, 0}, {0x38, "host1x_ctx", 8, 0},
    {0x40, "host1x_vm", 8, 0}, {0x48, "se_vm", 8, 0},
};

// Tegra194: what it adds.
constexpr StreamId kTegra194[] = {
    {0x2f, "rce_rm"}, {0x30, "vi_falcon"},  {0x31, "isp_falcon"}, {0x50, "miu"},
    {0x51, "nvdla0"}, {0x52, "nvdla1"},     {0x53, "pva0"},       {0x54, "pva1"},
    {0x55, "nvenc1"}, {0x5c, "nvdec1"},     {0x61, "rce_vm3"},    {0x62, "vi_vm2"},
    {0x63, "vi_vm3"}, {0x64, "rce_server"},
};
constexpr StreamRange kTegra194Ranges[] = {
    {0x56, "pcie", 6, 0},
    {0x5d, "xusb_vf", 4, 0},
};

// Tegra234, 12000000.iommu.
constexpr StreamId kTegra234Niso0[] = {
    {0x1, "aon"},         {0x2, "ape"},        {0x3, "hda"},    {0x4, "gpcdma"},  {0x5, "etr"},
    {0x6, "mgbe"},        {0x7, "nvdisplay"},  {0x8, "dce"},    {0x9, "psc"},     {0xa, "rce"},
    {0xb, "sce"},         {0xc, "ufshc"},      {0xd, "ape_1"},  {0x12, "pcie0"},  {0x16, "rce_vm2"},
    {0x17, "rce_server"}, {0x18, "smmu_test"}, {0x1f, "pcie9"}, {0x23, "nvdla1"}, {0x24, "nvenc"},
    {0x25, "nvjpg1"},     {0x26, "ofa"},       {0x5e, "ape_2"}, {0x5f, "ape_3"},
};
constexpr StreamRange kTegra234Niso0Ranges[] = {
    {0xe, "gpcdma_", 4, 1},        {0x13, "pcie", 3, 4},       {0x19, "ufs_", 6, 1},
    {0x20, "vse_gpcdma_vm", 3, 0}, {0x35, "host1x_ctx", 8, 0}, {0x49, "mgbe_vf", 20, 1},
    {0x60, "ufs_", 14, 7},         {0x6e, "gpcdma_", 5, 5},
};

// Tegra234, 8000000.iommu.
constexpr StreamId kTegra234Niso1[] = {
    {0x1, "sdmmc1a"},   {0x2, "sdmmc4"},    {0x3, "eqos"},     {0x4, "hwmp_pma"},
    {0x8, "pcie7"},     {0x9, "pcie8"},     {0xb, "pcie10"},   {0xc, "qspi0"},
    {0xd, "qspi1"},     {0xe, "xusb_host"}, {0xf, "xusb_dev"}, {0x10, "bpmp"},
    {0x11, "fsi"},      {0x22, "isp_vm2"},  {0x27, "host1x"},  {0x28, "isp"},
    {0x29, "nvdec"},    {0x2a, "nvjpg"},    {0x2b, "nvdla0"},  {0x2c, "pva0"},
    {0x33, "tsec"},     {0x34, "vic"},      {0x48, "ispfalc"}, {0x49, "niso1_smmu_test"},
    {0x4a, "tsec_vm0"},
};
constexpr StreamRange kTegra234Niso1Ranges[] = {
    {0x5, "pcie", 3, 1},        {0x12, "pva0_vm", 8, 0}, {0x1a, "xusb_vf", 4, 0},
    {0x1e, "eqos_vf", 4, 1},    {0x2d, "ses_se", 3, 0},  {0x30, "seu1_se", 3, 0},
    {0x35, "host1x_ctx", 8, 0}, {0x3d, "hc_vm", 8, 0},   {0x45, "se_vm", 3, 0},
};

// Tegra234, 10000000.iommu.
constexpr StreamId kTegra234Iso[] = {
    {0x1, "nvdisplay"}, {0x2, "vi"},     {0x3, "vifalc"},  {0x4, "vi2"},
    {0x5, "vi2falc"},   {0x6, "vi_vm2"}, {0x7, "vi2_vm2"},
};

// Tegra264: the low byte is a number within the client.
constexpr StreamId kTegra264[] = {
    {0x100, "aon"},        {0x200, "ape"},        {0x300, "etr"},        {0x400, "bpmp"},
    {0x500, "dce"},        {0x600, "eqos"},       {0x800, "gpcdma"},     {0x900, "disp"},
    {0xa00, "hda"},        {0xb00, "host1x"},     {0xc00, "isp0"},       {0xd00, "isp1"},
    {0xe00, "pma0"},       {0xf00, "fsi0"},       {0x1000, "fsi1"},      {0x1100, "pva"},
    {0x1200, "sdmmc0"},    {0x1300, "mgbe0"},     {0x1400, "mgbe1"},     {0x1500, "mgbe2"},
    {0x1600, "mgbe3"},     {0x1700, "mssseq"},    {0x1800, "se"},        {0x1900, "seu1"},
    {0x1a00, "seu2"},      {0x1b00, "seu3"},      {0x1c00, "psc"},       {0x2300, "oesp"},
    {0x2400, "sb"},        {0x2500, "xspi0"},     {0x2900, "tsec"},      {0x2a00, "ufs"},
    {0x2b00, "rce"},       {0x2c00, "rce1"},      {0x2e00, "vi"},        {0x2f00, "vi1"},
    {0x3000, "vic"},       {0x3200, "xusb_dev"},  {0x3300, "xusb_dev1"}, {0x3400, "xusb_dev2"},
    {0x3500, "xusb_dev3"}, {0x3600, "xusb_dev4"}, {0x3700, "xusb_dev5"},
};

template <std::size_t kSize>
constexpr bool ascending(const StreamId (&table)[kSize]) {
  for (std::size_t i = 1; i < kSize; ++i) {
    if (table[i - 1].id >= table[i].id) return false;
  }
  return true;
}
static_assert(ascending(kTegra186) && ascending(kTegra194) && ascending(kTegra234Niso0) &&
              ascending(kTegra234Niso1) && ascending(kTegra234Iso) && ascending(kTegra264));

std::string name_in(std::span<const StreamId> table, std::span<const StreamRange> ranges,
                    std::uint32_t id) {
  for (const StreamRange& range : ranges) {
    if (id >= range.first && id < range.first + range.count)
      return std::string(range.name) + std::to_string(range.number + id - range.first);
  }
  const auto at = std::lower_bound(
      table.begin(), table.end(), id,
      [](const StreamId& entry, std::uint32_t needed) { return entry.id < needed; });
  return std::string(at != table.end() && at->id == id ? at->name : std::string_view());
}

// "12000000.iommu" by its address, whatever the node is called.
std::uint64_t address_of(std::string_view smmu) {
  const auto mark =
      std::find_if(smmu.rbegin(), smmu.rend(), [](char c) { return c == ':' || c == '@'; });
  smmu.remove_prefix(static_cast<std::size_t>(smmu.rend() - mark));
  return parse_hex(smmu.substr(0, smmu.find('.'))).value_or(0);
}

constexpr std::uint64_t kNiso0 = 0x12000000;  // the only one on Tegra186
constexpr std::uint64_t kNiso1 = 0x8000000;
constexpr std::uint64_t kIso = 0x10000000;

}  // namespace

std::optional<std::uint32_t> stream_id(Soc soc, std::string_view smmu, std::uint32_t raw) {
  const std::uint64_t unit = address_of(smmu);
  const bool has_unit =
      (soc == Soc::kTegra186 && unit == kNiso0) ||
      (soc == Soc::kTegra194 && (unit == kNiso0 || unit == kIso)) ||
      (soc == Soc::kTegra234 && (unit == kNiso0 || unit == kNiso1 || unit == kIso));
  if (!has_unit) return std::nullopt;
  // Their device trees say stream-match-mask = <0x7f80>; above bit 14 stand other things.
  return raw & 0x7fU;
}

std::string stream_client(Soc soc, std::string_view smmu, std::uint32_t raw) {
  const std::optional<std::uint32_t> id = stream_id(soc, smmu, raw);
  if (!id) return {};
  if (soc == Soc::kTegra234) {
    const std::uint64_t unit = address_of(smmu);
    if (unit == kNiso0) return name_in(kTegra234Niso0, kTegra234Niso0Ranges, *id);
    return unit == kNiso1 ? name_in(kTegra234Niso1, kTegra234Niso1Ranges, *id)
                          : name_in(kTegra234Iso, {}, *id);
  }
  std::string name = name_in(kTegra186, kTegra186Ranges, *id);
  if (name.empty() && soc == Soc::kTegra194) name = name_in(kTegra194, kTegra194Ranges, *id);
  return name;
}

std::string stream_client_v3(Soc soc, std::uint32_t raw) {
  return soc == Soc::kTegra264 ? name_in(kTegra264, {}, raw & 0xffffff00U) : std::string();
}

}  // namespace jetmem::kernel_log
