# SPDX-License-Identifier: Apache-2.0
# The package is removed, then purged. Settings that were changed survive the first alone.
sed -i 's/^  max_connections: 64/  max_connections: 48/' /etc/jetmem/jetmem.yaml
# It is forgotten that a unit failed, too.
mkdir -p /run/systemd/system/jetmem-iomem.service.d
printf '[Service]\nExecStart=\nExecStart=/bin/false\n' >/run/systemd/system/jetmem-iomem.service.d/fails.conf
systemctl daemon-reload
! systemctl restart jetmem-iomem.service || bad "a unit that cannot start started"
rm -r /run/systemd/system/jetmem-iomem.service.d
systemctl daemon-reload
# What a node_exporter would go on showing goes with it.
mkdir -p /var/lib/prometheus/node-exporter
systemctl enable --now jetmem-textfile.timer || bad "jetmem-textfile.timer does not start"
within 30 test -s /var/lib/prometheus/node-exporter/jetmem.prom || bad "jetmem-textfile.timer writes nothing"
apt_get remove jetmem || bad "apt-get remove ended with $?"
for unit in jetmemd.service jetmem-iomem.service jetmem-reader.socket jetmem-nvml.socket jetmem-probe.socket; do
  ! systemctl is-active -q $unit || bad "$unit is active after removing"
done
! systemctl is-active -q jetmem-textfile.timer || bad "jetmem-textfile.timer is active after removing"
[ ! -e /var/lib/prometheus/node-exporter/jetmem.prom ] || bad "jetmem.prom is left after removing"
! pgrep -l jetmem || bad "processes are left"
[ -e /var/lib/jetmem/history.db ] && grep -q 'max_connections: 48' /etc/jetmem/jetmem.yaml || bad "removing took the history or the settings"
apt_get purge jetmem || bad "apt-get purge ended with $?"
left=$(find / \( -path /proc -o -path /sys -o -path /dev -o -path $share -o -path /run/systemd \) -prune -o -name '*jetmem*' ! -path '*jetmem-vm*' -print 2>/dev/null | head -n 5)
[ -z "$left" ] && good - "purged: nothing is left" || bad "left after the purge: $left"
[ -z "$(failed_units)" ] || bad "failed: $(failed_units)"
