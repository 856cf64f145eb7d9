# SPDX-License-Identifier: Apache-2.0
"""Places panels on the grid: rows with a title, and in them panels from left to right."""

WIDTH = 24


def row(title, *panels):
    return {"title": title, "panels": list(panels)}


# What fits on a screen: the row that is open where the others are folded.
OPEN_ROWS = 24


def place(rows, folded=False):
    """The list that a dashboard has, each panel with a number and a place. Panels beside each other have one height. A row
    that is folded holds its panels, placed as they will be when somebody opens it."""
    placed, y, number = [], 0, 0
    for index, each in enumerate(rows):
        number += 1
        closed = folded and index > 0
        heading = {
            "collapsed": closed,
            "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": y},
            "id": number,
            "panels": [],
            "title": each["title"],
            "type": "row",
        }
        placed.append(heading)
        y += 1
        into, top = (heading["panels"] if closed else placed), y
        for line in _lines(each["panels"]):
            x, tallest = 0, line[0]["h"]
            if any(panel["h"] != tallest for panel in line) or sum(panel["w"] for panel in line) != WIDTH:
                raise SystemExit(
                    f"{each['title']}: these do not fill a line: "
                    + ", ".join(f"{panel['title']} {panel['w']}x{panel['h']}" for panel in line)
                )
            for panel in line:
                shape = {"h": panel["h"], "w": panel["w"], "x": x, "y": y}
                rest = {key: value for key, value in panel.items() if key not in ("w", "h")}
                number += 1
                into.append({"id": number, "gridPos": shape, **rest})
                x += panel["w"]
            y += tallest
        if closed:
            y = top
        elif folded and y > OPEN_ROWS:
            raise SystemExit(f"{each['title']}: {y} rows are open, more than {OPEN_ROWS}")
    return placed


def _lines(panels):
    lines, width = [], WIDTH
    for panel in panels:
        if width + panel["w"] > WIDTH:
            lines.append([])
            width = 0
        lines[-1].append(panel)
        width += panel["w"]
    return lines
