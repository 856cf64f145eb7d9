# SPDX-License-Identifier: Apache-2.0
# After the end without a word.
within 60 sh -c 'systemctl is-system-running | grep -q running'
within 30 curl -sf http://127.0.0.1:10743/readyz >/dev/null || bad "jetmemd is not ready after the crash"
remembered || exit 0
unclean() { [ "$(metric 'jetmem_boot_last_shutdown{clean="no"}')" = 1 ]; }
within 20 unclean && good - "the end without a word is known for one" || bad "jetmem_boot_last_shutdown: $(grep '^jetmem_boot_last_shutdown' /tmp/page | tr '\n' ' ')"
journalctl -u jetmemd -b -q -o cat | grep -i 'damaged\|corrupt\|quarantine' && bad "the recorder's file was set aside"
after=$(alert_after 0 JetmemDeviceRebootedUncleanly 60) && good "$after" "JetmemDeviceRebootedUncleanly (seconds since boot)" || bad "JetmemDeviceRebootedUncleanly does not fire"
jetmem boots
