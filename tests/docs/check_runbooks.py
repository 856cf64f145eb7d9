#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/runbooks to what there is: a page that names what does not exist is worse than none at 3 a.m.

Each page has its headings in order; every metric and label in it is in docs/metrics.md, every kind of event in its
reference (run_runbooks.py runs the commands); every rule
of rules/shipped and of the files that only Prometheus evaluates has its page, with each of its thresholds at the value that ships, and every page its
rule; a page may be of several, and is named for one. docs/health.md may name only metrics that there are.

Exits 1 with a line for each violation.
"""

import re
import sys

from checking import ROOT, finish

HEADINGS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]
OPTIONAL = "False alarms"
MOST_LINES = 62
# A metric, with labels where they follow; ending in _ or *, the beginning of several.
METRIC = re.compile(r"\bjetmem_[A-Za-z0-9_]+\*?(?:\{[^}\n]*\})?")


class Metrics:
    """{name: labels} of docs/metrics.md; a name there may hold one *."""

    def __init__(self, text):
        self.exact, self.patterns = {}, {}
        for name, kind, labels in re.findall(r"^\| `(jetmem_[\w*]+)` \| (\w+) \| ([^|]*) \|", text, re.M):
            names = set(re.findall(r"`(\w+)`", labels))
            if kind == "histogram":
                self.exact |= {name + part: names for part in ("_bucket", "_count", "_sum")}
            elif "*" in name:
                self.patterns[re.compile(re.escape(name).replace(r"\*", r"\w+"))] = names
            else:
                self.exact[name] = names

    def find(self, name):
        """Its labels; None where there is no such metric."""
        if name in self.exact:
            return self.exact[name]
        return next((labels for pattern, labels in self.patterns.items() if pattern.fullmatch(name)), None)

    def begins(self, prefix):
        return any(name.startswith(prefix) for name in self.exact) or any(
            each.pattern.startswith(prefix) for each in self.patterns)

    def problem_of(self, text):
        name, _, labels = text.partition("{")
        if name.endswith(("_", "*")):
            head = name.rstrip("*")
            return None if self.begins(head) else f"no metric begins with {head}"
        known = self.find(name)
        if known is None:
            return f"no metric {name}"
        for label in re.findall(r"\w+", re.sub(r'"[^"]*"', "", labels)):
            if label not in known:
                return f"{name} has no label {label}"
        return None


def alternatives(pattern):
    """Each text that a pattern of grep -E stands for, as far as groups and | go."""
    depth, parts, start = 0, [], 0
    for at, char in enumerate(pattern):
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            parts.append(pattern[start:at])
            start = at + 1
    for part in [*parts, pattern[start:]]:
        if (open_at := part.find("(")) < 0:
            yield part
            continue
        depth, close = 0, open_at
        for close in range(open_at, len(part)):
            depth += (part[close] == "(") - (part[close] == ")")
            if not depth:
                break
        for middle in alternatives(part[open_at + 1 : close]):
            yield from alternatives(part[:open_at] + middle + part[close + 1 :])


def problems_of_greps(code, metrics):
    """What is looked for among metrics must be part of one's name."""
    for options, pattern in re.findall(r"/?metrics\b[^|\n]*\| grep (-\w+ )?'?([^'\n]+)", code):
        for each in [] if "v" in options else set(alternatives(pattern.strip())):
            name = re.match(r"\w*", each.lstrip("^")).group()
            fits = str.startswith if each.startswith("^") else str.__contains__
            if not any(fits(metric, name) for metric in metrics.exact):
                yield f"grep finds no metric by {each}"


class Rules:
    """The rules and thresholds of rules/shipped/*.yaml, read line by line: these files are ours, and plain."""

    def __init__(self, files):
        self.rules, self.thresholds = {}, {}
        for file in files:
            section = rule = threshold = None
            for line in file.read_text().splitlines():
                if top := re.match(r"(\w+):", line):
                    section, rule, threshold = top.group(1), None, None
                elif section == "thresholds":
                    threshold = self.take_threshold(line, threshold)
                elif section == "rules" and not line.lstrip().startswith("#"):
                    if start := re.match(r"  - alert: (\w+)", line):
                        rule = self.rules.setdefault(start.group(1), {"file": file.name, "uses": set()})
                    elif rule is not None:
                        if said := re.match(r"    (severity|runbook): ([\w-]+)", line):
                            rule[said.group(1)] = said.group(2)
                        rule["uses"] |= set(re.findall(r":\s*\"?\$(\w+)", line))

    def add_prometheus(self, file):
        """The alerts of a file that only Prometheus evaluates, by their links."""
        rule = None
        for line in file.read_text().splitlines():
            if start := re.match(r"      - alert: (\w+)", line):
                rule = self.rules.setdefault(start.group(1), {"file": file.name, "uses": set()})
            elif rule is not None:
                if severity := re.match(r"          severity: (\w+)", line):
                    rule["severity"] = severity.group(1)
                elif link := re.match(r"          runbook_url: '.*/([\w-]+)'$", line):
                    rule["runbook"] = link.group(1)

    def take_threshold(self, line, threshold):
        if start := re.match(r"  (\w+):\s*(?:\{\s*value:\s*)?([^\s,}]*)", line):
            threshold = start.group(1)
            self.thresholds[threshold] = start.group(2).strip("\"'")
        elif (value := re.match(r"    value:\s*(\S+)", line)) and threshold:
            self.thresholds[threshold] = value.group(1).strip("\"'")
        return threshold


def code_of(text):
    """What stands in blocks, less the comments there, and between backticks."""
    blocks = [line.split(" # ")[0] for line in re.findall(r"^ {4}(.*)$", text, re.M)]
    return "\n".join(blocks + re.findall(r"`([^`]+)`", text))


