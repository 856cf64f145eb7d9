# SPDX-License-Identifier: Apache-2.0
# A temperature that the kernel's own emulation makes.
lab=/sys/module/jetmem_lab/parameters
[ -d $lab ] || insmod $share/modules/jetmem_lab.ko || { bad "the lab's module does not load"; exit 0; }
zone=$(dirname "$(grep -l cpu-thermal /sys/class/thermal/thermal_zone*/type | head -n 1)")
begin=$(now)
echo 101000 >$zone/emul_temp || bad "no emul_temp"
hot() { page && grep '^jetmem_thermal_zone_celsius{.*cpu-thermal' /tmp/page | grep -q ' 101$'; }
within 90 hot && good "$(minus "$(now)" "$begin")" "101 C by emul_temp on the page" || { bad "the page has no 101 C"; grep '^jetmem_thermal' /tmp/page; }
echo 0 >$zone/emul_temp
