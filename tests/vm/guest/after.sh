# SPDX-License-Identifier: Apache-2.0
# After the orderly one: what was recorded is there, and the end was clean.
within 60 sh -c 'systemctl is-system-running | grep -q running'
within 30 curl -sf http://127.0.0.1:10743/readyz >/dev/null || bad "jetmemd is not ready after the reboot"
remembered || exit 0
jetmem boots
jetmem events --since -30m | tail -n 12
jetmem events --since -30m | grep -q 'before the reboot' || bad "the mark from before is gone"
clean() { [ "$(metric 'jetmem_boot_last_shutdown{clean="yes"}')" = 1 ]; }
within 20 clean && good - "the reboot is known to have been asked for" || bad "jetmem_boot_last_shutdown: $(grep '^jetmem_boot_last_shutdown' /tmp/page | tr '\n' ' ')"
