# SPDX-License-Identifier: Apache-2.0
# The package as it was built, by dpkg, under the machine's own systemd.
begin=$(now)
dpkg -i $share/jetmem.deb || { bad "dpkg -i ended with $?"; exit 0; }
within 30 systemctl is-active -q jetmemd || { systemctl status jetmemd; bad "jetmemd does not run after installing"; exit 0; }
within 30 curl -sf http://127.0.0.1:10743/readyz >/dev/null || bad "jetmemd is not ready"
good "$(minus "$(now)" "$begin")" "installed by dpkg, started, ready"
for unit in jetmemd.service jetmem-iomem.service jetmem-reader.socket jetmem-nvml.socket jetmem-probe.socket; do
  [ "$(systemctl is-enabled $unit)" = enabled ] || bad "$unit is $(systemctl is-enabled $unit)"
  systemctl is-active -q $unit || bad "$unit is $(systemctl is-active $unit)"
done
[ -z "$(systemctl --failed -q --plain)" ] || bad "failed: $(systemctl --failed -q --plain)"
dpkg -V jetmem || bad "dpkg -V jetmem"
