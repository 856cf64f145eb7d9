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

// Tegra186; Tegra194 has all of them too.
constexpr StreamId kTegra186[] = {
    {0x0, "invalid"},      {0x1, "host1x"},       {0x2, "csi"},          {0x3, "vic"},
    {0x4, "vi"},           {0x5, "isp"},          {0x6, "nvdec"},        {0x7, "nvenc"},
    {0x8, "nvjpg"},        {0x9, "nvdisplay"},    {0xa, "tsec"},         {0xb, "tsecb"},
    {0xc, "se"},           {0xd, "se1"},          {0xe, "se2"},          {0xf, "se3"},
    {0x10, "gpu"},         {0x11, "afi"},         {0x12, "hda"},         {0x13, "etr"},
    {0x14, "eqos"},        {0x15, "ufshc"},       {0x16, "aon"},         {0x17, "sdmmc4"},
    {0x18, "sdmmc3"},      {0x19, "sdmmc2"},      {0x1a, "sdmmc1"},      {0x1b, "xusb_host"},
    {0x1c, "xusb_dev"},    {0x1d, "sata"},        {0x1e, "ape"},         {0x1f, "sce"},
    {0x20, "gpcdma_0"},    {0x21, "gpcdma_1"},    {0x22, "gpcdma_2"},    {0x23, "gpcdma_3"},
    {0x24, "gpcdma_4"},    {0x25, "gpcdma_5"},    {0x26, "gpcdma_6"},    {0x27, "gpcdma_7"},
    {0x28, "ape_1"},       {0x29, "ape_2"},       {0x2a, "rce"},         {0x2b, "rce_1x"},
    {0x2c, "ape_3"},       {0x2d, "ape_cam"},     {0x2e, "ape_cam_1x"},  {0x32, "bpmp"},
    {0x33, "smmu_test"},   {0x38, "host1x_ctx0"}, {0x39, "host1x_ctx1"}, {0x3a, "host1x_ctx2"},
    {0x3b, "host1x_ctx3"}, {0x3c, "host1x_ctx4"}, {0x3d, "host1x_ctx5"}, {0x3e, "host1x_ctx6"},
    {0x3f, "host1x_ctx7"}, {0x40, "host1x_vm0"},  {0x41, "host1x_vm1"},  {0x42, "host1x_vm2"},
    {0x43, "host1x_vm3"},  {0x44, "host1x_vm4"},  {0x45, "host1x_vm5"},  {0x46, "host1x_vm6"},
    {0x47, "host1x_vm7"},  {0x48, "se_vm0"},      {0x49, "se_vm1"},      {0x4a, "se_vm2"},
    {0x4b, "se_vm3"},      {0x4c, "se_vm4"},      {0x4d, "se_vm5"},      {0x4e, "se_vm6"},
    {0x4f, "se_vm7"},      {0x7f, "passthrough"},
};

// Tegra194: what it adds.
constexpr StreamId kTegra194[] = {
    {0x2f, "rce_rm"},   {0x30, "vi_falcon"}, {0x31, "isp_falcon"}, {0x50, "miu"},
    {0x51, "nvdla0"},   {0x52, "nvdla1"},    {0x53, "pva0"},       {0x54, "pva1"},
    {0x55, "nvenc1"},   {0x56, "pcie0"},     {0x57, "pcie1"},      {0x58, "pcie2"},
    {0x59, "pcie3"},    {0x5a, "pcie4"},     {0x5b, "pcie5"},      {0x5c, "nvdec1"},
    {0x5d, "xusb_vf0"}, {0x5e, "xusb_vf1"},  {0x5f, "xusb_vf2"},   {0x60, "xusb_vf3"},
    {0x61, "rce_vm3"},  {0x62, "vi_vm2"},    {0x63, "vi_vm3"},     {0x64, "rce_server"},
};

// Tegra234, 12000000.iommu.
constexpr StreamId kTegra234Niso0[] = {
    {0x1, "aon"},
    {0x2, "ape"},
    {0x3, "hda"},
    {0x4, "gpcdma"},
    {0x5, "etr"},
    {0x6, "mgbe"},
    {0x7, "nvdisplay"},
    {0x8, "dce"},
    {0x9, "psc"},
    {0xa, "rce"},
    {0xb, "sce"},
    {0xc, "ufshc"},
    {0xd, "ape_1"},
    {0xe, "gpcdma_1"},
    {0xf, "gpcdma_2"},
    {0x10, "gpcdma_3"},
    {0x11, "gpcdma_4"},
    {0x12, "pcie0"},
    {0x13, "pcie4"},
    {0x14, "pcie5"},
    {0x15, "pcie6"},
    {0x16, "rce_vm2"},
    {0x17, "rce_server"},
    {0x18, "smmu_test"},
    {0x19, "ufs_1"},
    {0x1a, "ufs_2"},
    {0x1b, "ufs_3"},
    {0x1c, "ufs_4"},
    {0x1d, "ufs_5"},
    {0x1e, "ufs_6"},
    {0x1f, "pcie9"},
    {0x20, "vse_gpcdma_vm0"},
    {0x21, "vse_gpcdma_vm1"},
    {0x22, "vse_gpcdma_vm2"},
    {0x23, "nvdla1"},
    {0x24, "nvenc"},
    {0x25, "nvjpg1"},
    {0x26, "ofa"},
    {0x35, "host1x_ctx0"},
    {0x36, "host1x_ctx1"},
    {0x37, "host1x_ctx2"},
    {0x38, "host1x_ctx3"},
    {0x39, "host1x_ctx4"},
    {0x3a, "host1x_ctx5"},
    {0x3b, "host1x_ctx6"},
    {0x3c, "host1x_ctx7"},
    {0x49, "mgbe_vf1"},
    {0x4a, "mgbe_vf2"},
    {0x4b, "mgbe_vf3"},
    {0x4c, "mgbe_vf4"},
    {0x4d, "mgbe_vf5"},
    {0x4e, "mgbe_vf6"},
    {0x4f, "mgbe_vf7"},
    {0x50, "mgbe_vf8"},
    {0x51, "mgbe_vf9"},
    {0x52, "mgbe_vf10"},
    {0x53, "mgbe_vf11"},
    {0x54, "mgbe_vf12"},
    {0x55, "mgbe_vf13"},
    {0x56, "mgbe_vf14"},
    {0x57, "mgbe_vf15"},
    {0x58, "mgbe_vf16"},
    {0x59, "mgbe_vf17"},
    {0x5a, "mgbe_vf18"},
    {0x5b, "mgbe_vf19"},
    {0x5c, "mgbe_vf20"},
    {0x5e, "ape_2"},
    {0x5f, "ape_3"},
    {0x60, "ufs_7"},
    {0x61, "ufs_8"},
    {0x62, "ufs_9"},
    {0x63, "ufs_10"},
    {0x64, "ufs_11"},
    {0x65, "ufs_12"},
    {0x66, "ufs_13"},
    {0x67, "ufs_14"},
    {0x68, "ufs_15"},
    {0x69, "ufs_16"},
    {0x6a, "ufs_17"},
    {0x6b, "ufs_18"},
    {0x6c, "ufs_19"},
    {0x6d, "ufs_20"},
    {0x6e, "gpcdma_5"},
    {0x6f, "gpcdma_6"},
    {0x70, "gpcdma_7"},
    {0x71, "gpcdma_8"},
    {0x72, "gpcdma_9"},
};

