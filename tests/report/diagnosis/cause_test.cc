// SPDX-License-Identifier: Apache-2.0
// Which cause is chosen, by its code; the words are held only as far as numbers and names go.
#include "report/diagnosis/cause.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "collectors/kernel_log/event/kinds.h"
#include "collectors/kernel_log/text_log.h"
#include "report/diagnosis/kind_care.h"
#include "report/diagnosis/known_issues.h"
#include "report/events/kernel_event_record.h"

namespace jetmem::diagnosis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

EventRecord event_of(const std::string& kind, const std::string& fields,
                     const std::string& summary = "") {
  EventRecord out;
  out.kind = kind;
  out.origin = "system";
  out.fields = fields;
  out.summary = summary;
  return out;
}

std::vector<Cause> explain_all(const std::vector<EventRecord>& events,
                               const MachineFacts& facts = {}) {
  std::vector<const EventRecord*> list;
  for (const EventRecord& each : events) list.push_back(&each);
  return explain(list, facts);
}

Cause only(const EventRecord& event, const MachineFacts& facts = {}) {
  const std::vector<Cause> causes = explain_all({event}, facts);
  EXPECT_FALSE(causes.empty()) << event.kind;
  return causes.empty() ? Cause() : causes.front();
}

// Of a log, as the decoder reads it: an event that no decoder makes would show nothing.
std::vector<Cause> explain_log(const std::string& text) {
  std::vector<EventRecord> records;
  LogFacts facts;
  kernel_log::TextLog log(
      kernel_log::Soc::kUnknown, [&](const kernel_log::Event& event, std::string_view) {
        std::optional<Nanoseconds> at;
        if (event.stamp) at = *event.stamp;
        records.push_back(kernel_event_record(event, kernel_log::Origin::kSystem, at));
      });
  facts.feed(text);
  facts.finish();
  log.feed(text);
  log.finish();
  return explain_all(records, facts.facts());
}

std::vector<std::string> ids_of_log(const std::string& text) {
  std::vector<std::string> out;
  for (const Cause& each : explain_log(text)) out.push_back(each.id);
  return out;
}

struct Row {
  const char* kind;
  const char* fields;
  const char* id;
  const char* shows = "";  // a number or name in the words
};

