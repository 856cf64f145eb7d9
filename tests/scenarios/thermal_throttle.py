# SPDX-License-Identifier: Apache-2.0
"""The fan is blocked: past the passive trip at 99 C the GPU's clock is cut, until the air flows again.

For two minutes the cut clock holds the temperature, near the critical trip.
"""

LIMIT = 99.0
BLOCKED = 150  # seconds
ZONES = {"gpu": 1.0, "cpu": 0.6, "soc0": -1.2, "soc1": 0.4, "soc2": -2.5}  # above or below the GPU's


def story(m):
    yield "the machine as it was found"
    yield from m.quiet(5)
    hot = m.devices.base_celsius("gpu-thermal")
    cut = 0
    for second in range(BLOCKED + 48):
        blocked = second < BLOCKED
        # Less clock, less heat: near the limit the cut holds the temperature.
        room = (117.0 if blocked else 64.0) - 4.0 * cut
        hot += (room - hot) * (0.045 if blocked else 0.05)
        m.devices.heat(**{zone: hot + off - 1.0 for zone, off in ZONES.items()})
        m.devices.hottest()
        if hot >= LIMIT:
            cut = min(4, cut + 1)
        elif hot < LIMIT - 3 and cut:
            cut -= 1
        # The alerts' state is 1 while the zone is above its trip.
        for zone in ("gpu", "cpu"):
            m.devices.throttle(f"{zone}-throttle-alert", 1 if cut else 0)
        m.devices.throttle("pwm-fan", 0 if blocked else 3)
        m.devices.cut_gpu_clock(cut)
        m.pressure.stalls("cpu", min(0.6, 0.12 + 0.1 * cut))
        if second == 0:
            yield "the fan stands still"
        elif second == BLOCKED:
            yield f"the fan turns again, at {hot:.0f} C and {cut} steps of the GPU's clock"
        else:
            yield "throttling" if cut == 1 and blocked and second < BLOCKED else None
    yield "as it was"
    yield from m.quiet(5)
