# SPDX-License-Identifier: Apache-2.0
"""Links: to the other dashboards, to a device's own page, to runbooks."""

# Passes on what the dashboard shows.
SAME_FLEET = "${datasource:queryparam}&${job:queryparam}&${site:queryparam}&${scheme:queryparam}&${runbooks:queryparam}"
SAME_DEVICE = SAME_FLEET + "&${instance:queryparam}"
# The device of a table's row, and of a series.
_SAME_SITE = "${__url_time_range}&${datasource:queryparam}&${scheme:queryparam}&${runbooks:queryparam}"


def _of_device(job, instance):
    device = f"var-job={job}&var-instance={instance}"
    return [
        ("Device: all of it", f"/d/jetmem-device?{device}&{_SAME_SITE}"),
        ("Incident: around this time", f"/d/jetmem-incident?{device}&{_SAME_SITE}"),
        ("The device's own page", f"${{scheme}}://{instance}/"),
    ]


def data_links(links):
    """The form that links on values have."""
    return [{"title": title, "url": url, "targetBlank": True} for title, url in links]


ROW_LINKS = data_links(_of_device("${__data.fields.job}", "${__data.fields.instance}"))
SERIES_LINKS = data_links(_of_device("${__field.labels.job}", "${__field.labels.instance}"))


def link(title, url, tooltip, elsewhere=False):
    """A link of a dashboard or panel. `elsewhere`: not to a dashboard, so the time shown does not go along."""
    return {
        "title": title,
        "type": "link",
        "url": url,
        "tooltip": tooltip,
        "icon": "external link" if elsewhere else "dashboard",
        "asDropdown": False,
        "includeVars": False,
        "keepTime": not elsewhere,
        "tags": [],
        "targetBlank": elsewhere,
    }


def runbook(rule, site):
    return link(f"Runbook: {rule.name}", site.page(rule.runbook), "What the alert says, and what to do", elsewhere=True)


def runbook_of_value(site):
    """For a column that has the names of runbooks' pages."""
    return data_links([("Runbook", site.page("${__value.text}"))])


def runbooks(site):
    return link("Runbooks", site.index(), "One page for each alert", elsewhere=True)


TO_FLEET = link("Fleet", f"/d/jetmem-fleet?{SAME_FLEET}", "All devices")
TO_DEVICE = link("Device", f"/d/jetmem-device?{SAME_DEVICE}", "All of this device")
TO_INCIDENT = link("Incident", f"/d/jetmem-incident?{SAME_DEVICE}", "This device around this time")
DEVICE_PAGE = link(
    "The device's own page",
    "${scheme}://${instance}/",
    "What the device itself shows, without Prometheus",
    elsewhere=True,
)
