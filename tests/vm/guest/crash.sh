# SPDX-License-Identifier: Apache-2.0
# The machine is gone without a word, as when its power is cut; recovered.sh looks.
remember
# What was recorded is on the disk by then.
sleep 12
echo b >/proc/sysrq-trigger
sleep 60
bad "the machine does not go down"
