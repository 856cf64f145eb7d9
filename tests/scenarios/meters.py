# SPDX-License-Identifier: Apache-2.0
"""What the chip counts and measures of itself: over-current events, the supply's voltage, how busy the
memory is.

Each is played where the fixture has its files, and left alone where it has not.
"""

EMC = "/sys/kernel/debug/bpmp/debug/clk/emc"
CAP = "/sys/kernel/nvpmodel_emc_cap/emc_iso_cap"


class Meters:
    def __init__(self, tree, machine):
        self._tree, self._machine = tree, machine
        self._alarms = tree.glob("/sys/class/hwmon/hwmon*/oc*_event_cnt")
        self._volts = tree.glob("/sys/class/hwmon/hwmon*/in1_input")
        self.emc = None  # (percent, MHz), once a story has set it

    def over_current(self, events):
        """The last alarm, which is the supply's, went off so many times."""
        for path in self._alarms[-1:]:
            self._tree.set(path, f"{int(self._tree.text(path)) + events}\n")

    def supply(self, millivolts):
        for path in self._volts:
            self._tree.set(path, f"{millivolts + self._machine.rng.randrange(-24, 25) // 8 * 8}\n")

    def busy_memory(self, share):
        """The memory's clock is at its highest, and so much of its time there is work."""
        rate = int(self._tree.text(f"{EMC}/max_rate") or 0)
        if rate:
            self._tree.set(f"{EMC}/rate", f"{rate}\n")
            self.emc = (round(share * 100), rate // 1_000_000)
            # The power mode without a cap.
            if self._tree.text(CAP):
                self._tree.set(CAP, f"{max(rate, int(self._tree.text(CAP)))}\n")
        path = "/sys/kernel/debug/cactmon/mc_all"
        if rate and self._tree.text(path):
            self._tree.set(path, f"{int(rate * share) // 1000}\n")