const Row kRows[] = {
    // Three causes of a refused bounce buffer, three remedies.
    {"swiotlb_full", R"({"dev":"a.mmc","size":524276,"total":32768,"used":0})",
     "swiotlb-mapping-too-large", "512 KiB"},
    {"swiotlb_full", R"({"dev":"b.npu","size":6422528})", "swiotlb-mapping-too-large", "b.npu"},
    {"swiotlb_full", R"({"dev":"0000:05:00.0","size":4000,"total":32768,"used":32768})",
     "swiotlb-exhausted", "swiotlb=65536"},
    {"swiotlb_full", R"({"dev":"c","size":65536,"total":32768,"used":20000})", "swiotlb-fragmented",
     "20,000 of 32,768"},
    {"swiotlb_full", R"({"dev":"c","size":4096,"total":32768,"used":0})", "swiotlb-out-of-reach"},
    {"swiotlb_full", R"({"dev":"c","size":16384})", "swiotlb-full", "16 KiB"},
    {"dma_map_failure", R"({"dev":"0001:01:00.0","mask":"0xffffffff"})", "dma-mask-too-narrow",
     "0xffffffff"},
    {"dma_map_failure", R"({"dev":"c","errno":12})", "dma-map-failed", "12"},
    {"iova_exhausted", R"({"dev":"drm"})", "iova-exhausted", "drm"},
    {"cma_alloc_failure", R"({"pages":19200,"errno":12})", "cma-refused", "cma=512M"},
    {"cma_alloc_failure", R"({"pages":19200,"errno":12,"free":90,"total":16384})", "cma-too-small",
     "64 MiB"},
    // More than the area has now.
    {"cma_alloc_failure", R"({"pages":3934,"errno":12,"total":16384})", "cma-refused", "cma=128M"},
    {"cma_alloc_failure", R"({"pages":3000,"errno":12,"free":90,"total":16384})", "cma-exhausted"},
    {"cma_alloc_failure", R"({"pages":3000,"errno":12,"free":9000,"total":16384,"largest":2000})",
     "cma-fragmented", "7.8 MiB"},
    {"cma_alloc_failure", R"({"pages":30,"errno":16})", "cma-pinned"},
    {"cma_alloc_failure", R"({"pages":3000,"errno":16,"free":9000,"total":16384,"largest":4000})",
     "cma-pinned"},
    {"cma_alloc_failure", R"({"pages":3000,"errno":12,"free":9000,"total":16384,"largest":4000})",
     "cma-fragmented", "no free piece fits."},
    {"program_alloc_failure", R"({"library":"rknn","errno":24,"size":80})", "npu-open-files"},
    {"dma_alloc_failure", R"({"dev":"1cb0000.csi","size":7561216})", "dma-no-contiguous",
     "1cb0000.csi"},
    {"gpu_alloc_failure", R"({"dev":"3fc00000.v3d","bos":389,"bos_kb":126112})", "bos-fill-cma",
     "123 MiB"},
    {"reserved_memory_failure", R"({"node":"linux,cma"})", "cma-not-reserved", "512 MiB"},
    {"reserved_memory_failure", R"({"node":"vpr"})", "reserved-memory-failed", "vpr"},
    {"page_alloc_failure", R"({"comm":"kswapd0","order":3,"gfp":"0x20"})", "pages-atomic",
     "vm.min_free_kbytes"},
    {"page_alloc_failure", R"j({"comm":"x","order":0,"mode":"0xa20(GFP_ATOMIC)"})j",
     "pages-atomic"},
    {"page_alloc_failure", R"j({"comm":"x","order":5,"mode":"0xcc0(GFP_KERNEL)"})j",
     "pages-fragmented", "128 KiB"},
    {"page_alloc_failure", R"j({"comm":"x","order":0,"mode":"0xcc0(GFP_KERNEL)"})j",
     "memory-exhausted"},
    {"page_alloc_failure", R"j({"comm":"x","order":2,"mode":"0xcc0(GFP_KERNEL)"})j",
     "page-alloc-failure"},
    {"page_alloc_failure", R"({"order":2,"free_normal_kb":90000,"min_normal_kb":2000})",
     "pages-fragmented"},
    {"page_alloc_failure", R"({"order":2,"free_normal_kb":1900,"min_normal_kb":2000})",
     "memory-exhausted"},
    {"page_alloc_failure", R"({"order":0,"free_normal_kb":1900,"free_highmem_kb":0})",
     "memory-exhausted"},
    {"oom_kill", R"({"comm":"java"})", "memory-exhausted"},
    {"oom_kill", R"({"comm":"java","swap_total_kb":1000,"swap_free_kb":900})", "oom-swap-unused"},
    {"oom_kill", R"({"comm":"java","slab_unreclaimable_pages":60000,"ram_pages":100000})",
     "oom-kernel-objects", "60%"},
    {"oom_kill", R"({"comm":"java","slab_unreclaimable_pages":6000,"ram_pages":100000})",
     "memory-exhausted"},
    {"oom_kill_memcg", R"({"comm":"a","memcg":true})", "oom-group-limit", "control group"},
    {"page_alloc_failure", R"({"comm":"x","order":0,"mode":"0x820","atomic":true})",
     "pages-atomic"},
    {"slab_alloc_failure", R"({"gfp":"0x40a20"})", "pages-atomic"},
    {"zram_error", R"({"err":-12,"op":"write"})", "zram-no-room"},
    {"zram_error", R"({"op":"read"})", "zram-damaged"},
    {"swap_error", R"({"op":"read","dev":"8:0"})", "swap-read"},
    {"swap_error", R"({"op":"write","dev":"254:0"})", "swap-write"},
    {"swap_error", R"({"op":"entry","entry":"4000000000f0"})", "swap-entry-damaged",
     "4000000000f0"},
    {"swap_error", R"({"op":"swapon","error":"Unable to find swap-space signature"})",
     "swap-not-enabled", "mkswap"},
    {"swap_error",
     R"({"op":"swapon","error":"Not enough memory for swap heads, swap is disabled"})",
     "swap-on-no-memory"},
    {"swap_error", R"({"op":"swapon","error":"alloc failed, zswap disabled for swap type 0"})",
     "zswap-off"},
    {"swap_error", R"({"dev":"254:0"})", "swap-error"},
    {"memory_error", R"({"severity":"CE","count":4,"label":"CPU#0Channel#2_DIMM#0","mc":0})",
     "ecc-corrected", "CPU#0Channel#2_DIMM#0"},
    {"memory_error", R"({"severity":"UE","label":"DIMM_A1"})", "ecc-uncorrected", "DIMM_A1"},
    {"memory_error", R"({"severity":"UE","name":"L2 cache"})", "cache-error-uncorrected"},
    {"memory_error", R"j({"severity":"UE","error":"Illegal address (software fault)"})j",
     "software-address"},
    {"memory_error", R"({"pfn":"0x1234","outcome":"Recovered"})", "page-poisoned", "Recovered"},
    {"memory_error", R"({"pfn":"0x1234","outcome":"Ignored"})", "page-not-isolated", "Ignored"},
    {"memory_error", R"({"pfn":"0x1234","error":"unhandlable page."})", "page-not-isolated",
     "unhandlable"},
    {"memory_error", R"({"pfn":"0x1234","comm":"app","pid":7})", "page-poisoned-program", "app"},
    {"memory_error", R"({"severity":"UE","outcome":"panic","label":"any memory"})",
     "ecc-uncorrected"},
    {"memory_error", R"({"pfn":"0x1234","soft_offline":true})", "page-retired"},
    {"memory_error", R"({"pfn":"0x1","soft_offline":true,"error":"page migration failed"})",
     "page-not-retired", "migration"},
    {"memory_error", R"({"source":2,"severity":"recoverable","section_type":"memory error"})",
     "ecc-uncorrected"},
    {"memory_error", R"({"source":2,"severity":"info","section_type":"memory error"})",
     "ecc-corrected"},
    {"memory_error", R"({"ghes":2,"severity":"corrected","location":"node:1 row:58165"})",
     "ecc-corrected", "row:58165"},
    {"memory_error",
     R"({"severity":"corrected","section_type":"memory error","fru_text":"D2",)"
     R"("physical_address":"0x6a47d1f540"})",
     "ecc-corrected", "replace that DIMM (D2)"},
    // Nothing says that it is of memory.
    {"memory_error", R"({"source":2,"severity":"recoverable"})", "hardware-uncorrected"},
    {"memory_error", R"({"ghes":77,"severity":"corrected","section_type":"unknown, e8ed898d"})",
     "hardware-corrected", "e8ed898d"},
    {"memory_error", R"({"ghes":77,"severity":"fatal","section_type":"PCIe error"})",
     "hardware-uncorrected", "PCIe error"},
    {"memory_error", R"({"source":"DRAM"})", "memory-error"},
    {"gpu_ecc_error", R"({"dev":"17000000.gpu","severity":"uncorrected"})", "gpu-ecc-uncorrected"},
    {"gpu_ecc_error", R"({"dev":"17000000.gpu"})", "gpu-ecc-error"},
    {"bus_error", R"({"error":"SLAVE_ERR","address":"0x381031c"})", "bus-access-refused",
     "0x381031c"},
    {"bus_error", R"({"error":"SError","cpu":1})", "serror", "CPU 1"},
    {"memory_error", R"({"error":"SError","cpu":1})", "serror", "CPU 1"},
    {"bus_error",
     R"({"dev":"a.dma","error":"timeout","text":"Timeout waiting for DMA burst completion!"})",
     "dma-engine-timeout", "a.dma"},
    {"smmu_context_fault", R"({"client":"vic","fault":"translation","iova":"0x1000"})",
     "smmu-unmapped", "vic"},
    {"smmu_context_fault", R"({"client":"vic","fault":"permission"})", "smmu-permission"},
    {"smmu_context_fault", R"({"client":"vic","fault":"external"})", "smmu-abort"},
    {"smmu_context_fault", R"({"dev":"DMAR","client":"03:00.0","fault":"configuration"})",
     "iommu-configuration", "03:00.0"},
    {"smmu_context_fault",
     R"({"dev":"AMD-Vi","fault":"invalid request","name":"INVALID_DEVICE_REQUEST"})",
     "iommu-invalid-request", "INVALID_DEVICE_REQUEST"},
    {"smmu_context_fault", R"({"dev":"DMAR","fault":"translation or permission"})", "smmu-unmapped",
     "or without one for this access"},
    {"ratelimit_suppressed", R"({"function":"dmar_fault","count":7702})", "messages-suppressed",
     "smmu_context_fault"},
    {"ratelimit_suppressed", R"({"function":"net_ratelimit","count":7})", "ratelimit-suppressed"},
    {"smmu_v3_event", R"({"event":"0x07","sid":"0x100"})", "smmu-ats", "pci=noats"},
    {"smmu_v3_event", R"({"event":"0x10","sid":"0x100"})", "smmu-unmapped"},
    {"smmu_v3_event", R"({"event":"0x02","sid":"0x100"})", "smmu-configuration"},
    {"smmu_v3_event", R"({"event":"0x01","sid":"0x100"})", "smmu-v3-event"},
    {"smmu_v3_event", R"({"event":"0x11","sid":"0x100"})", "smmu-address-size"},
    {"smmu_v3_event", R"({"event":"0x12","sid":"0x100"})", "smmu-access-flag"},
    {"smmu_v3_event", R"({"event":"0x20","name":"F_TLB_CONFLICT"})", "smmu-conflict",
     "F_TLB_CONFLICT"},
    {"smmu_v3_event", R"({"event":"0x21","name":"F_CFG_CONFLICT"})", "smmu-conflict"},
    {"smmu_v3_event", R"({"event":"0x24"})", "smmu-page-request"},
    {"smmu_v3_event", R"({"name":"E_PAGE_REQUEST"})", "smmu-page-request"},
    {"smmu_v3_event", R"({"event":"0x25","name":"F_VMS_FETCH"})", "smmu-abort"},
    {"smmu_context_fault", R"({"client":"vic","fault":"TLB match conflict"})", "smmu-conflict"},
    {"smmu_context_fault", R"({"client":"vic","fault":"address size"})", "smmu-address-size"},
    {"smmu_context_fault", R"({"client":"vic","fault":"access flag"})", "smmu-access-flag"},
    {"smmu_context_fault", R"({"client":"vic","iova":"0x1000"})", "smmu-context-fault"},
    {"smmu_global_fault", R"({"sid":"0x12"})", "smmu-configuration", "0x12"},
    {"smmu_global_fault", R"({"sid":"0x12","fault":"stream match conflict, multiple"})",
     "smmu-stream-conflict", "two of them name the same"},
    {"thermal", R"({"dev":"hwmon1","trip":"undervoltage"})", "under-voltage", "power supply"},
    {"thermal", R"({"trip":"oc_alarm"})", "over-current", "power supply."},
    {"thermal", R"({"trip":"critical"})", "thermal"},
    {"vmalloc_failure", R"({"size":327680,"text":"vm_struct allocation failed"})", "vmalloc-space"},
    {"gpu_mmu_fault", R"({"dev":"fec00000.v3d","client":"CLE"})", "v3d-read-ahead"},
    {"gpu_mmu_fault", R"({"pci":"0000:0b:00.0","comm":"python"})", "gpu-bad-address", "python"},
    {"gpu_mmu_fault", R"({"xid":31,"fault_type":"FAULT_PRIV_VIOLATION"})", "gpu-access-denied",
     "FAULT_PRIV_VIOLATION"},
    {"gpu_mmu_fault", R"({"dev":"a.gpu","driver":"mali","fault_type":"PERMISSION_FAULT"})",
     "gpu-access-denied", "Mesa"},
    {"gpu_mmu_fault", R"({"dev":"17000000.gpu","fault_type":"va limit viol"})", "gpu-bad-address"},
    {"gpu_mmu_fault", R"({"xid":31,"fault_type":"FAULT_PDE"})", "gpu-bad-address",
     "compute-sanitizer"},
    {"gpu_mmu_fault", R"({"dev":"1c40000.gpu","driver":"lima"})", "gpu-bad-address", "Mesa"},
    {"gpu_error", R"({"dev":"17000000.gpu","notifier":31,"comm":"app"})", "gpu-bad-address", "app"},
    {"gpu_error", R"({"dev":"a.gpu","status":"JOB_BUS_FAULT","text":"js fault, js=0"})",
     "gpu-job-failed", "JOB_BUS_FAULT"},
    {"gpu_error", R"({"status":"0x00000062","text":"GspRmAlloc failed"})", "gpu-reset-required",
     "nvidia-smi -r"},
    {"gpu_error", R"({"status":"0x0000000f","text":"rpcSendMessage failed"})", "xid-bus",
     "power supply"},
    {"gpu_alloc_failure", R"({"function":"rpcRmApiAlloc_GSP","text":"GspRmAlloc failed"})",
     "gpu-buffer-refused"},
    {"gpu_alloc_failure", R"({"function":"kgspCreateRadix3_IMPL","text":"Out of memory"})",
     "gpu-firmware-memory"},
    {"gpu_hang", R"({"dev":"fec00000.v3d"})", "gpu-hung", "fec00000.v3d"},
    {"gpu_error", R"({"dev":"17000000.gpu","function":"ga10b_acr_patch_wpr_info_to_ucode"})",
     "gpu-firmware-mismatch", "nvidia-l4t"},
    {"gpu_xid", R"({"xid":31,"comm":"python3"})", "xid-program", "python3"},
    {"gpu_xid", R"({"xid":79})", "xid-bus", "Xid 79"},
    {"gpu_xid", R"({"xid":149})", "xid-nvlink", "149"},
    {"gpu_xid", R"({"xid":45,"comm":"python3"})", "xid-removed", "python3"},
    {"gpu_xid", R"({"xid":45})", "xid-removed", "a program's"},
    {"gpu_xid", R"({"xid":45,"previous_xid":149,"comm":"python3"})", "xid-nvlink", "149"},
    {"gpu_xid", R"({"xid":45,"previous_xid":1,"comm":"python3"})", "xid-removed", "after Xid 1"},
    {"gpu_xid", R"({"xid":119})", "xid-firmware"},
    {"gpu_xid", R"({"xid":48})", "xid-memory"},
    {"gpu_xid", R"({"xid":63})", "xid-memory-corrected"},
    {"gpu_xid", R"({"xid":92})", "xid-memory-corrected"},
    {"gpu_xid", R"({"xid":64})", "xid-remap-failed"},
    {"gpu_xid", R"({"xid":62})", "xid-microcontroller"},
    {"gpu_xid", R"({"xid":122})", "xid-microcontroller"},
    {"gpu_hang", R"({"text":"fifo fb flush timeout error"})", "gpu-memory-path"},
    {"gpu_hang", R"({"text":"fifo memop timeout error"})", "gpu-hung"},
    {"gpu_hang", R"({"text":"Timeout waiting for VM flush ACK!"})", "gpu-hung"},
    {"gpu_hang", R"({"function":"nvgpu_acr_wait_for_completion","text":"ACR boot timed out"})",
     "gpu-firmware-mismatch"},
    {"gpu_error", R"({"text":"error across the macro 0x51"})", "gpu-error"},
    {"gpu_error", R"j({"text":"RmInitAdapter failed! (0x62:0x51:1876)"})j", "gpu-firmware-memory"},
    {"gpu_error", R"j({"text":"RmInitAdapter failed! (0x62:0x65:0x51)"})j", "gpu-error"},
    {"nvmap", R"({"errno":12})", "gpu-buffer-refused", "out of memory"},
    {"nvmap", R"({"errno":13})", "gpu-permission", "video"},
    {"nvmap", R"({"function":"NvMapMemHandleAlloc","code":13})", "gpu-buffer-refused"},
    {"nvmap", R"({"function":"NvRmMemInitNvmap","reason":"missing"})", "nvmap-device-missing",
     "--runtime nvidia"},
    {"nvmap", R"({"code":196626})", "nvmap-device-missing"},
    {"nvmap",
     R"({"function":"nvmap_handle_get","reason":"misuse","error":"attempt to get a freed handle"})",
     "nvmap-misuse", "freed handle"},
    {"cuda_alloc_failure", R"({"size":6960120064,"free":12823035904})", "gpu-refused-though-free",
     "6.5 GiB"},
    {"cuda_alloc_failure", R"({"size":6960120064,"free":123035904})", "gpu-buffer-too-large"},
    {"cuda_alloc_failure", R"({"size":622329856,"library":"TensorRT"})", "tensorrt-workspace"},
    {"program_alloc_failure", R"({"library":"RKNN","size":3085697024,"errno":14})", "npu-buffer",
     "2.9 GiB"},
    {"cuda_alloc_failure",
     R"({"library":"pytorch","size_text":"2.00 GiB","free_text":"102.80 MiB"})",
     "gpu-buffer-too-large", "2 GiB"},
    {"cuda_alloc_failure", R"({"library":"tensorflow","size_text":"2.13GiB","fallback":true})",
     "allocation-optional"},
    {"program_alloc_failure",
     R"({"library":"ollama","size_text":"6.3 GiB","available_text":"4.1 GiB"})", "program-refuses",
     "4.1 GiB"},
    {"program_alloc_failure", R"({"library":"argus"})", "media-buffer"},
    {"program_alloc_failure", R"({"library":"numpy","size_text":"3.00 GiB"})",
     "program-memory-refused", "3 GiB"},
    {"program_alloc_failure", R"({"library":"ggml"})", "program-gpu-memory"},
    {"program_alloc_failure", R"({"errno":12})", "program-alloc-failure"},
    {"dma_alloc_failure", R"({"dev":"mmc0","fallback":true})", "allocation-optional"},
    {"page_alloc_failure", R"({"order":2,"free_normal_kb":100000,"free_cma_kb":98000})",
     "pages-only-cma", "96 MiB"},
    {"page_alloc_failure", R"({"order":2,"free_highmem_kb":8192,"min_highmem_kb":128})",
     "lowmem-short", "8 MiB"},
    {"memory_report", R"({"free_normal_kb":900,"min_normal_kb":2000})", "memory-exhausted"},
    {"memory_report", R"({"free_normal_kb":9000,"min_normal_kb":2000})", "memory-report"},
    {"nvbufsurface", R"({"function":"NvReleaseFd","fd":1292})", "nvbuf-stale-fd", "1292"},
    {"host1x_timeout", R"({"dev":"13e10000.host1x","syncpt":"31"})", "engine-stuck", "31"},
    {"camera_timeout", R"({"dev":"tegra-capture-vi","timeout_ms":2500})", "camera-no-frames",
     "2500 ms"},
    {"camera_error", R"({"dev":"vi","error":"discarding frame","frame":7})",
     "camera-frame-damaged"},
    {"camera_error", R"({"dev":"1-1","error":"Non-zero status","code":-71})",
     "camera-frame-damaged"},
    {"camera_error", R"({"dev":"csi","error":"INTR_STATUS","status":"0x8"})",
     "camera-frame-damaged"},
    {"camera_error", R"({"dev":"vi","error":"vi capture setup failed"})", "camera-request-failed"},
    {"camera_error", R"({"dev":"vi","error":"error recovery failed"})", "camera-request-failed"},
    {"camera_error", R"({"dev":"vi","error":"something else"})", "camera-error"},
    {"camera_timeout", R"({"dev":"1-1","error":"Failed to query UVC control","code":-110})",
     "usb-camera-control"},
    {"camera_timeout", R"({"dev":"1-1","error":"Failed to set UVC control","code":-110})",
     "usb-camera-stream", "-110"},
    {"hung_task", R"({"comm":"kworker/u24:3","seconds":120})", "task-stuck", "no lack of memory"},
    {"hung_task", R"({"comm":"jbd2/mmcblk0p1-8","seconds":120})", "task-stuck-storage"},
    {"hung_task", R"({"comm":"kworker/2:0","seconds":966})", "task-stuck", "966"},
    {"rcu_stall", R"({"flavour":"rcu_preempt"})", "cpu-stuck"},
    {"storage_error", R"({"dev":"mmc0"})", "storage-error"},
    {"storage_error", R"({"dev":"mmcblk0","error":"I/O error"})", "storage-error-single",
     "mmcblk0"},
    {"storage_error", R"({"dev":"mmcblk0p1","error":"file system error"})", "storage-failing"},
    {"storage_error", R"({"dev":"nvme0","error":"controller is down"})", "storage-failing"},
    {"storage_error", R"({"dev":"nvme0","error":"completion polled"})", "storage-interrupt-lost"},
    {"storage_error", R"({"dev":"sr0","error":"I/O error"})", "storage-medium", "sr0"},
    {"storage_error", R"({"dev":"loop3","error":"I/O error"})", "storage-medium"},
    // None fits: the kind as such.
    {"kmemleak", R"({"count":3})", "kmemleak"},
};

