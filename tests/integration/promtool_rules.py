# SPDX-License-Identifier: Apache-2.0
"""Cases for `promtool test rules`: what is scraped, and what the rules say of it."""

import json

import jetmem_testing as jt

FIRING = 'ALERTS{alertstate="firing"}'


def each(series, values, *instances):
    """The same values of several instances; `series` has %s in their place."""
    return {series % instance: values for instance in instances}


def up(values, *instances):
    return each('up{job="jetmem",instance="%s"}', values, *instances)


def case(name, given, *asked, interval="15s"):
    """given: {series: values}; asked: (time, expression, {labels: value}), with "" for no labels."""
    return {"name": name, "interval": interval,
            "input_series": [{"series": series, "values": str(values)} for series, values in given.items()],
            "promql_expr_test": [{"expr": expression, "eval_time": at, "exp_samples": [
                {"labels": labels, "value": value} if labels else {"value": value} for labels, value in wanted.items()]}
                for at, expression, wanted in asked]}


def judge(test, rules, cases, every="15s"):
    """`every`: promtool evaluates each group at this interval."""
    file = jt.temp_directory(test) / "rules-test.yml"
    # JSON is YAML.
    file.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": every, "tests": cases}))
    shown = jt.run(["promtool", "test", "rules", file], 240)
    if shown.returncode and len(cases) > 1:  # it does not name the one that failed
        for each in cases:
            with test.subTest(each["name"]):
                judge(test, rules, [each], every)
    test.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
