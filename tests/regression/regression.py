#!/usr/bin/env python3
"""PostgreSQL 15's regression files on a node, beside PostgreSQL: the share of statements with the same outcome, and every difference.

Usage: regression.py SCYPERD [--files a,b] [--report FOLDER] [--recover] [--flags "--redo physical"] [--strict]
The exit code is 1 when a node is lost, an internal error is seen, or a file does not recover; with --strict also for wrong answers.
"""
import argparse
import collections
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import comparison
import psql_run
import source_package
from servers import Node, Postgres

# They are about PostgreSQL's own files, processes or plans, or only set variables: nothing there is ours to answer.
LEFT_OUT = {"test_setup"}


class Regression:
    def __init__(self, program, folder, flags):
        self.program, self.folder, self.flags = program, folder, flags
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="regression-"))
        self.postgres = Postgres()
        self.setup = self.prepare("test_setup")
        self.postgres.execute("CREATE DATABASE filled")
        psql_run.run(self.setup, self.postgres.connection("filled"), folder)

    def prepare(self, name):
        path = self.work / f"{name}.sql"
        path.write_text(psql_run.prepared((self.folder / "sql" / f"{name}.sql").read_text(errors="surrogateescape"), self.folder / "data"), errors="surrogateescape")
        return path

    def theirs(self, name):
        database = "regression"
        self.postgres.copy(database)
        try:
            return psql_run.run(self.prepare(name), self.postgres.connection(database), self.folder)
        finally:
            self.postgres.drop(database)

    def run(self, name, recover=False):
        """The comparison of a file, and what the node's end and restart had to say."""
        directory = self.work / f"{name}.data" if recover else None
        log = self.work / f"{name}.log"
        node = Node(self.program, log, directory, self.flags)
        result = {"file": name}
        try:
            psql_run.run(self.setup, node.connection, self.folder)
            ours = psql_run.run(self.prepare(name), node.connection, self.folder, verbosity="verbose")
            result["died"] = not node.alive()
            if recover:
                node.kill()
                try:
                    node.start()
                    result["recovered"] = True
                except RuntimeError as error:
                    result["recovered"], result["restart"] = False, str(error)
        finally:
            node.stop()
        if result["died"]:
            result["last_words"] = log.read_text(errors="replace")[-1500:]
        result["found"] = comparison.compare(ours, self.theirs(name))
        result["internal"] = [s.text for s in ours if "XX000" in s.states]
        return result

    def close(self):
        self.postgres.stop()


def details(result):
    """The differences of a file, for people."""
    lines = []
    for kind, ours, theirs in result["found"]:
        if kind in ("same", "plan"):
            continue
        lines += [f"=== {kind}: {theirs.outcome} -> {ours.outcome if ours else 'not run'} {ours.message if ours else ''}".rstrip(), theirs.text.strip()]
        if kind in ("wrong", "later") and ours:
            lines += ["--- PostgreSQL", *theirs.rows[:40], "--- here", *ours.rows[:40]]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scyperd")
    parser.add_argument("--files", default="")
    parser.add_argument("--report", default="")
    parser.add_argument("--flags", default="")
    parser.add_argument("--recover", action="store_true")
    parser.add_argument("--strict", action="store_true")
    arguments = parser.parse_args()
    folder = source_package.fetch("regress")
    names = arguments.files.split(",") if arguments.files else sorted(path.stem for path in (folder / "sql").glob("*.sql") if path.stem not in LEFT_OUT)
    report = pathlib.Path(arguments.report) if arguments.report else None
    if report:
        report.mkdir(parents=True, exist_ok=True)
    regression = Regression(arguments.scyperd, folder, arguments.flags.split())
    totals, failures, files, causes = {}, 0, [], collections.Counter()
    try:
        for name in names:
            result = regression.run(name, arguments.recover)
            counted = comparison.counts(result["found"])
            for kind, count in counted.items():
                totals[kind] = totals.get(kind, 0) + count
            bad = result["died"] or result["internal"] or result.get("recovered") is False or (arguments.strict and counted.get("wrong"))
            failures += 1 if bad else 0
            said = " ".join(f"{kind} {count}" for kind, count in counted.items())
            print(f"{'FAIL' if bad else 'ok  '} {name}: {said}{' DIED' if result['died'] else ''}"
                  f"{' INTERNAL' if result['internal'] else ''}{' NOT RECOVERED' if result.get('recovered') is False else ''}", flush=True)
            if report:
                (report / f"{name}.txt").write_text(details(result) + "\n".join(["=== internal error", *result["internal"], result.get("last_words", ""), result.get("restart", "")]))
            causes.update(comparison.causes(result["found"]))
            files.append({key: result[key] for key in ("file", "died", "recovered", "internal") if key in result} | {"counts": counted})
    finally:
        regression.close()
    total = sum(totals.values())
    summary = {"statements": total, "same_percent": round(100 * totals.get("same", 0) / max(total, 1), 1), "counts": totals, "files_failed": failures,
               "died": [f["file"] for f in files if f["died"]], "not_recovered": [f["file"] for f in files if f.get("recovered") is False],
               "internal": [f["file"] for f in files if f["internal"]]}
    print(json.dumps(summary))
    if report:
        (report / "report.json").write_text(json.dumps({"summary": summary, "causes": causes.most_common(), "files": files}, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
