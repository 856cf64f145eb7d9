# SPDX-License-Identifier: Apache-2.0
# The genuine zones and cooling devices, with another answer of the firmware: the GPU and the junction are at 101.5 C.
cool=$(cat /sys/module/nvstub/parameters/temps)
begin=$(now)
echo 48250,101500,-999999,-999999,-999999,45000,-999999,45500,101500 >/sys/module/nvstub/parameters/temps
hot() { page && grep '^jetmem_thermal_zone_celsius{' /tmp/page | grep tj-thermal | grep -q ' 101.5$'; }
within 30 hot && good "$(minus "$(now)" "$begin")" "101.5 C of zone tj-thermal on the page" || { bad "the page has no 101.5 C"; grep '^jetmem_thermal' /tmp/page; }
named() { jetmem events --since 5m >/tmp/events 2>&1; grep -q 'tj-throttle-alert' /tmp/events; }
within 30 named && good "$(minus "$(now)" "$begin")" "the kernel's line of tj-throttle-alert is an event" || { bad "jetmem events does not name tj-throttle-alert"; dmesg | grep -i thermal | tail; }
grep -B 1 -A 2 tj-throttle-alert /tmp/events
after=$(alert_after "$begin" JetmemThrottling 120) && good "$after" "throttled: JetmemThrottling (a minute of that is its own for)" || { bad "JetmemThrottling does not fire"; grep '^jetmem_throttl' /tmp/page; }
echo "$cool" >/sys/module/nvstub/parameters/temps
