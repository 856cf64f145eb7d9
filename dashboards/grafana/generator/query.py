# SPDX-License-Identifier: Apache-2.0
"""How a query names series: of metrics and labels that exist, within what the variables pick."""

import re

NAME = re.compile(r"(?<![\w:])((?:instance:)?jetmem_[\w:]+|up|ALERTS)(?![\w:])(?!\()")


def device_scope(site):
    return f'{site.label}=~"$site",job="$job",instance="$instance"'


def fleet_scope(site):
    return f'{site.label}=~"$site",job=~"$job",instance=~"$instance"'


class Selector:
    """s("jetmem_smmu_recent_faults", client="unknown") within the variables' choice.

    A label's value that begins with =~, != or !~ is compared in that way, any other for being equal.
    """

    def __init__(self, catalog, scope):
        self._catalog, self._scope = catalog, scope

    def __call__(self, name, **labels):
        known = self._catalog.labels(name)
        if known is None:
            raise SystemExit(f"no metric {name} in docs/metrics.md")
        matchers = [self._scope]
        for label, value in labels.items():
            if label not in known:
                raise SystemExit(f"{name} has no label {label}")
            how, text = (value[:2], value[2:]) if value[:2] in ("=~", "!=", "!~") else ("=", value)
            matchers.append(f'{label}{how}"{text}"')
        return f"{name}{{{','.join(matchers)}}}"


def names_in(expression):
    """Names of metrics in an expression, in order, each once."""
    bare = re.sub(r'"[^"]*"', '""', expression)
    return list(dict.fromkeys(NAME.findall(bare)))


def selects(expression, condition):
    """Whether a rule's condition speaks of series like those asked for: one of the selectors of its metric has the labels
    that the condition wants, or leaves them for a legend or a column to tell apart. None without that metric."""
    wanted, reported = condition.metric, None
    for name, matchers in re.findall(r"\b(jetmem_\w+)\{([^}]*)\}", expression):
        if name != wanted and re.sub(r"_(?:min|max)_1m", "", name) != wanted:
            continue
        reported = False
        chosen = dict(re.findall(r'(\w+)=~?"([^"]*)"', matchers))
        if all(
            set(chosen.get(label, values[0]).split("|")) <= set(values) for label, values in condition.labels.items()
        ):
            return condition.function not in ("rate", "increase") or f"{condition.function}(" in expression
    return reported


def grown(series, boot):
    """How much each counter has grown since the beginning of the time shown, for an instant query. One that came in
    meanwhile counts in full, which increase() does not see; one that a reboot has reset in between goes by increase();
    and one whose device has died counts up to its last value. A device that was out of reach at the beginning had its
    last value before that, of at most a day ago, unless it has booted since (boot: when it did)."""
    last = f"last_over_time({series}[$__range])"
    boots = f"last_over_time({boot}[$__range]) - last_over_time({boot}[1d] offset $__range)"
    first = (
        f"({series} offset $__range or last_over_time({series}[1d] offset $__range) and on () (abs({boots}) < 60))"
    )
    return (
        f"({last} unless {first})"
        f" or ({last} - {first} > 0 and resets({series}[$__range]) == 0)"
        f" or (round(increase({series}[$__range])) > 0)"
    )


def now_or_last(series, how=""):
    """Values of now; when there is none at all, as the device has died, the last ones of the time shown."""
    return f"({how}({series}) or on () {how}(last_over_time({series}[$__range])))"


def named(expression, *labels):
    """With "-" where one of these labels is empty. Prometheus has no empty labels, and a table joins rows by those that
    they have: without this, what has no container would be reported of one that has."""
    for label in labels:
        expression = f'label_replace({expression}, "{label}", "-", "{label}", "")'
    return expression
