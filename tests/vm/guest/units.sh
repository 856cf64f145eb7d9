# SPDX-License-Identifier: Apache-2.0
# Whether this systemd knows all that the units, users and temporary files of jetmem say: what it does not, it ignores.
journalctl -q -b all -o short --no-pager | grep -E ' systemd[-a-z]*\[[0-9]+\]: .*jetmem' | grep -iE 'unknown|ignoring' >/tmp/ignored
# Those that nothing started here, too.
dpkg -L jetmem | grep '/systemd/system/[^/]*\.[a-z]*$' | sed 's/@\./@x./' | xargs systemd-analyze verify 2>&1 |
  grep jetmem | grep -iE 'unknown|ignoring' >>/tmp/ignored
sort -u /tmp/ignored | tee /tmp/ignored.once
[ ! -s /tmp/ignored.once ] && good - "systemd $(systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p') ignores nothing of jetmem's units" || bad "systemd ignores: $(head -n 3 /tmp/ignored.once)"
