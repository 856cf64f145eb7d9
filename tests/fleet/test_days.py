# SPDX-License-Identifier: Apache-2.0
"""The fleet's rules over days. They look at their own past: promtool has to evaluate each minute."""

import unittest

import jetmem_testing as jt

import fleet
import promtool_rules as pr

CASES = [
    pr.case("a device gets a site and is the same device; of seven, five were retired three days ago and are no share of the fleet",
            {**pr.up("1x4440", "a"), **pr.up("1x60", "b"), 'up{job="jetmem",instance="b",site="hall-2"}': "_x60 1x4380",
             **pr.up("1x20", "r1", "r2", "r3", "r4", "r5")},
            ("30m", 'count by (alertname) (ALERTS{alertstate="firing",alertname="JetmemFleetSilent"})',
             {'{alertname="JetmemFleetSilent"}': 1}),
            ("2h", 'count(ALERTS{alertname="JetmemDeviceSilent",instance="b"})', {}),
            ("74h", 'count(ALERTS{alertname="JetmemFleetSilent"})', {}),
            ("74h", 'count(ALERTS{alertname="JetmemDeviceSilent",alertstate="firing"})', {"": 5}), interval="1m"),
    pr.case("all are silent for a day, and stay one alert", pr.up("1x20", *"abcde"),
            ("26h", 'count(ALERTS{alertname="JetmemFleetSilent",alertstate="firing"})', {"": 1}), interval="1m"),
]


class Days(unittest.TestCase):
    def test_they_say_what_they_should(self):
        fleet.need("promtool")
        pr.judge(self, fleet.FLEET / "centre/fleet.rules.yml", CASES, "1m")


if __name__ == "__main__":
    jt.main()
