# SPDX-License-Identifier: Apache-2.0
"""Secrets in all that a bundle is made of: values of tests/integration/test_capture.py's twenty kinds, others each time,
of which none is in a bundle, its history.db included."""

import re
import subprocess
import time

import borrowed

DIGITS, LOWER, UPPER = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# What makes a value one of its kind, for whoever removes it: that stays.
KEPT = re.compile(r"^(ghp_|ghs_|AKIA|ASIA|rtsp://|https?://|ftp://|vault:|ext4:/|hexkey|mqtt\.|amqp|::ffff:|2001:db8:|10\.|192\.168\.)|"
                  r"example|[0-9a-f]{2}(?=[:-])")


def another(rng, value):
    """Of the same shape: a digit for each digit, and so on."""
    kept = {at for found in KEPT.finditer(value) for at in range(*found.span())}
    digits = "12" if re.fullmatch(r"[\d.]+", value) else DIGITS[1:]  # an address' parts are at most 255
    hexadecimal = re.fullmatch(r"[0-9A-Fa-f:-]+", value) is not None

    def letter(at, old):
        if at in kept:
            return old
        for kind in (DIGITS, LOWER[:6] if hexadecimal else LOWER, UPPER[:6] if hexadecimal else UPPER):
            if old in kind:
                return rng.choice(digits if kind is DIGITS else kind)
        return old
    return "".join(letter(at, old) for at, old in enumerate(value))


def run(programs, report, rng, until):
    import test_capture

    class Secrets(test_capture.Secrets):
        KINDS = test_capture.Secrets.KINDS

        def run(self):
            pass
    while True:
        Secrets.KINDS = {kind: [line, *(another(rng, value) for value in values)]
                         for kind, (line, *values) in test_capture.Secrets.KINDS.items()}
        with borrowed.test(Secrets) as test:
            tree, out = test.plant(), test.folder / "b.tar.gz"
            done = subprocess.run([programs.jetmem, "--root", tree, "capture", "-o", out], capture_output=True, timeout=120,
                                  env=test_capture.os.environ | test.env)
            if done.returncode != 0:
                report.violation("planted", f"capture ended with {done.returncode}: {done.stderr.decode(errors='replace')[:200]}")
                return
            values = [value for _, _, value in test.planted()]
            report.count("planted", "secrets", len(values))
            report.count("planted", "bundles")
            for value in test.find(out):
                kind = next(kind for kind, _, each in test.planted() if each == value)
                report.violation("planted", f"a bundle has a {kind}: {value}")
        if time.monotonic() >= until:
            break
