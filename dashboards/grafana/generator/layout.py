# SPDX-License-Identifier: Apache-2.0
"""Places panels on the grid: rows with a title, and in them panels from left to right."""

WIDTH = 24


def row(title, *panels):
    return {"title": title, "panels": list(panels)}


def place(rows):
    """The flat list that a dashboard has, each with a number and a place. Panels beside each other have one height."""
    placed, y = [], 0
    for each in rows:
        placed.append(
            {
                "collapsed": False,
                "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": y},
                "id": len(placed) + 1,
                "panels": [],
                "title": each["title"],
                "type": "row",
            }
        )
        y += 1
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
                placed.append({"id": len(placed) + 1, "gridPos": shape, **rest})
                x += panel["w"]
            y += tallest
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
