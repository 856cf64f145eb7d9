# SPDX-License-Identifier: Apache-2.0
"""A working device, for as long as somebody watches: programs and files come and go, a camera starts and ends,
heat, voltage and the memory's load move. Nothing goes wrong. A story for player.Player, endless.
"""


def story(m):
    some = m.rng.randrange
    programs, camera, load, heat = 0, 0, 0.2, m.devices.base_celsius("gpu-thermal")
    base = heat
    while True:
        step = some(-3000, 3001) - programs // 20
        if step > 0:
            m.grow_anon(step)
        elif step < 0 and programs + step > 0:
            m.shrink_anon(-step)
        else:
            step = 0
        programs += step
        if some(20) == 0:
            m.grow_cache(some(500, 4000))
            m.drop_cache(some(400, 3900))
        if some(60) == 0 and not camera:
            camera = some(30, 300)
            m.cma_alloc(3072, "camera")
        elif camera:
            camera -= 1
            if camera == 0:
                m.cma_release("camera")
        heat += (base + 12 * load - heat) * 0.05 + m.rng.uniform(-0.4, 0.4)
        m.devices.heat(**{zone: heat + off for zone, off in (("gpu", 0), ("cpu", -0.4), ("soc0", -2.2), ("soc1", -0.6))})
        m.devices.hottest()
        load = min(0.8, max(0.02, load + m.rng.uniform(-0.05, 0.05)))
        m.meters.busy_memory(load)
        m.pressure.stalls("cpu", 0.1 * load)
        yield None
