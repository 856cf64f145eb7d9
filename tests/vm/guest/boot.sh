# SPDX-License-Identifier: Apache-2.0
# The machine before jetmem is there: all else must be well, or what follows says nothing of jetmem.
within 60 sh -c 'systemctl is-system-running | grep -q running' || { bad "systemd: $(systemctl is-system-running)"; failed_units; exit 0; }
uname -r
# Before jetmem is there, which looks for a source that was absent only once a minute.
! grep -q thermal $share/guest/plan || insmod $share/modules/jetmem_lab.ko || bad "the lab's module does not load"
grep -o 'systemd.unified_cgroup_hierarchy=0' /proc/cmdline && [ -z "$hybrid" ] && bad "the control groups are not hybrid"
good - "systemd $(systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p') is running on $(uname -r), nothing failed"
