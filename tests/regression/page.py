#!/usr/bin/env python3
"""Writes docs/postgres_regression.md from the report of a run: the share of statements with the same outcome by file, and what refuses most.

Usage: page.py REPORT.json [--page docs/postgres_regression.md]
"""
import argparse
import json
import pathlib

CAUSES_SHOWN = 60
INTRODUCTION = """# PostgreSQL's regression files

`make test-regression` runs the SQL files of PostgreSQL 15's source package through psql, on PostgreSQL and on a node, and compares each
statement (tests/regression). This page is made by `tests/regression/page.py build/regression/report.json`.

A statement is *same* when both sides give the same rows, or the same SQLSTATE.

*Refused*: an error here only. *Taken*: an error there only.
*State*: two SQLSTATEs. *Plan* and *listing*: EXPLAIN and `\\d`, whose texts differ. *Wrong*: other rows though all statements of the file
before had the same outcome. *Later*: other rows after a difference. Most of the wrong ones show plans, other objects of the system's tables,
or equal rows of ORDER BY in another order.

A statement that fails takes others with it: most of what a file misses needs a table that it could not create.
"""
KINDS = ["same", "refused", "taken", "state", "later", "wrong", "plan", "listing", "lost"]


def share(counts):
    """Of statements with the same outcome, in percent."""
    return 100 * counts.get("same", 0) / max(sum(counts.values()), 1)


def page(report):
    """The page's text."""
    summary = report["summary"]
    lines = [INTRODUCTION, f"{summary['statements']:,} statements, {summary['same_percent']} % the same. Nodes lost: {len(summary['died'])}."]
    lines += ["", "## What refuses most", "", "| statements | error |", "| --- | --- |"]
    lines += [f"| {count} | {cause.replace('|', chr(92) + '|')} |" for cause, count in report["causes"][:CAUSES_SHOWN]]
    lines += ["", "## By file", "", "| file | same, % | " + " | ".join(KINDS) + " |", "| --- " * (len(KINDS) + 2) + "|"]
    for entry in report["files"]:
        counts = entry["counts"]
        lines.append(f"| {entry['file']} | {share(counts):.0f} | " + " | ".join(str(counts.get(kind, "")) for kind in KINDS) + " |")
    return "\n".join(lines) + "\n"


def main():
    """Reads the report, writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report")
    parser.add_argument("--page", default="docs/postgres_regression.md")
    arguments = parser.parse_args()
    report = json.loads(pathlib.Path(arguments.report).read_text())
    pathlib.Path(arguments.page).write_text(page(report))


if __name__ == "__main__":
    main()