def problems_of_shape(text):
    lines = text.splitlines()
    if not re.fullmatch(r"# Jetmem[A-Z]\w+", lines[0]):
        yield f"begins with {lines[0]!r}, not with the name of its alert"
    sentence = lines[2] if len(lines) > 2 and not lines[1] else ""
    if not sentence.endswith(".") or (len(lines) > 3 and lines[3]):
        yield "has no single line that says what the alert says"
    found = re.findall(r"^## (.*)$", text, re.M)
    if found not in (HEADINGS, [*HEADINGS, OPTIONAL]):
        yield f"has the headings {', '.join(found)}; wanted: {', '.join(HEADINGS)}, and then {OPTIONAL} or none"
    for heading, body in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", text, re.M):
        if not body.strip():
            yield f"says nothing under {heading}"
    if len(lines) > MOST_LINES:
        yield f"has {len(lines)} lines, more than {MOST_LINES}"


def problems_of_rule(page, text, rules):
    alert = re.match(r"# (\w+)", text)
    rule = rules.rules.get(alert.group(1)) if alert else None
    if rule is None:
        yield "there is no such rule"
        return
    if rule.get("runbook") != page.stem:
        yield f"its rule points to {rule.get('runbook')}"
    block = re.search(r"^    thresholds:\n((?:      .*\n?)+)", text, re.M)
    named = {}
    for line in block.group(1).splitlines() if block else []:
        if entry := re.match(r"      (\w+): \S+\s+# shipped: ([^\s,]+)", line):
            named[entry.group(1)] = entry.group(2)
        else:
            yield f"cannot read {line.strip()!r}: wanted NAME: VALUE  # shipped: VALUE"
    of_page = [each for each in rules.rules.values() if each.get("runbook") == page.stem]
    uses = set().union(*(each["uses"] for each in of_page))
    for each, other in rules.rules.items():
        if other.get("runbook") == page.stem and each not in text:
            yield f"says nothing of {each}, whose page it is"
    for name in sorted(rule["uses"] - set(named)):
        yield f"says nothing of the threshold {name}"
    for name, value in named.items():
        if name not in uses:
            yield f"its rule has no threshold {name}"
        elif rules.thresholds.get(name) != value:
            yield f"{name} ships as {rules.thresholds.get(name)}, not as {value}"
    for name in re.findall(r"disable: \[(\w+)\]", text):
        if name != alert.group(1):
            yield f"disables {name}"


def problems_of_index(pages, rules, text):
    rows = re.findall(r"^\| \[(\w+)\]\(([\w-]+)\.md\) \| (\w+) \| .+ \|$", text, re.M)
    for page in pages:
        alerts = [alert for alert, stem, _ in rows if stem == page.stem]
        if not any(page.read_text().startswith(f"# {alert}\n") for alert in alerts):
            yield f"{page.name} is not listed by its name, only as of {alerts}"
    for alert, stem, severity in rows:
        rule = rules.rules.get(alert, {})
        if stem not in {page.stem for page in pages}:
            yield f"lists {stem}.md, which is not there"
        elif (rule.get("runbook"), rule.get("severity")) != (stem, severity):
            yield f"{alert} is {rule.get('severity')} and of {rule.get('runbook')}, not {severity} and of {stem}"


def main():
    folder = ROOT / "docs" / "runbooks"
    metrics = Metrics((ROOT / "docs" / "metrics.md").read_text())
    kinds = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "kernel-events.md").read_text(), re.M))
    rules = Rules(sorted((ROOT / "rules" / "shipped").glob("*.yaml")))
    for name in ("dashboards/prometheus/dead-man", "dashboards/prometheus/textfile", "packaging/fleet/centre/fleet"):
        rules.add_prometheus(ROOT / f"{name}.rules.yml")
    index = folder / "README.md"
    pages = sorted(set(folder.glob("*.md")) - {index})

    found = []
    for file in [*pages, index, ROOT / "docs" / "health.md"]:
        text = file.read_text()
        problems = []
        if file in pages:
            problems += problems_of_shape(text)
            problems += problems_of_rule(file, text, rules)
        problems += filter(None, map(metrics.problem_of, sorted(set(METRIC.findall(text)))))
        problems += problems_of_greps(code_of(text), metrics)
        kind_words = re.findall(r"JETMEM_EVENT_KIND=(\w+)|jetmem_kernel_events_total\{kind=\"(\w+)\"", text)
        problems += [f"there is no kind of event {kind}" for kind in {a or b for a, b in kind_words} - kinds]
        for alert in sorted(set(re.findall(r"\bJetmem[A-Z]\w+", text)) - set(rules.rules)):
            if not text.startswith(f"# {alert}\n"):
                problems.append(f"there is no rule {alert}")
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            if not (file.parent / link).exists():
                problems.append(f"links to {link}, which is not there")
        found += [f"{file.relative_to(ROOT)}: {each}" for each in problems]
    found += [f"docs/runbooks/README.md: {each}" for each in problems_of_index(pages, rules, index.read_text())]
    for name, rule in rules.rules.items():
        if not (folder / f"{rule.get('runbook')}.md").exists():
            found.append(f"{rule['file']}: {name}: there is no page docs/runbooks/{rule.get('runbook')}.md")
    for what, least in (("pages", len(pages)), ("metrics", len(metrics.exact)), ("rules", len(rules.rules)),
                        ("kinds", len(kinds))):
        if least < 5:
            found.append(f"found only {least} {what}: are they still written like this?")
    return finish(found, f"{len(pages)} runbooks say what there is")


if __name__ == "__main__":
    sys.exit(main())