TEST(Causes, AreChosenByTheFields) {
  for (const Row& row : kRows) {
    const Cause cause = only(event_of(row.kind, row.fields));
    EXPECT_EQ(cause.id, row.id) << row.kind << " " << row.fields;
    EXPECT_THAT(cause.cause + cause.remedy, HasSubstr(row.shows)) << row.id;
    EXPECT_FALSE(cause.cause.empty()) << row.id;
    EXPECT_FALSE(cause.remedy.empty()) << row.id;
    EXPECT_FALSE(cause.runbook.empty()) << row.id;
  }
}

// Whatever is missing: no placeholder is left, and no sentence with a hole.
TEST(Causes, AreWholeWithoutAnyField) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    const Cause cause = only(event_of(std::string(info.name), R"({"kind":"its"})"));
    for (const std::string& text : {cause.cause, cause.remedy}) {
      EXPECT_FALSE(text.empty()) << info.name;
      EXPECT_THAT(text, Not(HasSubstr("{"))) << info.name;
      EXPECT_THAT(text, Not(HasSubstr("}"))) << info.name;
    }
    EXPECT_THAT(cause.cause, Not(HasSubstr("an unknown value"))) << info.name << ": " << cause.id;
    ASSERT_FALSE(cause.cause.empty());
    const char first = cause.cause[0];
    EXPECT_FALSE(first >= 'b' && first <= 'z') << info.name << ": " << cause.cause;
  }
}

