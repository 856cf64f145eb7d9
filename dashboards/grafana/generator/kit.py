# SPDX-License-Identifier: Apache-2.0
"""What every section of a dashboard is made with."""

from .catalog import Catalog
from .panels import Panels
from .query import Selector
from .rules import Rules


class Kit:
    def __init__(self, catalog, rules, scope, site):
        self.catalog, self.rules, self.scope, self.site = catalog, rules, scope, site
        self.panels = Panels(catalog, rules, site)
        self.s = Selector(catalog, scope)
        # By which one device is told from another.
        self.by = f"{site.label}, job, instance"


def kit(repository, scope, site):
    catalog = Catalog(repository / "docs" / "metrics.md", repository / "rules" / "export" / "records.yml")
    return Kit(catalog, Rules(repository / "rules" / "shipped"), scope, site)
