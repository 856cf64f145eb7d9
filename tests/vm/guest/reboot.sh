# SPDX-License-Identifier: Apache-2.0
# An orderly reboot; after.sh looks.
jetmem mark "before the reboot"
sleep 2
remember
jetmem boots | head -n 5
sync
systemctl reboot
sleep 60
bad "the machine does not reboot"
