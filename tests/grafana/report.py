#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/panels: every panel of every dashboard, and what each scenario and board of the lab has for it. See there."""

import sys

import asker
import boards
import lab
from no_data import NO_DATA

# Grafana says this where a query brings nothing.
EMPTY = "."


def cell(answers):
    """Series that all queries of a panel brought."""
    return str(sum(map(len, answers))) if any(answers) else EMPTY


def queries_of(board):
    """{panel's title: its queries}"""
    found = {}
    for query in boards.queries(board):
        _, title, _ = query.where.split(" / ", 2)
        if " / annotation / " not in query.where and " / variable / " not in query.where:
            found.setdefault(title, []).append(query)
    return found


def table(board, ask, devices):
    """Lines of a Markdown table."""
    names = devices or ["all devices"]
    yield "| panel | " + " | ".join(names) + " | if empty, it shows |"
    yield "|---|" + "---:|" * len(names) + "---|"
    shown = {panel["title"]: panel["fieldConfig"]["defaults"]["noValue"] for panel in boards.panels(board)}
    for title, queries in queries_of(board).items():
        cells = [cell([ask(query, device) for query in queries]) for device in devices or [None]]
        reason = shown[title] if EMPTY in cells else ""
        yield f"| {title} | " + " | ".join(cells) + f" | {reason} |"


def report(laboratory):
    every = boards.load()
    ask = asker.Asker(laboratory, every).ask
    yield "Number of series per panel and device; `.`: none. Played scenarios first, then boards as captured; nobody, doomed and"
    yield "removed do not answer. A real Prometheus scraped a real jetmemd for each and evaluated the exported rules.\n"
    yield f"Devices: {', '.join(laboratory.instances)}\n"
    devices = sorted(laboratory.instances, key=lambda name: (name not in lab.SCENARIOS, name))
    for uid, board in every.items():
        yield f"## {board['title']}\n"
        yield from table(board, ask, [] if uid == "jetmem-fleet" else devices)
        yield ""
    yield "## Queries without data on any device\n"
    for where, why in NO_DATA.items():
        yield f"- {where}: {why}"


def main():
    out = open(sys.argv[1], "w", encoding="utf-8") if len(sys.argv) > 1 else sys.stdout
    with lab.jt.Cleanups() as ends, out:
        for line in report(lab.Lab(ends)):
            print(line, file=out)


if __name__ == "__main__":
    main()
