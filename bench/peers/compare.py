#!/usr/bin/env python3
"""CH-benCHmark's 22 queries on ScyPer and its peers, on the same data: times and answers. See README.md."""

import argparse
import csv
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SQL = ROOT / "client" / "ch" / "sql"
RELATIVE_TOLERANCE = 1e-6


def log(text):
    print(text, file=sys.stderr, flush=True)


def queries(numbers):
    return [(f"Q{n}", (SQL / "queries" / f"q{n:02}.sql").read_text()) for n in numbers]


def tables_of(data):
    """Tables in the order of the schema, so that keys exist before they are referred to."""
    schema = (SQL / "schema.sql").read_text().lower()
    return sorted((path.stem for path in data.glob("*.csv")), key=lambda t: schema.find(f"create table {t} ("))


# --- answers ---

def cell(text):
    """A number, or text without trailing blanks, and times without trailing zeros; empty counts as NULL."""
    if text is None:
        return ""
    text = re.sub(r"(:\d\d\.\d*[1-9])0+$", r"\1", str(text).rstrip())
    try:
        return float(text)
    except ValueError:
        return text


def sort_key(row):
    return [(0, f"{c:.5g}") if isinstance(c, float) else (1, c) for c in row]


def same_cell(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-9)
    return a == b


def same_answer(a, b):
    """Whether two lists of rows are equal, in any order of rows."""
    a, b = ([[cell(c) for c in row] for row in rows] for rows in (a, b))
    if len(a) != len(b):
        return False
    # texts first, so that numbers that differ in their last digits do not disturb the order
    order = lambda row: ([k for k in sort_key(row) if k[0] == 1], [k for k in sort_key(row) if k[0] == 0])
    return all(len(x) == len(y) and all(map(same_cell, x, y))
               for x, y in zip(sorted(a, key=order), sorted(b, key=order)))


# --- engines: each returns {query: {"first": ms, "ms": median, "rows": [[...]]} or {"error": text}} ---

def read_csv(path):
    with open(path, newline="") as file:
        return [row or [""] for row in csv.reader(file)]  # an empty line: a row of one NULL


def run_scyper(args, data, work):
    results = work / "scyper"
    results.mkdir()
    command = [args.scyper, "bench", "olap", "--warehouses", str(args.warehouses), "--profile", args.profile, "--repeat",
               str(args.repeat), "--threads", str(args.threads), "--queries", ",".join(map(str, args.queries)),
               "--scale", args.scale, "--results", str(results), "-o", "json"] + args.scyper_flag
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if not done.stdout.startswith("{"):
        raise SystemExit(f"compare.py: {' '.join(command)} failed: {done.stdout}")
    report = json.loads(done.stdout)
    if "queries" not in report:
        raise SystemExit(f"compare.py: scyper: {done.stdout}")
    out = {}
    for query in report["queries"]:
        if "error" in query:
            out[query["name"]] = {"error": query["error"]}
        else:
            rows = read_csv(results / (query["name"] + ".csv"))[1:]  # without the header
            out[query["name"]] = {"first": query["first_ms"], "ms": query["median_ms"],
                                  "reused_ms": query["reused_ms"], "rows": rows}
    return out


def run_duckdb(args, data, work):
    environment = pathlib.Path(args.venv)
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    if subprocess.run([str(python), "-c", "import duckdb"], stderr=subprocess.DEVNULL).returncode != 0:
        subprocess.run([str(python), "-m", "pip", "install", "-q", "duckdb"], check=True)
    request = {"data": str(data), "threads": args.threads, "repeat": args.repeat, "timeout": args.timeout,
               "queries": queries(args.queries), "tables": tables_of(data)}
    done = subprocess.run([str(python), __file__, "--in-duckdb"], input=json.dumps(request), stdout=subprocess.PIPE,
                          text=True, check=True)
    return json.loads(done.stdout)


def load_duckdb(database, table, path):
    """char(n) is varchar there: values lose the blanks that they are padded with, which SQL does not compare."""
    definition = re.search(rf"CREATE TABLE {table} \((.*?)\n\);", (SQL / "schema.sql").read_text(), re.S).group(1)
    columns = re.findall(r"^ +(\w+) +([a-z]\w*)", definition, re.M)
    values = ", ".join(f"rtrim({name})" if kind == "char" else name for name, kind in columns)
    names = ", ".join(f"'{name}': '{'VARCHAR' if kind == 'char' else found}'"
                      for (name, kind), found in zip(columns, duckdb_types(database, table)))
    database.execute(f"INSERT INTO {table} SELECT {values} FROM read_csv('{path}', header=false, columns={{{names}}})")


