# SPDX-License-Identifier: Apache-2.0
# The same package once more, as an upgrade does it; then it is removed, and purged.
pid=$(systemctl show -P MainPID jetmemd)
begin=$(now)
dpkg -i $share/jetmem.deb || bad "dpkg -i over it ended with $?"
within 30 curl -sf http://127.0.0.1:10743/readyz >/dev/null || bad "jetmemd is not ready after the upgrade"
[ "$(systemctl show -P MainPID jetmemd)" != "$pid" ] && good "$(minus "$(now)" "$begin")" "upgraded: restarted, ready" || bad "the old jetmemd runs on after the upgrade"
dpkg -r jetmem || bad "dpkg -r ended with $?"
for unit in jetmemd.service jetmem-iomem.service jetmem-reader.socket jetmem-nvml.socket jetmem-probe.socket; do
  ! systemctl is-active -q $unit || bad "$unit is active after removing"
done
! pgrep -l jetmem || bad "processes are left"
[ -e /var/lib/jetmem/history.db ] && [ -e /etc/jetmem/jetmem.yaml ] || bad "removing took the history or the settings"
dpkg -P jetmem || bad "dpkg -P ended with $?"
left=$(find /etc /var/lib/jetmem /run /usr/lib/systemd /lib/systemd -name '*jetmem*' ! -name 'jetmem-vm*' ! -path '/etc/systemd/system/*jetmem-vm*' 2>/dev/null | grep -v 'systemd/units\|/run/systemd\|/etc/hostname' | head -n 5)
[ -z "$left" ] && good - "purged: nothing is left" || bad "left after the purge: $left"
[ -z "$(systemctl --failed -q --plain)" ] || bad "failed: $(systemctl --failed -q --plain)"
