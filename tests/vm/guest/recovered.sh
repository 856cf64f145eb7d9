# SPDX-License-Identifier: Apache-2.0
# After the end without a word.
within 60 sh -c 'systemctl is-system-running | grep -q running'
within 30 curl -sf http://127.0.0.1:10743/readyz >/dev/null || bad "jetmemd is not ready after the crash"
[ "$(cat /proc/sys/kernel/random/boot_id)" != "$(cat $share/boot_id)" ] || { bad "it is the same boot"; exit 0; }
unclean() { [ "$(metric 'jetmem_boot_last_shutdown{clean="no"}')" = 1 ]; }
within 20 unclean && good - "the end without a word is known for one" || bad "jetmem_boot_last_shutdown: $(grep '^jetmem_boot_last_shutdown' /tmp/page | tr '\n' ' ')"
jetmem history jetmem_meminfo_MemFree_bytes --since -30m --csv | grep '^jetmem_meminfo_MemFree_bytes,' >/tmp/points
points=$(wc -l </tmp/points)
grep -q ",$(cut -c1-18 $share/oldest)" /tmp/points || bad "the oldest point, of $(cat $share/oldest), is gone"
[ "$points" -ge "$(cat $share/points)" ] && good - "the recorder opens its file: $points points" || bad "$points points are left of $(cat $share/points)"
journalctl -u jetmemd -b -q -o cat | grep -i 'damaged\|corrupt\|quarantine' && bad "the recorder's file was set aside"
after=$(alert_after 0 JetmemDeviceRebootedUncleanly 60) && good "$after" "JetmemDeviceRebootedUncleanly (seconds since boot)" || bad "JetmemDeviceRebootedUncleanly does not fire"
jetmem boots
