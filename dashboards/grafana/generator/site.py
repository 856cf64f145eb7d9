# SPDX-License-Identifier: Apache-2.0
"""What a site may set when it makes the dashboards anew: see docs/grafana.md."""

import re

# Each device serves its runbooks; any that answers will do.
_OF_A_DEVICE = (
    'query_result(topk(1, label_replace(up{job=~"$job"} == 1 and on (job, instance) jetmem_build_info{job=~"$job"}, '
    '"runbooks", "${scheme}://$1/runbooks/", "instance", "(.+)")))'
)


class Site:
    """`runbooks`: a URL with NAME where the name of a page goes, or None for those that the devices serve. `label`: the
    target label of the variable Site."""

    def __init__(self, runbooks=None, scheme="http", datasource="default", label="site"):
        self.scheme, self.datasource, self.label = scheme, datasource, label
        if not re.fullmatch(r"[a-zA-Z_]\w*", label) or label in ("job", "instance"):
            raise SystemExit(f"--site-label {label}: wanted the name of a label that groups devices, such as cluster")
        self._base, self._rest = None, ""
        if runbooks is not None:
            if runbooks.count("NAME") != 1:
                raise SystemExit(
                    f"--runbooks {runbooks}: wanted a URL with NAME in it once, such as https://wiki.example.org/jetmem/NAME.md"
                )
            self._base, self._rest = runbooks.split("NAME")

    def page(self, name):
        return f"${{runbooks}}{name}{self._rest}"

    def index(self):
        """docs/runbooks has it as README.md; a device serves it as /runbooks/."""
        return self.page("README") if self._rest else "${runbooks}"

    def runbooks_variable(self):
        variable = {
            "name": "runbooks",
            "label": "Runbooks at",
            "description": "Where the runbooks are to be read: a page's name is put behind it.",
            "hide": 0,
            "skipUrlSync": False,
        }
        if self._base is None:
            return {
                **variable,
                "type": "query",
                "datasource": {"type": "prometheus", "uid": "${datasource}"},
                "definition": _OF_A_DEVICE,
                "query": {"qryType": 3, "query": _OF_A_DEVICE, "refId": "runbooks-variable"},
                "regex": '/runbooks="([^"]+)"/',
                "refresh": 1,
                "sort": 0,
                "options": [],
                "includeAll": False,
                "multi": False,
            }
        value = {"selected": True, "text": self._base, "value": self._base}
        return {**variable, "type": "textbox", "query": self._base, "current": value, "options": [value]}
