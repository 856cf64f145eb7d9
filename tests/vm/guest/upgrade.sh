# SPDX-License-Identifier: Apache-2.0
# From an older version whose settings were changed, here and in the package since: what was set and recorded stays.
sed -i 's/^  max_connections: 64/  max_connections: 48/' /etc/jetmem/jetmem.yaml
printf 'http:\n  max_connections_per_client: 16\n' >/etc/jetmem/conf.d/50-local.yaml
jetmem mark "before the upgrade" || bad "jetmem mark ended with $?"
some() { recorded && [ "$(wc -l </tmp/points)" -ge 2 ]; }
within 30 some || bad "nothing is recorded"
oldest=$(head -n 1 /tmp/points | cut -d, -f2 | cut -c1-18)
# Off by default; somebody who started it wants it after an upgrade too.
mkdir -p /var/lib/prometheus/node-exporter
systemctl enable --now jetmem-textfile.timer || bad "jetmem-textfile.timer does not start"
old=$(dpkg-query -W -f '${Version}' jetmem)
pid=$(systemctl show -P MainPID jetmemd)
begin=$(now)
apt_get install $share/jetmem.deb || bad "apt-get install over it ended with $?"
within 30 curl -sf http://127.0.0.1:10743/readyz >/dev/null || bad "jetmemd is not ready after the upgrade"
new=$(dpkg-query -W -f '${Version}' jetmem)
[ "$new" != "$old" ] && [ "$(systemctl show -P MainPID jetmemd)" != "$pid" ] && good "$(minus "$(now)" "$begin")" "upgraded from $old to $new: restarted, ready" || bad "$old, now $new, and jetmemd has PID $pid as before"
jetmem config show >/tmp/settings
grep -E 'max_connections' /tmp/settings
grep -q 'max_connections: *48' /tmp/settings && grep -q 'max_connections_per_client: *16' /tmp/settings && [ -e /etc/jetmem/jetmem.yaml.dpkg-dist ] &&
  good - "the settings were kept, the package's are beside them" || bad "the settings: $(grep -h max_connections /etc/jetmem/jetmem.yaml /etc/jetmem/conf.d/*; ls /etc/jetmem)"
kept() { jetmem events --since -10m | grep -q 'before the upgrade' && some && grep -q ",$oldest" /tmp/points; }
within 10 kept && good - "the history was kept" || { bad "points from $oldest are missing"; cat /tmp/points; jetmem events --since -10m | tail -n 5; }
[ -z "$(failed_units)" ] || bad "failed: $(failed_units)"
systemctl is-active -q jetmem-textfile.timer || bad "the upgrade stopped jetmem-textfile.timer"
