# SPDX-License-Identifier: Apache-2.0
"""What the tests of tests/integration and tests/fleet share, for attacks: they take the programs from the environment,
and belong to a test that ends."""

import contextlib
import os
import pathlib
import sys
import unittest

TESTS = pathlib.Path(__file__).parents[1]
for folder in ("fixtures", "integration", "fleet", "scenarios", "page"):
    sys.path.append(str(TESTS / folder))
import fixtures  # noqa: E402


def prepare(programs):
    """Before the first import of one of them."""
    os.environ |= {"JETMEM_JETMEMD": str(programs.jetmemd), "JETMEM_CLI": str(programs.jetmem),
                   "JETMEM_READER": str(programs.reader), "JETMEM_PROBE": str(programs.probe),
                   "JETMEM_HISTORY_MAKER": str(programs.history_maker), "JETMEM_FIXTURES": str(fixtures.unpacked()),
                   "JETMEM_SHIPPED_CONFIG": str(TESTS.parent / "config/jetmem.yaml")}


@contextlib.contextmanager
def test(kind=unittest.TestCase):
    """A test that stands for an attack: what belongs to it ends with it."""
    one = kind("run")
    try:
        one.setUp()
        yield one
    finally:
        one.doCleanups()
