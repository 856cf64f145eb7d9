# SPDX-License-Identifier: Apache-2.0
# The package by apt, under the machine's own systemd: where an upgrade follows, an older version of it.
limit=900
package=$share/jetmem.deb
! grep -q upgrade $share/guest/plan || package=$share/older.deb
echo "deb [trusted=yes] file:$share/repository ./" >/etc/apt/sources.list
apt_get update || { bad "apt-get update ended with $?"; exit 0; }
begin=$(now)
apt_get install $package || { bad "apt-get install ended with $?"; exit 0; }
within 30 systemctl is-active -q jetmemd || { systemctl status jetmemd; bad "jetmemd does not run after installing"; exit 0; }
within 30 curl -sf http://127.0.0.1:10743/readyz >/dev/null || bad "jetmemd is not ready"
good "$(minus "$(now)" "$begin")" "jetmem $(dpkg-query -W -f '${Version}' jetmem) installed by apt $(apt-get --version | sed -n '1s/apt \([^ ]*\).*/\1/p'), started, ready"
for unit in jetmemd.service jetmem-iomem.service jetmem-reader.socket jetmem-nvml.socket jetmem-probe.socket; do
  [ "$(systemctl is-enabled $unit)" = enabled ] || bad "$unit is $(systemctl is-enabled $unit)"
  systemctl is-active -q $unit || bad "$unit is $(systemctl is-active $unit)"
done
[ -z "$(failed_units)" ] || bad "failed: $(failed_units)"
dpkg -V jetmem || bad "dpkg -V jetmem"
