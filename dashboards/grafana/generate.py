#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Grafana dashboards out of docs/metrics.md (names, units, meanings), rules/shipped (thresholds, runbooks) and
rules/export/records.yml (recording rules).

    generate.py [--out DIR] [--runbooks URL] [--scheme http|https] [--datasource UID] [--site-label NAME]

Without options it rewrites the files beside it, which a test holds equal to what this makes. A site that has its
runbooks elsewhere, or whose devices' pages are behind TLS, makes files of its own: see docs/grafana.md.
"""

import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# Beside an installed or read-only checkout nothing is to be written.
sys.dont_write_bytecode = True

from generator import device, fleet, incident  # noqa: E402  (beside this file)
from generator.site import Site  # noqa: E402
from generator.kit import kit  # noqa: E402
from generator.query import device_scope, fleet_scope  # noqa: E402


def dashboards(site, repository=HERE.parents[1]):
    """{file name: text}"""
    one, all_of_them = kit(repository, device_scope(site), site), kit(repository, fleet_scope(site), site)
    made = [device.make(one), fleet.make(all_of_them), incident.make(one)]
    return {f"{each['uid']}.json": json.dumps(each, indent=2, ensure_ascii=False) + "\n" for each in made}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=HERE,
        metavar="DIR",
        help="where the files go (default: beside this program)",
    )
    parser.add_argument(
        "--runbooks",
        metavar="URL",
        help="where a browser reads the runbooks, with NAME for a page's (default: a device that answers)",
    )
    parser.add_argument(
        "--scheme", choices=("http", "https"), help="how a browser reaches a device's own page (default: http)"
    )
    parser.add_argument(
        "--datasource", metavar="UID", help="the data source that is chosen at first (default: Grafana's default)"
    )
    parser.add_argument(
        "--site-label",
        dest="label",
        metavar="NAME",
        help="the target label by which devices are grouped, such as cluster (default: site)",
    )
    given = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    folder = given.pop("out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in dashboards(Site(**given)).items():
            (folder / name).write_text(text, encoding="utf-8")
            print(folder / name)
    except OSError as error:
        sys.exit(f"generate.py: {error}")


if __name__ == "__main__":
    main()
