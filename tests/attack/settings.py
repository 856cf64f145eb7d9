# SPDX-License-Identifier: Apache-2.0
"""Settings that are none, each with a SIGHUP: those in force are kept."""

import time

MOST = 1 << 20


def hostile(rng, good):
    """A file; bytes."""
    size = rng.choice((500, 20_000, 120_000, 200_000, MOST))
    unit = rng.choice(("[", "{", "[{", "{a: ", "- ", "? ", "[[],", "[\n", "a: [", "&a ", "*a ", "!a ", "a: &a [*a]\n", "\"", "'",
                       "x: |\n", "%", "---\n", ": ", "#", "\n", "k: v\n", "\x00", "\t", "\xe9", "'\\x", "<<: *a\n", "]"))
    kind = rng.randrange(5)
    if kind == 0:
        return (unit * (size // len(unit) + 1))[:size].encode()
    if kind == 1:
        bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, rng.randrange(2, 40)))
        return bomb.encode()
    if kind == 2:
        return "".join(f"k{i}: {rng.choice(('1', '[1]', 'x'))}\n" for i in range(size // 8)).encode()
    if kind == 3:
        return rng.randbytes(min(size, 60_000))
    data = bytearray(good.encode())
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data) + 1)
        data[at:at + rng.randrange(4)] = rng.choice((unit.encode(), rng.randbytes(3), b"", unit.encode() * rng.randrange(1, 400)))
    return bytes(data)


def run(target, rng, until):
    good = target.settings
    while time.monotonic() < until and target.alive():
        target.reload(hostile(rng, good))
        target.report.count("settings", "SIGHUPs")
        time.sleep(rng.uniform(0.02, 0.2))
    target.reload(good.encode())