def duckdb_types(database, table):
    return [row[1] for row in database.execute(f"DESCRIBE {table}").fetchall()]


def in_duckdb():
    """Runs inside the virtual environment: a request on standard input, figures on standard output."""
    import threading
    import duckdb  # pylint: disable=import-error
    request = json.load(sys.stdin)
    database = duckdb.connect(":memory:", config={"threads": request["threads"]})
    database.execute((SQL / "schema.sql").read_text())
    for table in request["tables"]:
        load_duckdb(database, table, f"{request['data']}/{table}.csv")
    out = {}
    for name, sql in request["queries"]:
        times, rows = [], []
        try:
            for _ in range(request["repeat"]):
                timer = threading.Timer(request["timeout"], database.interrupt)
                timer.start()
                start = time.perf_counter()
                rows = database.execute(sql).fetchall()
                times.append((time.perf_counter() - start) * 1000)
                timer.cancel()
            out[name] = {"first": times[0], "ms": statistics.median(times),
                         "rows": [[None if c is None else str(c) for c in row] for row in rows]}
        except Exception as error:  # pylint: disable=broad-except
            timer.cancel()
            out[name] = {"error": str(error).splitlines()[0]}
    json.dump(out, sys.stdout)


def run_postgres(args, data, work):
    server = str(ROOT / "tools" / "postgres-server")
    directory = str(work / "postgres")
    psql = ["psql", "-h", directory, "-U", "postgres", "-d", "postgres", "-X", "-q", "-v", "ON_ERROR_STOP=1"]
    subprocess.run([server, "start", directory], check=True)
    try:
        subprocess.run(psql + ["-f", str(SQL / "schema.sql")], check=True, stdout=subprocess.DEVNULL)
        for table in tables_of(data):
            with open(data / f"{table}.csv") as file:
                subprocess.run(psql + ["-c", f"COPY {table} FROM STDIN (FORMAT csv)"], stdin=file, check=True)
        subprocess.run(psql + ["-c", "VACUUM ANALYZE"], check=True)
        return {name: postgres_query(psql, args, name, sql, work) for name, sql in queries(args.queries)}
    finally:
        subprocess.run([server, "stop", directory], check=True)


