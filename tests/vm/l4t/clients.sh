# SPDX-License-Identifier: Apache-2.0
# What a camera daemon, a model and two holders without a client were given by nvmap is what jetmem reports.
lab() { unit=$1; shift; hog --unit="$unit" -p "StandardOutput=file:/tmp/$unit" $share/tools/nvlab "as:$unit" "$@"; }
settled() { for unit in "$@"; do within 30 grep -q waits /tmp/$unit || { bad "$unit: $(tail -n 1 /tmp/$unit)"; return 1; }; done; }
begin=$(now)
lab nvargus-daemon label:d00:camera a:12M:iovmm a:12M:iovmm a:4K:iovmm a:70001:iovmm a:3M:generic a:5M:vpr a:1M:fsi a:100K:gpu
lab llama-server a:40M:iovmm:f00 map:0:touch
lab orphaner a:6M:iovmm:a00 send:0:/tmp/s1 quit
lab fdholder recv:/tmp/s1
lab mapper a:7M:iovmm map:0:touch closefd:0 f:0 close
settled nvargus-daemon llama-server fdholder mapper || exit 0
cat /tmp/nvargus-daemon /tmp/llama-server /tmp/fdholder /tmp/mapper
# In whole pages; of the GPU's carve-out in granules of 64 KiB.
iovmm=$(((40 + 24 + 6 + 7) * 1048576 + (4 + 72) * 1024))
total=$((iovmm + (3 + 5 + 1) * 1048576 + 128 * 1024))
is() { value=$(metric "$1") && [ -n "$value" ] && [ "$(printf %.0f "$value")" = "$2" ]; }
within 90 is jetmem_nvmap_total_bytes $total &&
  good "$(minus "$(now)" "$begin")" "$total bytes were allocated: jetmem_nvmap_total_bytes has them all" || bad "jetmem_nvmap_total_bytes is ${value:-absent}, $total were allocated"
wrong=
equal() { is "$1" "$2" || wrong="$wrong $1 is ${value:-absent}, not $2;"; }
equal 'jetmem_nvmap_heap_bytes{heap="iovmm"}' $iovmm
equal 'jetmem_nvmap_heap_bytes{heap="generic-0"}' $((3 * 1048576))
equal 'jetmem_nvmap_heap_bytes{heap="gpu"}' $((128 * 1024))
equal 'jetmem_nvmap_orphan_bytes{heap="iovmm"}' $((13 * 1048576))
equal 'jetmem_nvmap_carveout_free_bytes{heap="vpr"}' $((251 * 1048576))
equal 'jetmem_nvmap_process_bytes{heap="iovmm",process="llama-server"}' $((40 * 1048576))
equal 'jetmem_nvmap_process_bytes{heap="iovmm",process="nvargus-daemon"}' $((24 * 1048576 + 76 * 1024))
[ -z "$wrong" ] && good - "heaps, processes, orphans and carve-outs on the page are what was allocated" || { bad "the page:$wrong"; grep '^jetmem_nvmap' /tmp/page; }
# The programs' own words: who has how much.
# A newcomer among the holders is named after three readings in a row.
held() { jetmem top --gpu >/tmp/nvmap 2>&1; tr -s ' \n' ' ' </tmp/nvmap | grep -q 'mappings of mapper 7 MiB, fdholder 6 MiB'; }
within 120 held || true
jetmem top >/tmp/top 2>&1; jetmem doctor --all >/tmp/doctor 2>&1
cat /tmp/nvmap; sed -n 1,40p /tmp/top; grep -A 16 'GPU memory (gpu_memory)' /tmp/doctor
grep -q ' llama-server  *40 MiB' /tmp/nvmap && held &&
  good - "jetmem top --gpu: llama-server 40 MiB; without a client fdholder 6 MiB, mapper 7 MiB" || bad "jetmem top --gpu does not name them"
# Mapped buffers are in RESIDENT too, and count once.
awk '$2 == "llama-server" && $4 >= 40 && $4 < 44 {found = 1} END {exit !found}' /tmp/top &&
  good - "jetmem top: $(awk '$2 == "llama-server" {print $2, "has", $4, $5, "in all"; exit}' /tmp/top)" || bad "jetmem top: $(grep llama-server /tmp/top)"
tr -s ' \n' ' ' </tmp/doctor | grep -q 'Largest holder: llama-server, 40 MiB' && good - "jetmem doctor: the largest holder is llama-server, 40 MiB" || bad "jetmem doctor does not name llama-server"
