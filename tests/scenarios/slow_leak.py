# SPDX-License-Identifier: Apache-2.0
"""A camera service loses a buffer every 20 seconds, for more than an hour: nobody answers for them.

No process grows: each buffer lies in nvmap's table of orphans, 9 MiB more each minute on a board of
8 GB. MemAvailable falls as fast, and a little slower once swap takes a part of it.
"""

MINUTES = 80
BUFFER_MIB, SECONDS = 3, 20


def story(m):
    unit = max(1, m.total_pages // 1_950_000)  # so that larger boards notice, too
    yield "the machine as it was found"
    yield from m.quiet(59)
    for second in range(MINUTES * 60):
        if second % SECONDS == 0:
            m.grow_gpu(BUFFER_MIB * unit * 256)
            m.devices.add_orphan(BUFFER_MIB * unit * 1024)
        if second == 0:
            yield f"the service begins to lose buffers of {BUFFER_MIB * unit} MiB"
        elif second % 1200 == 0:
            yield f"{second // 60} minutes later {m.available_mib()} MiB are available"
        else:
            yield None