def postgres_query(psql, args, name, sql, work):
    settings = f"SET max_parallel_workers_per_gather = {args.threads - 1};\nSET work_mem = '1GB';\n" \
               f"SET statement_timeout = '{args.timeout}s';\n"
    answer = work / f"postgres_{name}.csv"
    body = sql.strip().rstrip(";")
    script = settings + "\\timing on\n\\pset format csv\n\\pset tuples_only on\n" + f"\\o {answer}\n" + \
        (body + ";\n") * args.repeat
    done = subprocess.run(psql, input=script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    text = done.stdout + (answer.read_text() if answer.exists() else "")
    times = [float(line.split()[1]) for line in text.splitlines() if line.startswith("Time: ")]
    if done.returncode != 0 or not times:
        return {"error": (done.stderr.strip() or "no answer").splitlines()[0]}
    lines = [line for line in answer.read_text().splitlines(keepends=True) if not line.startswith("Time: ")]
    rows = [row or [""] for row in csv.reader(lines)]
    return {"first": times[0], "ms": statistics.median(times), "rows": rows[: len(rows) // len(times)]}


ENGINES = {"scyper": run_scyper, "duckdb": run_duckdb, "postgres": run_postgres}


# --- the report ---

def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(max(v, 1e-3)) for v in values)) if values else None


def compare(answers, names):
    """answers: {engine: {query: figures}}."""
    reference = next((e for e in ("postgres", "duckdb") if e in answers), None)
    report = {"queries": [], "wrong": 0}
    for name in names:
        entry = {"name": name, "ms": {}, "first_ms": {}}
        for engine, figures in answers.items():
            one = figures.get(name, {"error": "not run"})
            if "error" in one:
                entry.setdefault("errors", {})[engine] = one["error"]
            else:
                entry["ms"][engine] = round(one["ms"], 3)
                entry["first_ms"][engine] = round(one["first"], 3)
                if "reused_ms" in one:
                    entry["reused_ms"] = round(one["reused_ms"], 3)
        for engine in answers:
            if reference in (None, engine) or not {engine, reference} <= entry["ms"].keys():
                continue
            if not same_answer(answers[engine][name]["rows"], answers[reference][name]["rows"]):
                entry.setdefault("differs_from_" + reference, []).append(engine)
                report["wrong"] += engine == "scyper"
        report["queries"].append(entry)
    # means over the queries that all engines have answered
    common = [q for q in report["queries"] if len(q["ms"]) == len(answers)]
    report["answered_by_all"] = len(common)
    report["geomean"] = {e: geometric_mean([q["ms"][e] for q in common]) for e in answers}
    without_q5 = [q for q in common if q["name"] != "Q5"]
    report["geomean_without_q5"] = {e: geometric_mean([q["ms"][e] for q in without_q5]) for e in answers}
    if "scyper" in answers and common:
        ours = report["geomean"]["scyper"]
        report["geomean_ratio"] = {e: ours / m for e, m in report["geomean"].items() if e != "scyper"}
        report["failed"] = sum("scyper" in q.get("errors", {}) for q in report["queries"])
        peers = [(q["ms"]["scyper"], min(v for e, v in q["ms"].items() if e != "scyper"))
                 for q in common if len(answers) > 1]
        if peers:
            report["worst_against_fastest_peer"] = max(a / b for a, b in peers)
    return report


def print_table(report, engines):
    print(f"{'query':6}" + "".join(f"{e + ' ms':>14}" for e in engines))
    for query in report["queries"]:
        cells = "".join(f"{query['ms'][e]:14.1f}" if e in query["ms"] else f"{'-':>14}" for e in engines)
        notes = [f"{e}: {text}" for e, text in query.get("errors", {}).items()]
        differs = [f"{', '.join(query[k])} {k.replace('_', ' ')}" for k in query if k.startswith("differs")]
        print(f"{query['name']:6}{cells}  {'; '.join(notes + differs)}")
    print("mean  " + "".join(f"{report['geomean'][e] or 0:14.1f}" for e in engines))
    for engine, ratio in report.get("geomean_ratio", {}).items():
        print(f"scyper / {engine}: {ratio:.2f}")
    print(f"wrong answers: {report['wrong']}")


def main():
    if sys.argv[1:] == ["--in-duckdb"]:
        return in_duckdb()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", default="scyper,duckdb,postgres")
    parser.add_argument("--warehouses", type=int, default=12)
    parser.add_argument("--profile", default="spec", choices=["spec", "varied", "census"])
    parser.add_argument("--scale", default="full", choices=["full", "tiny"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--queries", default="", help="1,5,...; default: all")
    parser.add_argument("--timeout", type=int, default=300, help="seconds per query of a peer")
    parser.add_argument("--build", default=str(ROOT / "build" / "release"), help="build tree")
    parser.add_argument("--scyper-flag", action="append", default=[], help="one more flag for scyper bench olap")
    parser.add_argument("-o", "--output", default="table", choices=["table", "json"])
    args = parser.parse_args()
    args.queries = [int(n) for n in args.queries.split(",")] if args.queries else list(range(1, 23))
    args.scyper = str(pathlib.Path(args.build) / "bin" / "scyper")
    args.venv = str(pathlib.Path(args.build) / "peers-venv")
    engines = args.engines.split(",")
    unknown = [e for e in engines if e not in ENGINES]
    if unknown:
        parser.error(f"unknown engine: {', '.join(unknown)}")
    work = pathlib.Path(tempfile.mkdtemp(prefix="scyper-peers-"))
    os.chmod(work, 0o755)
    try:
        data = work / "data"
        data.mkdir()
        if set(engines) - {"scyper"}:
            subprocess.run([args.scyper, "bench", "olap", "--export", str(data), "--warehouses", str(args.warehouses),
                            "--profile", args.profile, "--scale", args.scale], check=True)
        answers = {}
        for engine in engines:
            log(f"{engine} ...")
            answers[engine] = ENGINES[engine](args, data, work)
        report = compare(answers, [f"Q{n}" for n in args.queries])
        report.update({"warehouses": args.warehouses, "profile": args.profile, "threads": args.threads,
                       "repeat": args.repeat})
        if args.output == "json":
            print(json.dumps(report, indent=2))
        else:
            print_table(report, engines)
        return 1 if report["wrong"] else 0
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