TEST(Causes, EachIsOfOneGroupAndComplete) {
  std::set<std::string_view> ids;
  for (const CauseGroup* group : cause_groups()) {
    for (const CauseText& each : group->texts) {
      EXPECT_TRUE(ids.insert(each.id).second) << each.id;
      EXPECT_FALSE(each.remedy.empty()) << each.id;
      EXPECT_EQ(std::count(each.cause.begin(), each.cause.end(), '{'),
                std::count(each.cause.begin(), each.cause.end(), '}'))
          << each.id;
    }
  }
  EXPECT_EQ(ids.size(), cause_ids().size());
}

// The first cannot be told from a refusal of GPU memory without looking at the machine.
TEST(Causes, AreChosenByTheMachine) {
  constexpr double kGiB = 1 << 30;
  const EventRecord refused = event_of("cuda_alloc_failure", R"({"size":1476114816})");
  MachineFacts facts;
  facts.total = 8 * kGiB;
  facts.available = 5 * kGiB;
  facts.free = 0.3 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-free-hidden");
  EXPECT_EQ(only(refused, facts).runbook, "gpu-free-hidden");
  facts.free = 4.5 * kGiB;
  facts.bytes_in_2m_blocks = 0.1 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-no-2m-blocks");
  facts.bytes_in_2m_blocks = 4.0 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-buffer-refused");
  facts.available = 0.5 * kGiB;
  EXPECT_EQ(only(refused, facts).id, "gpu-memory-short");

  const EventRecord cma = event_of("cma_alloc_failure", R"({"pages":1846,"errno":12})");
  facts.cma_total = 0;
  EXPECT_EQ(only(cma, facts).id, "cma-missing");
  // Usual on a PC.
  const EventRecord dma = event_of("dma_alloc_failure", R"({"dev":"0000:01:00.0","size":65536})");
  EXPECT_EQ(only(dma, facts).id, "dma-alloc-failure");
  facts.l4t = "36.4.7";
  EXPECT_EQ(only(dma, facts).id, "cma-missing");
  facts.l4t.clear();
  facts.cma_total = 1 << 20;
  EXPECT_EQ(only(cma, facts).id, "cma-too-small");

  MachineFacts arm32;
  arm32.is_32_bit_arm = true;
  EXPECT_EQ(only(event_of("page_alloc_failure", R"({"order":4})"), arm32).id, "lowmem-short");
  EXPECT_EQ(only(event_of("page_alloc_failure", R"({"order":0})"), arm32).id, "memory-exhausted");
  MachineFacts early;
  early.kernel = "4.8.12-040812-generic";
  const EventRecord kill =
      event_of("oom_kill", R"({"comm":"java","swap_total_kb":1000,"swap_free_kb":900})");
  EXPECT_THAT(only(kill, early).cause, HasSubstr("4.8.12"));
  EXPECT_THAT(only(kill).cause, Not(HasSubstr("4.")));
  MachineFacts stuck;
  stuck.backtrace_modules = {"v3d", "gpu_sched"};
  const Cause cause = only(event_of("hung_task", R"({"comm":"kworker/2:0"})"), stuck);
  EXPECT_EQ(cause.id, "task-stuck-gpu");
  EXPECT_THAT(cause.cause, HasSubstr("gpu_sched, v3d"));
}

// What comes with it decides: a reset makes the V3D's fault a real one.
TEST(Causes, AreChosenByTheOtherEvents) {
  const auto ids = [](const std::vector<EventRecord>& events) {
    std::vector<std::string> out;
    for (const Cause& each : explain_all(events)) out.push_back(each.id);
    return out;
  };
  const EventRecord fault = event_of("gpu_mmu_fault", R"({"dev":"fec00000.v3d","client":"CLE"})");
  const EventRecord hang = event_of("gpu_hang", R"({"dev":"fec00000.v3d"})");
  EXPECT_THAT(ids({fault}), ElementsAre("v3d-read-ahead"));
  EXPECT_THAT(ids({fault, hang}), testing::Contains("gpu-hung"));
  EXPECT_THAT(ids({fault, hang}), Not(testing::Contains("v3d-read-ahead")));
  for (const char* memory : {"dma_alloc_failure", "iova_exhausted", "swiotlb_full",
                             "page_alloc_failure", "driver_alloc_failure"}) {
    EXPECT_THAT(ids({event_of("camera_timeout", R"({"dev":"vi"})"), event_of(memory, "{}")}),
                testing::Contains("camera-no-memory"))
        << memory;
  }
  for (const char* access : {"smmu_context_fault", "smmu_v3_event", "mc_error"}) {
    EXPECT_THAT(ids({event_of("camera_timeout", R"({"dev":"vi"})"), event_of(access, "{}")}),
                testing::Contains("camera-access-fault"))
        << access;
  }
  const EventRecord task = event_of("hung_task", R"({"comm":"a"})");
  EXPECT_THAT(ids({task, event_of("zram_error", R"({"op":"write"})")}),
              testing::Contains("task-stuck-memory"));
  const EventRecord bad_block = event_of("storage_error", R"({"dev":"sda","error":"I/O error"})");
  EXPECT_THAT(ids({bad_block, bad_block}), ElementsAre("storage-error-single"));
  EXPECT_THAT(ids({bad_block, bad_block, bad_block}), ElementsAre("storage-failing"));
  EXPECT_THAT(ids({task, bad_block}), testing::Contains("task-stuck-storage"));
}

