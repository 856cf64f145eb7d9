# SPDX-License-Identifier: Apache-2.0
"""The dashboards as committed: their panels, and every query in them as Grafana would send it."""

import json
import pathlib
import re
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "dashboards" / "grafana"
RECORDS = REPOSITORY / "rules" / "export" / "records.yml"
# A metric or record in an expression whose texts are taken out.
NAME = re.compile(r"(?<![\w:])((?:instance:)?jetmem_[\w:]+|up|ALERTS)(?![\w:])")


def catalog():
    """What the generator knows: metrics and records, with their labels."""
    sys.path.insert(0, str(FOLDER))
    from generator.catalog import Catalog

    return Catalog(REPOSITORY / "docs" / "metrics.md", RECORDS)


def load():
    """{uid: dashboard}"""
    boards = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))]
    return {board["uid"]: board for board in boards}


def panels(board):
    """All that shows something, also in folded rows; not the rows."""
    for panel in board["panels"]:
        if panel["type"] != "row":
            yield panel
        yield from panel.get("panels", [])


def run(argv, **more):
    """A program that ended, with what it printed."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(argv, **streams, universal_newlines=True, timeout=300, **more)


class Query:
    """`where` names it for people and for the list of those that have no data. `kind`: instant, range, or values
    (of a label, for a variable)."""

    def __init__(self, where, kind, expression, legend="", label=None):
        self.where, self.kind, self.expression, self.legend, self.label = where, kind, expression, legend, label

    def expanded(self, **variables):
        """With ${name}, $name and [[name]] replaced. One that is not known is an error."""

        def value(match):
            name = match.group(1) or match.group(2) or match.group(3)
            if name not in variables:
                raise AssertionError(f"{self.where}: nobody knows ${name}")
            return variables[name]

        text = re.sub(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)|\[\[(\w+)\]\]", value, self.protected())
        return text.replace("\0", "$")

    def protected(self):
        # $1 in label_replace is Prometheus' own.
        return re.sub(r"\$(\d)", "\0\\1", self.expression)


def queries(board):
    """Every one: of panels, annotations and variables."""
    for panel in panels(board):
        for target in panel["targets"]:
            where = f"{board['uid']} / {panel['title']} / {target['refId']}"
            if target["instant"] == target["range"]:
                raise AssertionError(f"{where}: both instant and range, or neither")
            yield Query(where, "instant" if target["instant"] else "range", target["expr"], target["legendFormat"])
    for annotation in board["annotations"]["list"]:
        if not annotation.get("builtIn"):
            yield Query(
                f"{board['uid']} / annotation / {annotation['name']}",
                "range",
                annotation["expr"],
                annotation["titleFormat"] + annotation["textFormat"],
            )
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable_query(board, variable)


def by_name(every):
    """{where: query} of all dashboards"""
    return {query.where: query for board in every.values() for query in queries(board)}


def variable_query(board, variable):
    text, where = variable["query"]["query"], f"{board['uid']} / variable / {variable['name']}"
    values = re.fullmatch(r"label_values\((.+), (\w+)\)", text)
    result = re.fullmatch(r"query_result\((.+)\)", text)
    if values:
        return Query(where, "values", values.group(1), label=values.group(2))
    if result:
        return Query(where, "instant", result.group(1))
    raise AssertionError(f"{where}: {text}: neither label_values(METRIC, LABEL) nor query_result(EXPRESSION)")
