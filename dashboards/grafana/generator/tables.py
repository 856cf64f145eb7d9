# SPDX-License-Identifier: Apache-2.0
"""Tables: one row for each set of labels, one column for each query."""

from .styles import absent, no_thresholds
from .panels import query


class Column:
    """A query's value in a table. `look`: auto, text (coloured by value), background or gauge. Without a title
    the value is omitted, and only the labels that it brings are shown."""

    def __init__(
        self,
        title,
        expression,
        unit=None,
        bounds=None,
        mappings=None,
        look="auto",
        width=None,
        low=None,
        high=None,
        decimals=None,
    ):
        self.title, self.expression, self.unit, self.bounds = title, expression, unit, bounds
        self.mappings, self.look, self.width, self.low, self.high, self.decimals = (
            mappings,
            look,
            width,
            low,
            high,
            decimals,
        )


class Label:
    """A label's column."""

    def __init__(self, name, links=(), mappings=None, width=None, title=None):
        self.name, self.links, self.mappings, self.width, self.title = name, links, mappings, width, title


# What a cell without a value shows.
NO_CELL = "-"

_CELLS = {
    "auto": {"type": "auto"},
    "text": {"type": "color-text"},
    "background": {"type": "color-background", "mode": "basic"},
    "gauge": {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"},
}


def table(panels, title, about, labels, columns, w=12, h=8, sort=None, **more):
    """`sort`: a column's title, with a minus in front of it for the largest first."""
    several = len(columns) > 1
    fields = [f"Value #{chr(ord('A') + at)}" if several else "Value" for at in range(len(columns))]
    shown = [(field, column) for field, column in zip(fields, columns) if column.title]
    order = [label.name for label in labels] + [field for field, _ in shown]
    hidden = [
        "Time",
        *(name for name in ("job", "instance") if name not in order),
        *(f for f, c in zip(fields, columns) if not c.title),
    ]
    transformations = [{"id": "merge", "options": {}}] if several else []
    transformations.append(
        {
            "id": "organize",
            "options": {
                "excludeByName": {name: True for name in hidden},
                "includeByName": {},
                "indexByName": {name: at for at, name in enumerate(order)},
                "renameByName": {
                    **{label.name: label.title for label in labels if label.title},
                    **{field: column.title for field, column in shown},
                },
            },
        }
    )
    # A cell without a value must not say what an empty table says.
    every = [{"id": "noValue", "value": NO_CELL}, {"id": "mappings", "value": [absent(NO_CELL)]}]
    overrides = [{"matcher": {"id": "byRegexp", "options": ".*"}, "properties": every}]
    overrides += [_label_override(label) for label in labels if label.links or label.mappings or label.width]
    overrides += [_column_override(panels, column) for _, column in shown]
    options = {"cellHeight": "sm", "frameIndex": 0, "showHeader": True}
    if sort:
        options["sortBy"] = [{"desc": sort.startswith("-"), "displayName": sort.lstrip("-")}]
    queries = [query(column.expression, instant=True) for column in columns]
    custom = {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": True, "inspect": False}
    return panels.panel(
        "table",
        title,
        about,
        queries,
        options,
        w,
        h,
        custom=custom,
        overrides=overrides,
        transformations=transformations,
        table=True,
        **more,
    )


def _override(name, properties):
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": key, "value": value} for key, value in properties],
    }


def _label_override(label):
    properties = []
    if label.links:
        properties.append(("links", label.links))
    if label.mappings:
        properties.append(("mappings", [*label.mappings, absent(NO_CELL)]))
    if label.width:
        properties.append(("custom.width", label.width))
    return _override(label.title or label.name, properties)


def _column_override(panels, column):
    properties = [("unit", column.unit or panels.unit(column.expression)), ("custom.cellOptions", _CELLS[column.look])]
    steps = (
        panels.steps(column.bounds, [column.expression])
        if column.bounds
        else no_thresholds("text" if column.look == "text" else "green")
    )
    properties.append(("thresholds", {"mode": "absolute", "steps": steps}))
    for key, value in (
        ("mappings", [*(column.mappings or []), absent(NO_CELL)]),
        ("custom.width", column.width),
        ("min", column.low),
        ("max", column.high),
        ("decimals", column.decimals),
    ):
        if value is not None:
            properties.append((key, value))
    return _override(column.title, properties)