// The driver takes a program's channels from it after an error, of which it says no more.
TEST(Causes, RemovedChannelsAreOfTheXidBefore) {
  const std::string halted = "NVRM: Xid (PCI:0000:0a:00): 62, pid=1, name=a, 2023b230 00000000\n";
  const std::string removed = "NVRM: Xid (PCI:0000:0a:00): 45, pid=1, name=a, Ch 00000008\n";
  const std::vector<Cause> causes = explain_log("[  70.687545] " + halted + "[  70.7] " + removed);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].id, "xid-microcontroller");
  EXPECT_EQ(causes[0].events, 2U);
  EXPECT_THAT(causes[0].cause, HasSubstr("62"));
  EXPECT_THAT(ids_of_log(removed), ElementsAre("xid-removed"));
  EXPECT_THAT(ids_of_log("[  70.7] " + halted + "[ 9970.7] " + removed),
              ElementsAre("xid-microcontroller", "xid-removed"));
  EXPECT_THAT(ids_of_log("NVRM: Xid (PCI:0000:0b:00): 62, x\n" + removed),
              ElementsAre("xid-microcontroller", "xid-removed"))
      << "of another GPU";
  EXPECT_THAT(ids_of_log("NVRM: Xid (PCI:0000:0a:00): 31, pid=1, name=a, Ch 00000010, intr "
                         "00000000. MMU Fault: ENGINE CE2 HUBCLIENT_CE0 faulted @ 0x7f29_5b8c9000. "
                         "Fault is of type FAULT_PRIV_VIOLATION ACCESS_TYPE_VIRT_READ\n" +
                         removed),
              ElementsAre("gpu-access-denied"));
  EXPECT_THAT(
      ids_of_log(halted + "NVRM: Xid (PCI:0000:0a:00): 154, GPU recovery action\n" + removed),
      ElementsAre("xid-microcontroller"));
  // A kind without a cause of its own.
  const auto unknown = explain_log("NVRM: Xid (PCI:0000:0a:00): 38, x\n" + removed);
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_EQ(unknown[0].id, "xid-removed");
  EXPECT_THAT(unknown[0].cause, HasSubstr("after Xid 38"));
}

TEST(Causes, AGpusFaultIsTheRootOfWhatFollows) {
  const std::string fault =
      "panfrost ff9a0000.gpu: Unhandled Page fault in AS0 at VA 0x0000000107ED2CC0\n"
      "exception type 0xC1: TRANSLATION_FAULT_1\naccess type 0x2: READ\n";
  const auto causes = explain_log(
      fault +
      "panfrost ff9a0000.gpu: js fault, js=0, status=JOB_BUS_FAULT, head=0x8badcc0, tail=0x1\n"
      "panfrost ff9a0000.gpu: gpu sched timeout, js=0, config=0x3300, status=0x8, "
      "head=0x8bd1cc0\n");
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].id, "gpu-bad-address");
  EXPECT_EQ(causes[0].events, 2U);
  EXPECT_THAT(causes[0].remedy, Not(HasSubstr("compute-sanitizer")));
  EXPECT_EQ(causes[1].id, "gpu-hung");
  const auto nvgpu = explain_log(
      "nvgpu: 17000000.gpu f:294 [ERR] [MMU FAULT] mmu engine id: 18, ch id: 479, fault addr: 0x0, "
      "fault addr aperture: 0, fault type: invalid pde, access type: virt read,\n"
      "nvgpu: 17000000.gpu nvgpu_get_pte:1486 [ERR]  Failed!\n"
      "nvgpu: 17000000.gpu g:143 [ERR] error notifier set to 31 for ch 479 owned by consumer\n");
  ASSERT_EQ(nvgpu.size(), 2U);
  EXPECT_EQ(nvgpu[0].id, "gpu-bad-address");
  EXPECT_THAT(nvgpu[0].cause, HasSubstr("consumer"));
  EXPECT_THAT(nvgpu[0].remedy, HasSubstr("compute-sanitizer"));
}

// A CPU that stands still takes no interrupts.
TEST(Causes, AStalledCpuIsTheRootOfLateAnswers) {
  const std::string stall =
      "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n"
      "rcu:     0-...0: (1 GPs behind) idle=2b4/1/0x4000000000000000\n"
      "Task dump for CPU 0:\n"
      "task:cuda-EvtHandlr  state:R  running task\n";
  const std::string late =
      "nvme nvme0: I/O 12 QID 4 timeout, completion polled\n"
      "tegra-mc 2c00000.memory-controller: BPMP transfer failed: -110\n";
  const auto causes = explain_log(stall + late);
  std::vector<std::string> ids;
  for (const Cause& each : causes) ids.push_back(each.id);
  EXPECT_THAT(ids, ElementsAre("cpu-stuck", "firmware-late", "storage-interrupt-late"));
  ASSERT_FALSE(causes.empty());
  EXPECT_THAT(causes[0].cause, testing::AllOf(HasSubstr("CPU 0"), HasSubstr("cuda-EvtHandlr")));
  EXPECT_THAT(ids_of_log(late),
              testing::UnorderedElementsAre("firmware-hang", "storage-interrupt-lost"));
}

TEST(Causes, AHungTaskIsJudgedByItsBacktrace) {
  const std::string hung =
      "INFO: task swapper/0:1 blocked for more than 10 seconds.\n"
      "Call trace:\n"
      " __switch_to+0xc0/0x104\n";
  const auto causes = explain_log(hung +
                                  " drain_all_pages+0x1e4/0x210\n"
                                  " alloc_contig_range+0xdc/0x37c\n"
                                  " cma_alloc+0x190/0x2d4\n");
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].id, "task-stuck-cma");
  EXPECT_THAT(causes[0].cause, HasSubstr("alloc_contig_range"));
  EXPECT_THAT(ids_of_log(hung + " [<c01>] (try_to_free_pages) from [<c02>] (x+0x1/0x2)\n"
                                " try_to_free_pages.part.0+0x1e4/0x210\n"),
              ElementsAre("task-stuck-memory"));
  EXPECT_THAT(ids_of_log(hung + " schedule+0x1e4/0x210\n"), ElementsAre("task-stuck"));
  // Not the backtrace of the task.
  EXPECT_THAT(ids_of_log(hung + "------------[ cut here ]------------\n cma_alloc+0x190/0x2d4\n"),
              ElementsAre("task-stuck"));
}

// A fatal error of a PCIe device breaks no memory.
TEST(Causes, AnErrorOfOtherHardwareIsNotOfMemory) {
  EXPECT_FALSE(is_uncorrected_memory(EventFields(
      event_of("memory_error", R"({"ghes":1,"severity":"fatal","section_type":"PCIe error"})"))));
  EXPECT_TRUE(is_uncorrected_memory(EventFields(
      event_of("memory_error", R"({"ghes":1,"severity":"fatal","section_type":"memory error"})"))));
}

// The kernel kills another than who asked. What comes later for another reason is not nvmap's.
TEST(Causes, ABufferOfNvmapThatTheKernelKilledFor) {
  const EventRecord for_nvmap = event_of("oom_invoked", R"({"comm":"vlm","allocator":"nvmap"})");
  const EventRecord kill = event_of("oom_kill", R"({"comm":"sshd"})");
  const std::vector<Cause> one = explain_all({for_nvmap, kill});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].id, "oom-gpu-buffer");
  EXPECT_THAT(one[0].cause, testing::AllOf(HasSubstr("vlm"), HasSubstr("sshd")));
  EXPECT_THAT(one[0].remedy, HasSubstr("vlm"));
  const EventRecord itself = event_of("oom_kill", R"({"comm":"vlm"})");
  EXPECT_THAT(explain_all({for_nvmap, itself})[0].cause, Not(HasSubstr("killed for it: ")));
  const EventRecord other = event_of("oom_invoked", R"({"comm":"cc1plus"})");
  const std::vector<Cause> two = explain_all({for_nvmap, kill, other, kill});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[1].id, "memory-exhausted");
  EXPECT_THAT(two[1].cause, testing::AllOf(HasSubstr("cc1plus"), Not(HasSubstr("vlm"))));
}