// Tegra234, 8000000.iommu.
constexpr StreamId kTegra234Niso1[] = {
    {0x1, "sdmmc1a"},      {0x2, "sdmmc4"},       {0x3, "eqos"},         {0x4, "hwmp_pma"},
    {0x5, "pcie1"},        {0x6, "pcie2"},        {0x7, "pcie3"},        {0x8, "pcie7"},
    {0x9, "pcie8"},        {0xb, "pcie10"},       {0xc, "qspi0"},        {0xd, "qspi1"},
    {0xe, "xusb_host"},    {0xf, "xusb_dev"},     {0x10, "bpmp"},        {0x11, "fsi"},
    {0x12, "pva0_vm0"},    {0x13, "pva0_vm1"},    {0x14, "pva0_vm2"},    {0x15, "pva0_vm3"},
    {0x16, "pva0_vm4"},    {0x17, "pva0_vm5"},    {0x18, "pva0_vm6"},    {0x19, "pva0_vm7"},
    {0x1a, "xusb_vf0"},    {0x1b, "xusb_vf1"},    {0x1c, "xusb_vf2"},    {0x1d, "xusb_vf3"},
    {0x1e, "eqos_vf1"},    {0x1f, "eqos_vf2"},    {0x20, "eqos_vf3"},    {0x21, "eqos_vf4"},
    {0x22, "isp_vm2"},     {0x27, "host1x"},      {0x28, "isp"},         {0x29, "nvdec"},
    {0x2a, "nvjpg"},       {0x2b, "nvdla0"},      {0x2c, "pva0"},        {0x2d, "ses_se0"},
    {0x2e, "ses_se1"},     {0x2f, "ses_se2"},     {0x30, "seu1_se0"},    {0x31, "seu1_se1"},
    {0x32, "seu1_se2"},    {0x33, "tsec"},        {0x34, "vic"},         {0x35, "host1x_ctx0"},
    {0x36, "host1x_ctx1"}, {0x37, "host1x_ctx2"}, {0x38, "host1x_ctx3"}, {0x39, "host1x_ctx4"},
    {0x3a, "host1x_ctx5"}, {0x3b, "host1x_ctx6"}, {0x3c, "host1x_ctx7"}, {0x3d, "hc_vm0"},
    {0x3e, "hc_vm1"},      {0x3f, "hc_vm2"},      {0x40, "hc_vm3"},      {0x41, "hc_vm4"},
    {0x42, "hc_vm5"},      {0x43, "hc_vm6"},      {0x44, "hc_vm7"},      {0x45, "se_vm0"},
    {0x46, "se_vm1"},      {0x47, "se_vm2"},      {0x48, "ispfalc"},     {0x49, "niso1_smmu_test"},
    {0x4a, "tsec_vm0"},
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

std::string_view name_in(std::span<const StreamId> table, std::uint32_t id) {
  const auto at = std::lower_bound(
      table.begin(), table.end(), id,
      [](const StreamId& entry, std::uint32_t needed) { return entry.id < needed; });
  return at != table.end() && at->id == id ? at->name : std::string_view();
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

std::string_view stream_client(Soc soc, std::string_view smmu, std::uint32_t raw) {
  const std::optional<std::uint32_t> id = stream_id(soc, smmu, raw);
  if (!id) return {};
  if (soc == Soc::kTegra234) {
    const std::uint64_t unit = address_of(smmu);
    if (unit == kNiso0) return name_in(kTegra234Niso0, *id);
    return unit == kNiso1 ? name_in(kTegra234Niso1, *id) : name_in(kTegra234Iso, *id);
  }
  const std::string_view name = name_in(kTegra186, *id);
  return name.empty() && soc == Soc::kTegra194 ? name_in(kTegra194, *id) : name;
}

std::string_view stream_client_v3(Soc soc, std::uint32_t raw) {
  return soc == Soc::kTegra264 ? name_in(kTegra264, raw & 0xffffff00U) : std::string_view();
}

}  // namespace jetmem::kernel_log
