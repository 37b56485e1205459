#!/usr/bin/env python3
"""The alert rules of deploy/prometheus: promtool's own checks and unit tests, and that each alert has all that belongs to it.

Debian: prometheus (with promtool), python3-yaml. The exit code counts the failures.
"""
import pathlib
import re
import subprocess
import sys

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, expect

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES = PROMETHEUS / "rules" / "scyper.yml"
TESTS = PROMETHEUS / "rules" / "scyper_test.yml"
ALERTS_MAX = 16  # more, and nobody reads them


def promtool(*arguments):
    run = subprocess.run(["promtool", *arguments], text=True, capture_output=True, check=False)
    expect("promtool " + " ".join(arguments[:2]), run.returncode == 0, run.stdout + run.stderr)


def check_alert(rule, tested, headings):
    name = rule["alert"]
    expect(f"{name} is named as alerts are", re.fullmatch(r"Scyper([A-Z][a-z]+)+", name))
    expect(f"{name} has a severity", rule["labels"].get("severity") in ("critical", "warning"), rule["labels"])
    expect(f"{name} says what, and that in full",
           all(rule["annotations"].get(key, "").endswith(".") for key in ("summary", "description")), rule["annotations"])
    expect(f"{name} has a runbook", name in headings and rule["annotations"].get("runbook_url") == f"docs/operations.md#{name.lower()}",
           rule["annotations"])
    checks = tested.get(name, [])
    expect(f"{name} is seen to fire and not to fire", {bool(check["exp_samples"]) for check in checks} == {True, False}, checks)


def main():
    promtool("check", "config", str(PROMETHEUS / "prometheus.yml"))
    promtool("check", "rules", str(RULES))
    promtool("test", "rules", str(TESTS))
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    tests = {test["name"]: [check for check in test["promql_expr_test"] if f'"{test["name"]}"' in check["expr"]]
             for test in yaml.safe_load(TESTS.read_text())["tests"]}
    headings = re.findall(r"(?m)^### (\S+)$", (ROOT / "docs" / "operations.md").read_text())
    names = [rule["alert"] for rule in rules]
    expect("few alerts", len(names) <= ALERTS_MAX, len(names))
    expect("every runbook has its alert", sorted(headings) == sorted(names), set(headings) ^ set(names))
    expect("every test has its alert", sorted(tests) == sorted(names), set(tests) ^ set(names))
    for rule in rules:
        check_alert(rule, tests, headings)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