// The log names the killed one, and not always who requested.
TEST(Causes, TheKilledProcessNeedNotHaveAsked) {
  const std::vector<Cause> causes = explain_log(
      "[ 2000.1] Out of memory: Killed process 42 (cron) total-vm:1000kB, "
      "anon-rss:400kB, file-rss:0kB, shmem-rss:0kB\n");
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].id, "memory-exhausted");
  EXPECT_THAT(causes[0].cause, testing::AllOf(HasSubstr("killed cron"), Not(HasSubstr("needed"))));
}

TEST(Causes, ReportsOfMemoryAreNotMixedUp) {
  const auto call = [](const std::string& time, int slab) {
    return "[" + time + "1] java invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), " +
           "order=0, oom_score_adj=0\n[" + time + "2] Mem-Info:\n[" + time +
           "3]  slab_reclaimable:9012 slab_unreclaimable:" + std::to_string(slab) + "\n[" + time +
           "4] 983040 pages RAM\n[" + time +
           "5] Out of memory: Killed process 99 (java) total-vm:900kB, anon-rss:500000kB, "
           "file-rss:0kB, shmem-rss:0kB\n";
  };
  const std::string early = "  100.00000";
  const std::string late = "90000.00000";
  for (const std::string& text :
       {call(early, 20'000) + call(late, 600'000), call(early, 600'000) + call(late, 20'000)}) {
    const std::vector<Cause> causes = explain_log(text);
    ASSERT_EQ(causes.size(), 2U) << text;
    for (const Cause& each : causes) EXPECT_EQ(each.events, 2U) << each.id;
    EXPECT_THAT(ids_of_log(text),
                testing::UnorderedElementsAre("oom-kernel-objects", "memory-exhausted"));
  }
  const auto report = [](const std::string& time, int slab) {
    return "[" + time + "2] Mem-Info:\n[" + time +
           "3]  slab_reclaimable:9012 slab_unreclaimable:" + std::to_string(slab) + "\n[" + time +
           "4] 983040 pages RAM\n";
  };
  const auto kill = [](const std::string& time) {
    return "[" + time + "5] Out of memory: Killed process 99 (java) total-vm:900kB, " +
           "anon-rss:500000kB, file-rss:0kB, shmem-rss:0kB\n";
  };
  const std::string soon = "  600.00000";
  // A kill whose call the kernel did not print, and one whose report alone it did.
  EXPECT_THAT(ids_of_log(call(early, 600'000) + kill(soon)),
              testing::UnorderedElementsAre("oom-kernel-objects", "memory-exhausted"));
  EXPECT_THAT(ids_of_log(call(early, 20'000) + report(soon, 600'000) + kill(soon)),
              testing::Contains("oom-kernel-objects"));
  // The report of a request that was refused is not of the kill before it.
  EXPECT_THAT(ids_of_log(kill(early) +
                         "[  105.000001] kworker/0:1: page allocation failure: order:4, "
                         "mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null)\n" +
                         report("  105.00000", 600'000)),
              Not(testing::Contains("oom-kernel-objects")));
}

TEST(Causes, TheLimitOfAControlGroupIsTheCauseOfTheWholeCall) {
  const std::string invoked =
      "[  500.000001] python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
      "oom_score_adj=0\n";
  const std::string group =
      "[  500.000002] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,"
      "mems_allowed=0,oom_memcg=/system.slice/vision.service,task_memcg=/system.slice/"
      "vision.service,task=python3,pid=42,uid=0\n"
      "[  500.000003] Memory cgroup out of memory: Killed process 42 (python3) total-vm:1000kB, "
      "anon-rss:400kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:100kB oom_score_adj:0\n";
  const std::vector<Cause> causes = explain_log(invoked + group);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].id, "oom-group-limit");
  EXPECT_THAT(causes[0].cause, HasSubstr(": /system.slice/vision.service;"));
  // The next call is the machine's own.
  const std::vector<Cause> both = explain_log(
      invoked + group +
      "[  900.000001] cc1plus invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
      "oom_score_adj=0\n"
      "[  900.000002] Out of memory: Killed process 43 (ld) total-vm:1000kB, anon-rss:400kB, "
      "file-rss:0kB, shmem-rss:0kB\n");
  ASSERT_EQ(both.size(), 2U);
  EXPECT_THAT(both[0].cause + both[1].cause,
              testing::AllOf(HasSubstr("vision.service"), HasSubstr("cc1plus needed")));
}

// As a kernel with NVIDIA's nvmap of L4T 36.4 printed it.
TEST(Causes, AnOomKillWithNvmapInItsBacktrace) {
  const std::vector<Cause> causes = explain_log(
      "[  153.059962] big invoked oom-killer: gfp_mask=0x2dc2(GFP_KERNEL|__GFP_HIGHMEM|"
      "__GFP_NOWARN|__GFP_ZERO), order=0, oom_score_adj=0\n"
      "[  153.060456] CPU: 0 PID: 10156 Comm: big Tainted: G           O       6.1.192-tegra #1 \n"
      "[  153.060982] Call trace:\n"
      "[  153.061109]  dump_backtrace.part.0+0xb8/0xc4\n"
      "[  153.061545]  out_of_memory+0x1c0/0x2f4\n"
      "[  153.061585]  __alloc_pages+0x75c/0xd74\n"
      "[  153.061630]  nvmap_alloc_pages_exact+0x50/0xd0 [nvmap]\n"
      "[  153.061711]  nvmap_alloc_handle+0x908/0xfa0 [nvmap]\n"
      "[  153.061774]  nvmap_ioctl_alloc+0x150/0x1e0 [nvmap]\n"
      "[  153.061837]  nvmap_ioctl+0x3ac/0x450 [nvmap]\n"
      "[  153.062108]  el0t_64_sync+0x148/0x14c\n"
      "[  153.062288] Mem-Info:\n"
      "[  153.064751] Free swap  = 514812kB\n"
      "[  153.064789] Total swap = 524284kB\n"
      "[  153.075294] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,"
      "global_oom,task_memcg=/,task=llama-server,pid=279,uid=0\n"
      "[  153.077010] Out of memory: Killed process 279 (llama-server) total-vm:41652kB, "
      "anon-rss:0kB, file-rss:104kB, shmem-rss:40960kB, UID:0 pgtables:120kB oom_score_adj:0\n");
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, "oom-gpu-buffer");
  EXPECT_THAT(causes[0].cause, testing::AllOf(HasSubstr("big"), HasSubstr("llama-server")));
}

TEST(Causes, ABusErrorExplainsWhatFollowsSoon) {
  EventRecord refused = event_of("bus_error", R"({"addr":"0x381031c","error":"SLAVE_ERR"})");
  EventRecord stall = event_of("soft_lockup", R"({"cpu":2,"seconds":23})");
  const auto has = [&](Nanoseconds first, Nanoseconds second, std::string_view id) {
    refused.at = first;
    stall.at = second;
    const auto causes = explain_all({refused, stall});
    return std::any_of(causes.begin(), causes.end(), [&](const Cause& c) { return c.id == id; });
  };
  using std::chrono::minutes;
  EXPECT_TRUE(has(minutes(1), minutes(10), "cpu-stuck-bus"));
  EXPECT_TRUE(has(minutes(1), minutes(20), "cpu-stuck"));
  EXPECT_TRUE(has(minutes(20), minutes(1), "cpu-stuck")) << "what came later is no reason";
}

TEST(Causes, ALineThatWasCutAddsNothingToAWholeOne) {
  // Without fields nothing is known but the kind.
  const EventRecord cut = event_of("bus_error", "");
  const EventRecord whole = event_of("bus_error", R"({"addr":"0x381031c","error":"SLAVE_ERR"})");
  ASSERT_EQ(only(cut).id, "bus-error");
  const auto causes = explain_all({cut, whole});
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].id, "bus-access-refused");
  EXPECT_EQ(causes[0].events, 2U);
}

