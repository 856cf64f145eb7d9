# SPDX-License-Identifier: Apache-2.0
"""What the checks of this folder share."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tables(text):
    """(line, {column: cell}) of each row of each table of a page."""
    columns = None
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells or columns is None:
            columns = cells or None
        elif not set(line) <= set("|-: "):
            yield number, dict(zip(columns, cells))


def names_in(cell):
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def finish(problems, fine):
    """Prints each problem in a line, or what is fine, and returns the exit status."""
    found = list(problems)
    print("\n".join(found) or fine)
    return 1 if found else 0
