# SPDX-License-Identifier: Apache-2.0
# Zones that are there, heat, and a driver that does not answer.
lab=/sys/module/jetmem_lab/parameters
[ -d $lab ] || insmod $share/modules/jetmem_lab.ko || { bad "the lab's module does not load"; exit 0; }
there() { page && grep -q '^jetmem_thermal_zone_celsius{.*tj-thermal' /tmp/page; }
within 90 there || bad "zone tj-thermal is not on the page"
begin=$(now)
echo 97500 >$lab/temp
hot() { page && grep '^jetmem_thermal_zone_celsius{' /tmp/page | grep tj-thermal | grep -q ' 97.5$'; }
within 30 hot && good "$(minus "$(now)" "$begin")" "97.5 C of zone tj-thermal on the page" || { bad "the page has no 97.5 C"; grep thermal /tmp/page | grep -v '^#' | head; }
echo 45000 >$lab/temp
