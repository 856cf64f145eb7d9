# SPDX-License-Identifier: Apache-2.0
# A memory controller, a GPU's driver and the kernel's allocation profile, by the kernel's own code: jetmem_sources.
limit=1500
settings=/etc/jetmem/conf.d/50-sources.yaml
lab=/sys/module/jetmem_sources/parameters
mkdir -p /etc/jetmem/conf.d
printf 'sources:\n  edac:\n    interval: 5s\n  allocinfo:\n    interval: 1m\n' >$settings
insmod $share/modules/jetmem_sources.ko || { bad "the lab's module does not load"; exit 0; }
systemctl restart jetmemd
is() { value=$(metric "$1") && [ -n "$value" ] && [ "$(printf %.0f "$value")" = "$2" ]; }
ls /sys/devices/system/edac/mc/mc0 /dev/dri
wrong=
equal() { within 30 is "$1" "$2" || wrong="$wrong $1 is ${value:-absent}, not $2;"; }
equal 'jetmem_edac_ecc{controller="mc0",mode="SECDED"}' 1
equal 'jetmem_edac_errors_total{controller="mc0",error="corrected"}' 0
[ -z "$wrong" ] && good - "mc0 is there, with ECC, without errors" || bad "$wrong"
wrong=
begin=$(now)
echo 3 >$lab/corrected; echo 2 >$lab/unlocated; echo 1 >$lab/uncorrected
equal 'jetmem_edac_errors_total{controller="mc0",error="corrected"}' 5
equal 'jetmem_edac_errors_total{controller="mc0",error="uncorrected"}' 1
equal 'jetmem_edac_unlocated_errors_total{controller="mc0",error="corrected"}' 2
equal 'jetmem_edac_module_errors_total{controller="mc0",error="corrected",label="DIMM_B",module="dimm1"}' 3
equal 'jetmem_edac_module_errors_total{controller="mc0",error="uncorrected",label="DIMM_A",module="dimm0"}' 1
[ -z "$wrong" ] && good "$(minus "$(now)" "$begin")" "5 corrected errors, 3 of DIMM_B, and 1 uncorrected of DIMM_A are on the page" || { bad "$wrong"; grep '^jetmem_edac' /tmp/page; }
dmesg | grep EDAC | tail -n 4
named=$(alert_after "$begin" JetmemMemoryErrorUncorrected 60) && good "$named" "JetmemMemoryErrorUncorrected, by the log" || bad "JetmemMemoryErrorUncorrected does not fire"
jetmem doctor --all >/tmp/doctor 2>&1; sed -n '/(hardware)/,/^[a-z].*(/p' /tmp/doctor
tr -s ' \n' ' ' </tmp/doctor >/tmp/words
grep -q 'mc0: 1 uncorrected memory error .*DIMM_A (mc0): 1 uncorrected.*ECC is on' /tmp/words && grep -q 'DIMM_B (mc0): 3 corrected' /tmp/words && good - "jetmem doctor names both modules, their errors, and ECC" || bad "jetmem doctor does not name the modules"

begin=$(now)
hog --unit=render -p StandardOutput=file:/tmp/render $share/tools/drm_take jetmem-gpu 24 12 8
within 20 grep -q has /tmp/render || { bad "drm_take: $(cat /tmp/render)"; exit 0; }
cat /proc/"$(systemctl show -P MainPID render)"/fdinfo/[0-9]* | grep drm-
wrong=
equal_soon() { within 90 is "$1" "$2" || wrong="$wrong $1 is ${value:-absent}, not $2;"; }
# A buffer has its pages as soon as one of them is touched; the shared one has none yet.
equal_soon 'jetmem_drm_bytes{driver="jetmem-gpu",kind="total",region="memory"}' $((32 << 20))
equal 'jetmem_drm_bytes{driver="jetmem-gpu",kind="resident",region="memory"}' $((24 << 20))
equal 'jetmem_drm_bytes{driver="jetmem-gpu",kind="shared",region="memory"}' $((8 << 20))
equal 'jetmem_drm_process_bytes{command="drm_take",driver="jetmem-gpu",region="memory"}' $((24 << 20))
[ -z "$wrong" ] && good "$(minus "$(now)" "$begin")" "32 MiB requested, 24 of them resident, 8 shared: jetmem_drm_bytes" || { bad "$wrong"; grep '^jetmem_d[rm]' /tmp/page; }
jetmem top --gpu >/tmp/gpu 2>&1; cat /tmp/gpu
tr -s ' \n' ' ' </tmp/gpu >/tmp/words
grep -q 'jetmem-gpu memory (all) 24 MiB 32 MiB requested, 8 MiB shared drm_take 24 MiB' /tmp/words && good - "jetmem top --gpu: drm_take has 24 MiB" || bad "jetmem top --gpu: $(sed -n '/DRM/,$p' /tmp/gpu)"
systemctl stop render

begin=$(now)
echo 24576 >$lab/kernel_kb
grep jetmem_sources /proc/allocinfo
sum=$(awk '/\[jetmem_sources\]/ {sum += $1} END {print sum}' /proc/allocinfo)
# Some seconds of reading in a slow machine mean ten minutes until the next.
within 650 is 'jetmem_kernel_allocated_bytes{module="yes",part="jetmem_sources"}' "$sum" && good "$(minus "$(now)" "$begin")" "$sum bytes of jetmem_sources in /proc/allocinfo are on the page" || { bad "jetmem_kernel_allocated_bytes of jetmem_sources is ${value:-absent}, not $sum"; page; grep kernel_allocated /tmp/page; }
jetmem map >/tmp/map 2>&1; sed -n '/ALLOCATED BY/,/^$/p' /tmp/map
grep -q '\[jetmem_sources\]  *24 MiB' /tmp/map && good - "jetmem map: $(grep 'jetmem_sources' /tmp/map | tr -s ' ')" || bad "jetmem map does not name jetmem_sources"
echo 0 >$lab/kernel_kb
jetmem status
rm $settings
systemctl reload jetmemd
