#!/usr/bin/env python3
"""Isolation specifications on a node, beside PostgreSQL 15: who waits, who fails, what each step sees.

Usage: isolation.py SCYPERD [--files a,b] [--specs FOLDER] [--most N] [--wait SECONDS] [--report FILE] [--strict] [--known FILE]
Without --specs the specifications of PostgreSQL's source package are played. With --strict a difference fails, with --known one that the
file does not name.
"""
import argparse
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "regression")]
import players
import source_package
import specification
from servers import Node, Postgres

LEVELS = ("read committed", "repeatable read", "serializable")


def plays(text, most):
    """Level, specification and order; $LEVEL in our own specifications stands for each level."""
    for level in LEVELS if "$LEVEL" in text else [""]:
        spec = specification.parse(text.replace("$LEVEL", level))
        for order in spec.orders(most):
            yield f" ({level})" if level else "", spec, order


def play(spec, dsn, order, wait_s):
    try:
        return players.Stage(spec, dsn, wait_s).play(order)
    except Exception as error:  # of the connection or of the setup
        return [("cannot be played", [f"{type(error).__name__}: {error}"])]


def outcomes(log):
    """What each step gave, in the order of its runs, without who waited for how long."""
    found = {}
    for step, result in log:
        if result != ["waits"]:
            found.setdefault(step, []).append(result)
    return found


def waits(log):
    return [step for step, result in log if result == ["waits"]]


def judge(ours, theirs):
    if outcomes(ours) != outcomes(theirs):
        return "other outcome"
    return "same" if waits(ours) == waits(theirs) else "other waits"


def shown(log):
    return "\n".join(f"    {step}: {result}" for step, result in log)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scyperd")
    parser.add_argument("--files", default="")
    parser.add_argument("--specs", default="")
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--wait", type=float, default=0.5)
    parser.add_argument("--report", default="")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--known", default="", help="lines: file (level): order")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.specs) if arguments.specs else source_package.fetch("isolation") / "specs"
    names = arguments.files.split(",") if arguments.files else sorted(path.stem for path in folder.glob("*.spec"))
    work = pathlib.Path(tempfile.mkdtemp(prefix="isolation-"))
    postgres, node = Postgres(), Node(arguments.scyperd, work / "node.log")
    known = pathlib.Path(arguments.known).read_text().splitlines() if arguments.known else None
    totals, lines, lost, unknown = {}, [], [], []
    try:
        for name in names:
            counts = {}
            for level, spec, order in plays((folder / f"{name}.spec").read_text(), arguments.most):
                theirs = play(spec, postgres.connection("postgres"), order, arguments.wait)
                ours = play(spec, node.connection, order, arguments.wait)
                verdict = judge(ours, theirs)
                counts[verdict] = counts.get(verdict, 0) + 1
                place = f"{name}{level}: {' '.join(order)}"
                if verdict == "other outcome" and known is not None and place not in known:
                    unknown.append(place)
                if verdict != "same":
                    lines.append(f"=== {name}{level}: {' '.join(order)}: {verdict}\n  PostgreSQL\n{shown(theirs)}\n  here\n{shown(ours)}")
                if not node.alive():
                    lost.append(name)
                    node.start()
            for verdict, count in counts.items():
                totals[verdict] = totals.get(verdict, 0) + count
            print(f"{name}: {counts}", flush=True)
    finally:
        node.stop()
        postgres.stop()
    print(json.dumps({"orders": sum(totals.values()), "counts": totals, "lost": lost, "unknown": unknown}))
    text = "\n".join(lines)
    if arguments.report:
        pathlib.Path(arguments.report).write_text(text)
    if arguments.strict and (totals.get("other outcome") or lost):
        print(text)
        return 1
    return 1 if lost or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