TEST(Causes, APcHasNoSmmuAndNoDeviceTree) {
  for (const char* fault : {"configuration", "permission", "address size", "external abort",
                            "translation", "translation or permission"}) {
    const Cause cause = only(event_of("smmu_context_fault",
                                      R"({"dev":"AMD-Vi","fault":")" + std::string(fault) + "\"}"));
    EXPECT_THAT(cause.cause + cause.remedy, Not(HasSubstr("SMMU"))) << fault;
    EXPECT_THAT(cause.cause + cause.remedy, Not(HasSubstr("device tree"))) << fault;
  }
}

TEST(Causes, AnUnpluggedCardIsNoLostLink) {
  EXPECT_EQ(only(event_of("gpu_xid", R"({"xid":54})")).id, "xid-power");
  EXPECT_EQ(only(event_of("gpu_xid", R"({"xid":79})")).id, "xid-bus");
}

TEST(Causes, AnSErrorStallsCpus) {
  const std::string serror =
      "[  382.132025] CPU1: SError detected, daif=140, spsr=0x40000045, mpidr=80000001, "
      "esr=bf000002\n";
  const std::string stall =
      "[  403.142401] INFO: rcu_preempt detected stalls on CPUs/tasks:\n"
      "[  403.164264]  (detected by 0, t=5252 jiffies, g=2309, c=2308, q=148)\n";
  EXPECT_THAT(ids_of_log(serror + stall), testing::UnorderedElementsAre("serror", "cpu-stuck-bus"));
  EXPECT_THAT(ids_of_log(stall), ElementsAre("cpu-stuck"));
  EXPECT_THAT(ids_of_log("[  381.0] EDAC MC0: 1 UE memory read error on DIMM_A1 (channel:2 slot:0 "
                         "page:0x0 offset:0x0 grain:8)\n" +
                         serror),
              testing::UnorderedElementsAre("ecc-uncorrected", "serror-memory"));
  // A DMA engine that hangs explains no stall.
  EXPECT_THAT(ids_of_log("[  381.0] tegra-gpcdma 2600000.dma-controller: Timeout waiting for DMA "
                         "burst completion!\n" +
                         stall),
              testing::UnorderedElementsAre("dma-engine-timeout", "cpu-stuck"));
}

// Only the kind is known, or what was left of a cut line: nothing was tested.
TEST(Causes, WithoutFieldsAreThoseOfTheKind) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    std::string id(info.name);
    std::replace(id.begin(), id.end(), '_', '-');
    for (const char* fields : {"", "{}"}) {
      const std::vector<Cause> causes = explain_all(
          {event_of(std::string(info.name), fields, "errno 14 nvreleasefd uvc acr flush")});
      ASSERT_EQ(causes.size(), 1U) << info.name;
      EXPECT_EQ(causes[0].id, id);
    }
  }
}

TEST(Causes, GspIsOnlyDisabledOnACard) {
  MachineFacts jetson;
  jetson.kernel = "6.8.12-tegra";
  const EventRecord xid = event_of("gpu_xid", R"({"xid":119})");
  EXPECT_THAT(only(xid).remedy, HasSubstr("NVreg_EnableGpuFirmware"));
  EXPECT_THAT(only(xid, jetson).remedy, Not(HasSubstr("NVreg_EnableGpuFirmware")));
}

// The time alone says nothing: a video codec is refused at boot as well.
TEST(Causes, OnlyAFrameBuffersCmaRefusalIsHarmless) {
  EventRecord event = event_of("cma_alloc_failure", R"({"pages":2025,"errno":12})");
  event.at = std::chrono::milliseconds(125);
  EXPECT_EQ(only(event).id, "cma-refused");
  event.fields = R"({"pages":2025,"errno":12,"harmless":true})";
  EXPECT_EQ(only(event).id, "cma-boot-fallback");
  EXPECT_EQ(only(event).harm, Harm::kNone);
  EXPECT_THAT(ids_of_log("[    1.91] cma: cma_alloc: linux,cma: alloc failed, req-size: 4096 "
                         "pages, ret: -12\n"),
              ElementsAre("cma-refused"));
}

TEST(Causes, EventsOfOneCauseAndDeviceAreOne) {
  std::vector<EventRecord> events(5, event_of("iova_exhausted", R"({"dev":"a"})"));
  events.push_back(event_of("iova_exhausted", R"({"dev":"b"})"));
  events[0].count = 10;
  const std::vector<Cause> causes = explain_all(events);
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].events, 14U);
  EXPECT_EQ(causes[1].device, "b");
  // Those of jetmem's own probe need no explanation.
  events.resize(1);
  events[0].origin = "probe";
  EXPECT_TRUE(explain_all(events).empty());
}

TEST(Causes, TextsAreFilled) {
  const Values values{{"a", "1"}, {"b", "2"}};
  EXPECT_EQ(fill("x {a}{? and {b}}{? or {c}}.", values), "x 1 and 2.");
  EXPECT_EQ(fill("{?{a}{? or {c}}}", values), "");
  EXPECT_EQ(fill("{dev} {", values), "a device an unknown value");
}

TEST(Causes, BrokenFieldsAreNone) {
  for (const char* fields :
       {"", "[", "[1]", "{\"size\":", "{\"size\":null}", "{\"dev\":{}}", "{\"size\":\"0x\"}",
        "{\"errno\":1e300}", "{\"dev\":\"\\u001b[2J\"}"}) {
    const Cause cause = only(event_of("swiotlb_full", fields));
    EXPECT_FALSE(cause.cause.empty()) << fields;
    EXPECT_THAT(cause.cause, Not(HasSubstr("\x1b"))) << fields;
  }
}

TEST(KindCare, EveryKindHasAStepARunbookAndARuleOrAReason) {
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    const KindCare* const care = care_of(info.name);
    ASSERT_NE(care, nullptr) << info.name << " is missing in kind_care.cc";
    EXPECT_FALSE(care->step.empty()) << info.name;
    EXPECT_EQ(care->runbook.empty(), info.name == "custom") << info.name;
    EXPECT_NE(care->rule.empty(), care->no_rule.empty()) << info.name;
  }
}

TEST(KnownIssues, TheShippedOnesAreValid) {
  const KnownIssues& shipped = shipped_known_issues();
  for (const ConfigError& error : shipped.errors) ADD_FAILURE() << error.message;
  EXPECT_GT(shipped.issues.size(), 8U);
}

TEST(KnownIssues, MatchByReleaseAndSign) {
  const auto ids = [](const std::string& l4t, const std::string& kernel) {
    MachineFacts facts;
    facts.l4t = l4t;
    facts.kernel = kernel;
    std::string out;
    for (const Cause& each :
         explain_all({event_of("hung_task", R"({"comm":"kworker/2:0","workqueue":"host1x v3d"})")},
                     facts)) {
      out += each.id + " ";
    }
    return out;
  };
  EXPECT_THAT(ids("", "6.18.34+rpt-rpi-v8"), HasSubstr("v3d-reset-6.18"));
  EXPECT_THAT(ids("", "6.12.1"), Not(HasSubstr("v3d-reset-6.18")));
  // Which release it is may be unknown: then the words say for which it holds.
  const auto of_tensorrt = [](const std::string& l4t) {
    MachineFacts facts;
    facts.l4t = l4t;
    std::string out;
    for (const Cause& each :
         explain_all({event_of("cuda_alloc_failure", R"({"library":"tensorrt"})")}, facts)) {
      if (each.id == "l4t-36-myelin-scratch") out = each.cause;
    }
    return out;
  };
  EXPECT_THAT(of_tensorrt("36.5.0"), Not(HasSubstr("Known issue, if")));
  EXPECT_THAT(of_tensorrt(""), HasSubstr("Known issue, if this is L4T 36.4.7 or 36.5.0"));
  EXPECT_EQ(of_tensorrt("36.4.4"), "");
  EXPECT_EQ(known_issues_of_release("36.4.7").size(), 1U);
  EXPECT_TRUE(known_issues_of_release("36.4.4").empty());
  EXPECT_TRUE(known_issues_of_release("").empty());
  const KnownIssues family = parse_known_issues(
      "f",
      "known_issues:\n"
      "  - {id: a, l4t: 36.4.x, by_release: true, cause: c, remedy: r, runbook: nvmap-cap, source: "
      "s}\n");
  EXPECT_EQ(known_issues_of_release("36.4.3", family).size(), 1U);
  EXPECT_TRUE(known_issues_of_release("36.40.1", family).empty());
  EXPECT_TRUE(known_issues_of_release("36.5.0", family).empty());
}

