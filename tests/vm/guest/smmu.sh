# SPDX-License-Identifier: Apache-2.0
# A device reads where nothing is mapped: what is left of a buffer that was freed too early.
edu=$(basename "$(dirname "$(grep -l 0x11e8 /sys/bus/pci/devices/*/device)")")
[ -n "$own" ] || insmod $share/modules/pci-stub.ko ids=1234:11e8
group=$(cat /sys/bus/pci/devices/$edu/iommu_group/type)
[ "$group" = DMA ] || { bad "the device's IOMMU group is $group: its DMA would not fault"; exit 0; }
# From the transfer itself: an emulated processor takes its time to start a program.
begin=$($share/tools/edu_fault "$edu" 0x12345000 read 1) || bad "edu_fault ended with $?"
seen() { page && grep '^jetmem_smmu_faults_total{' /tmp/page | grep -v 'suppressed' | grep -qv ' 0$'; }
within 20 seen && counted=$(minus "$(now)" "$begin") || bad "no fault in /metrics"
after=$(alert_after "$begin" JetmemSmmuFault) || bad "JetmemSmmuFault does not fire"
dmesg | grep -A4 'event 0x10 received' | head -n 5
reported() { jetmem events --since 5m >/tmp/events; grep -qi '0x12345000' /tmp/events && grep -q smmu /tmp/events; }
within 10 reported || bad "jetmem events does not show the address"
tail -n 8 /tmp/events
[ -n "$after" ] && awk -v a="$after" 'BEGIN {exit !(a <= 1)}' && good "$after" "SMMU fault at IOVA 0x12345000, stream 0x28: JetmemSmmuFault (in /metrics after ${counted:-?} s at most)" ||
  bad "JetmemSmmuFault came ${after:-not} s after the fault, not within a second"
journalctl -q -x -n 1 JETMEM_ALERT=JetmemSmmuFault JETMEM_ALERT_STATE=firing | tee /tmp/entry
grep -qi 'remedy' /tmp/entry && grep -qi runbook /tmp/entry && good - "journalctl -x explains it" || bad "journalctl -x has no explanation"
# More than the kernel prints; each takes the device 0.1 s.
sleep 6
begin=$($share/tools/edu_fault "$edu" 0x20000000 write 100)
# Which of them fires depends on how many the kernel prints.
storm() { for alert in JetmemSmmuStorm JetmemSmmuSuppressed; do ! entry_since "$begin" $alert || return 0; done; return 1; }
within 30 storm && good "$(minus "$at" "$begin")" "100 faults in a row: $alert" || bad "neither JetmemSmmuStorm nor JetmemSmmuSuppressed fires"
page
grep -E '^jetmem_smmu' /tmp/page