// A sign that other programs and boards print too does not make it theirs.
TEST(KnownIssues, NeedTheirProgramBoardAndFields) {
  const auto issues = [](const EventRecord& event, const MachineFacts& facts) {
    std::string out;
    for (const Cause& each : explain_all({event}, facts)) {
      if (!each.link.empty()) out += each.id + ": " + each.cause + " ";
    }
    return out;
  };
  const EventRecord stale = event_of("nvbufsurface", R"({"function":"NvReleaseFd","fd":1292})");
  MachineFacts facts;
  EXPECT_EQ(issues(stale, facts), "");
  facts.programs = {"jetson-inference"};
  EXPECT_THAT(issues(stale, facts), HasSubstr("jetson-utils-nvmm"));

  const EventRecord mask =
      event_of("dma_map_failure", R"({"dev":"0001:01:00.0","mask":"0xffffffff"})");
  EXPECT_EQ(issues(mask, {}), "");
  facts.programs = {"nouveau"};
  EXPECT_THAT(issues(mask, facts), HasSubstr("Known issue, if this is a Raspberry Pi 5"));
  facts.board = "Raspberry Pi 5 Model B Rev 1.0";
  EXPECT_THAT(issues(mask, facts), HasSubstr("pi5-nouveau-mask: nouveau"));
  facts.board = "ASUS X670E";
  EXPECT_EQ(issues(mask, facts), "");

  EXPECT_EQ(issues(event_of("program_alloc_failure", R"({"library":"go","errno":14})"), {}), "");
  EXPECT_THAT(issues(event_of("program_alloc_failure", R"({"library":"rknn","errno":14})"), {}),
              HasSubstr("rknpu-before-0.9.7"));

  facts.kernel = "4.8.12";
  EXPECT_EQ(issues(event_of("oom_kill", R"({"comm":"java","swap_free_kb":0})"), facts), "");
  EXPECT_THAT(issues(event_of("oom_kill", R"({"comm":"java","swap_free_kb":9})"), facts),
              HasSubstr("java-oom-4.8: Kernels"));
  EXPECT_THAT(issues(event_of("oom_kill", R"({"comm":"java"})"), facts),
              HasSubstr("if swap was still free"));
}

TEST(KnownIssues, WhatIsWrongInTheFileIsSaid) {
  const std::string whole =
      "known_issues:\n"
      "  - {id: a, l4t: 36.4.7, kinds: nvmap, cause: c, remedy: r, runbook: nvmap-cap, source: "
      "s}\n";
  EXPECT_EQ(parse_known_issues("f", whole).issues.size(), 1U);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"id: a, ", ""},
           {"id: a, ", "id: a, fields: errno, "},
           {"id: a", "id: A b"},
           {"36.4.7", "36.4.x.1"},
           {"kinds: nvmap", "kinds: nvmapp"},
           {", source: s", ""},
           {"source: s", "links: ftp://x"},
           {"cause: c", "why: c"},
           {"remedy: r, ", ""},
           {"kinds: nvmap, ", ""},
           {"known_issues:\n", "known_issues: 3\nrest:\n"}}) {
    std::string broken = whole;
    ASSERT_NE(broken.find(from), std::string::npos) << from;
    broken.replace(broken.find(from), from.size(), to);
    const KnownIssues parsed = parse_known_issues("f", broken);
    EXPECT_FALSE(parsed.errors.empty()) << broken;
    EXPECT_TRUE(parsed.issues.empty()) << broken;
  }
}

TEST(LogFacts, OfTheMachineFromItsLog) {
  const std::string text =
      "[    0.000000] Linux version 5.15.148-tegra (buildbrain@mobile-u64)\n"
      "[    0.000000] Kernel command line: root=/dev/mmcblk0p1 swiotlb=65535 cma=256M\n"
      "[    0.000000] software IO TLB: mapped [mem 0xf7fff000-0xfffff000] (128MB)\n"
      "[    0.000000] cma: Reserved 256 MiB at 0x00000000f0000000\n"
      "# R36 (release), REVISION: 4.7, GCID: 41062509, BOARD: generic\n"
      "[ 8338.504182]  v3d_bin_job_timedout+0x80/0xa0 [v3d]\n"
      "[ 8338.504221]  drm_sched_job_timedout+0x80/0x180 [gpu_sched]\n"
      "CUDA0: Orin (15655 MiB, 12229 MiB free)\n"
      "nvgpu: 17000000.gpu nvgpu_x:12 [ERR] a+0x1/0x2 [ERR]\n";
  for (const std::size_t piece : {text.size(), std::size_t{1}, std::size_t{7}}) {
    LogFacts log;
    for (std::size_t at = 0; at < text.size(); at += piece) log.feed(text.substr(at, piece));
    log.finish();
    const MachineFacts& facts = log.facts();
    EXPECT_EQ(facts.kernel, "5.15.148-tegra");
    EXPECT_EQ(facts.l4t, "36.4.7");
    EXPECT_THAT(facts.command_line, HasSubstr("swiotlb=65535"));
    EXPECT_EQ(facts.swiotlb_bytes, 128.0 * (1 << 20));
    EXPECT_EQ(facts.cma_total, 256.0 * (1 << 20));
    EXPECT_THAT(facts.backtrace_modules, ElementsAre("gpu_sched", "v3d"));
    EXPECT_FALSE(facts.is_32_bit_arm);
    EXPECT_EQ(facts.gpu_free, 12229.0 * (1 << 20));
  }
}

// What was free when a program was refused: not swap, not what another program prints later.
TEST(LogFacts, FreeGpuMemoryBeforeTheRefusal) {
  const auto free_of = [](const std::string& text) {
    LogFacts log;
    log.feed(text);
    log.finish();
    return log.facts().gpu_free;
  };
  constexpr double kMiB = 1 << 20;
  EXPECT_NEAR(free_of("CUDA0: Orin, 120.44 MiB free\n").value_or(0), 120.44 * kMiB, 1);
  EXPECT_EQ(free_of("swap: 4096 MiB, 800 MiB free\n"), std::nullopt);
  EXPECT_EQ(free_of("GPU 0: 900 MiB free\nGPU 0: 700 MiB free\ncudaMalloc failed: out of memory\n"
                    "GPU 0: 6000 MiB free\n"),
            700 * kMiB);
}

TEST(LogFacts, OtherWaysToSayIt) {
  const auto facts_of_line = [](const std::string& line) {
    LogFacts log;
    log.feed(line);
    log.finish();
    return log.facts();
  };
  EXPECT_EQ(facts_of_line("[2.0] CPU: 3 PID: 118 Comm: kworker/3:1H Tainted: G         C        "
                          "4.19.63-v8-g75f1d14ce #1")
                .kernel,
            "4.19.63-v8-g75f1d14ce");
  EXPECT_EQ(facts_of_line("ii  nvidia-l4t-core 36.4.7-20250918154033 arm64").l4t, "36.4.7");
  EXPECT_EQ(facts_of_line("Jetson Orin Nano, L4T 36.5.0.").l4t, "36.5.0");
  EXPECT_EQ(facts_of_line("L4T is fine").l4t, "");
  EXPECT_EQ(facts_of_line("CmaTotal:         262144 kB").cma_total, 262144.0 * 1024);
  EXPECT_TRUE(facts_of_line("[<c0013e1c>] (unwind_backtrace+0x0/0xf0) from [<c008e01c>] (x)")
                  .is_32_bit_arm);
  const std::string overlong(1 << 20, 'x');
  EXPECT_EQ(facts_of_line(overlong + "\nLinux version 6.1.0 x\n").kernel, "6.1.0");
}

}  // namespace
}  // namespace jetmem::diagnosis
