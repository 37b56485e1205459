#!/usr/bin/python3
"""What dashboards and pages of applications ask of one table, on a node beside PostgreSQL 15 and DuckDB, all with default settings.

Usage: dashboards.py SCYPERD [--rows N] [--repeat N] [--only NAME,...] [--venv DIR] [-o json]
Needs python3-psycopg and tools/postgres-server; DuckDB comes from PyPI into the virtual environment DIR and runs with two threads.
Times are medians in milliseconds, from the text to the last row in the client, first_ms that of the first run. `ratio`: the node's time over
the better of the peers'. Answers are compared: with PostgreSQL's, numbers up to one part in a million.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import psycopg

    from interactive import Server, both_servers
except ImportError:  # inside DuckDB's environment
    psycopg = None

TABLE = "CREATE TABLE sales (id bigint PRIMARY KEY, ts timestamp, customer integer, product integer, amount numeric(10,2), region varchar(8))"
ROW = ("i, timestamp '2026-01-01' + to_seconds * interval '1 second', (i * 7919) % 50000, (i * 10472) % 1000, ((i * 31) % 10000) / 100.0, "
       "'r' || (i % 20)")
INDEXES = ["CREATE INDEX sales_ts ON sales (ts)", "CREATE INDEX sales_customer ON sales (customer)"]
DASHBOARD = {
    "hourly_series": "SELECT date_trunc('hour', ts) AS h, sum(amount), count(*) FROM sales GROUP BY 1 ORDER BY 1",
    "top_ten": "SELECT product, sum(amount) AS s FROM sales GROUP BY product ORDER BY s DESC, product LIMIT 10",
    "percentiles": "SELECT region, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount), percentile_cont(0.95) WITHIN GROUP (ORDER BY amount) FROM sales GROUP BY region ORDER BY region",
    "distinct_per_day": "SELECT CAST(ts AS date) AS d, count(DISTINCT customer) FROM sales GROUP BY 1 ORDER BY 1",
    "moving_average": "SELECT h, s, avg(s) OVER (ORDER BY h ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) FROM (SELECT date_trunc('hour', ts) AS h, sum(amount) AS s FROM sales GROUP BY 1) x ORDER BY h",
    "rollup": "SELECT region, product % 10, sum(amount), count(*) FROM sales GROUP BY ROLLUP (region, product % 10) ORDER BY 1, 2",
    "funnel": "SELECT count(*), count(b), count(c) FROM (SELECT customer, max(CASE WHEN product < 100 THEN 1 END) AS b, max(CASE WHEN product < 10 AND amount > 50 THEN 1 END) AS c FROM sales GROUP BY customer) x",
    "rank_per_group": "SELECT * FROM (SELECT region, product, sum(amount) AS s, rank() OVER (PARTITION BY region ORDER BY sum(amount) DESC, product) AS r FROM sales GROUP BY region, product) x WHERE r <= 3 ORDER BY region, r",
    "join_with_filters": "SELECT c.segment, sum(s.amount), count(*) FROM sales s JOIN customers c ON c.id = s.customer WHERE c.since < 2000 AND s.ts >= timestamp '2026-01-10' GROUP BY 1 ORDER BY 1",
    "last_values": "SELECT customer, ts, amount FROM (SELECT customer, ts, amount, row_number() OVER (PARTITION BY customer ORDER BY ts DESC) AS r FROM sales) x WHERE r = 1 ORDER BY customer",
}
PAGES = {
    "first_rows": "SELECT * FROM sales LIMIT 2",
    "newest": "SELECT * FROM sales ORDER BY ts DESC LIMIT 3",
    "extremes": "SELECT min(ts), max(ts) FROM sales",
    "first_matches": "SELECT id FROM sales WHERE amount > 50 LIMIT 5",
    "exists": "SELECT EXISTS (SELECT 1 FROM sales WHERE region = 'r7')",
    "keyset": "SELECT id, ts FROM sales WHERE (ts, id) > (timestamp '2026-01-05 10:00', 1000) ORDER BY ts, id LIMIT 20",
    "few_keys": "SELECT count(*) FROM sales WHERE id IN (1, 2, 3, 500, 70000)",
    "many_keys": "SELECT sum(amount) FROM sales WHERE id IN (" + ", ".join(str(37 * i) for i in range(10_000)) + ")",
    "any_of_array": "SELECT count(*) FROM sales WHERE id = ANY (ARRAY[1, 2, 3, 500, 70000])",
    "not_in": "SELECT count(*) FROM sales WHERE customer NOT IN (SELECT customer FROM sales WHERE amount > 99.5)",
    "count_distinct": "SELECT count(DISTINCT customer) FROM sales",
    "percentile_cont": "SELECT percentile_cont(0.99) WITHIN GROUP (ORDER BY amount) FROM sales",
    "mode": "SELECT mode() WITHIN GROUP (ORDER BY product) FROM sales",
    "median_by_customer": "SELECT avg(m) FROM (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) AS m FROM sales GROUP BY customer) x",
}
QUESTIONS = DASHBOARD | PAGES
ANY_ANSWER = {"first_rows", "first_matches"}


def statements(rows, is_duckdb):
    source = f"range(1, {rows + 1}) t(i)" if is_duckdb else f"generate_series(1, {rows}::bigint) i"
    customers = "range(0, 50000) t(i)" if is_duckdb else "generate_series(0, 49999) i"
    yield TABLE
    yield "CREATE TABLE customers (id integer PRIMARY KEY, segment varchar(8), since integer)"
    yield f"INSERT INTO sales SELECT {ROW.replace('to_seconds', 'i')} FROM {source}"
    yield f"INSERT INTO customers SELECT i, 's' || (i % 5), i % 4000 FROM {customers}"
    yield from INDEXES
    if not is_duckdb:
        yield "ANALYZE"


def timed(execute, repeat):
    times, rows = [], []
    for _ in range(repeat):
        begin = time.perf_counter()
        rows = execute()
        times.append(1000 * (time.perf_counter() - begin))
    return {"first_ms": times[0], "ms": statistics.median(times[1:] or times), "rows": [[shown(cell) for cell in row] for row in rows]}


def shown(cell):
    if cell is None or isinstance(cell, (bool, int, str)):
        return cell
    try:
        return float(cell)
    except (TypeError, ValueError):
        return str(cell)


def same(a, b):
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
    return a == b


def same_rows(a, b):
    return len(a) == len(b) and all(len(x) == len(y) and all(map(same, x, y)) for x, y in zip(a, b))


def ask_server(server, options, names):
    with psycopg.connect(server.conninfo(), autocommit=True) as db:
        for statement in statements(options.rows, is_duckdb=False):
            db.execute(statement)
        return {name: timed(lambda: db.execute(QUESTIONS[name]).fetchall(), options.repeat) for name in names}


def ask_duckdb(options, names):
    python = pathlib.Path(options.venv) / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", options.venv], check=True)
    if subprocess.run([python, "-c", "import duckdb"], stderr=subprocess.DEVNULL).returncode != 0:
        subprocess.run([python, "-m", "pip", "install", "-q", "duckdb"], check=True)
    request = json.dumps({"rows": options.rows, "repeat": options.repeat, "names": names})
    done = subprocess.run([python, __file__, "--in-duckdb"], input=request, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def in_duckdb():
    """Runs inside the virtual environment: a request on standard input, figures on standard output."""
    import duckdb  # pylint: disable=import-error
    request = json.load(sys.stdin)
    database = duckdb.connect(":memory:", config={"threads": 2})
    for statement in statements(request["rows"], is_duckdb=True):
        database.execute(statement)
    print(json.dumps({name: timed(lambda: database.execute(QUESTIONS[name]).fetchall(), request["repeat"]) for name in request["names"]}))


def main():
    if sys.argv[1:] == ["--in-duckdb"]:
        return in_duckdb()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scyperd")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default=",".join(QUESTIONS))
    parser.add_argument("--venv", default=str(pathlib.Path(tempfile.gettempdir()) / "scyper-duckdb"))
    parser.add_argument("-o", "--output", choices=["json"], default="json")
    options = parser.parse_args()
    names = options.only.split(",")
    figures = {"duckdb": ask_duckdb(options, names)}
    with both_servers(options.scyperd, memory="6GB") as (folder, port, postgres_folder):
        for server in (Server("scyper", folder, port, "scyper", "scyper"), Server("postgres", postgres_folder, 5432, "postgres", "postgres")):
            figures[server.name] = ask_server(server, options, names)
    report = {}
    for name in names:
        found = {engine: figures[engine][name] for engine in figures}
        best = min(found["postgres"]["ms"], found["duckdb"]["ms"])
        is_same = name in ANY_ANSWER or same_rows(found["scyper"]["rows"], found["postgres"]["rows"])
        report[name] = {engine: {key: round(figure[key], 2) for key in ("first_ms", "ms")} for engine, figure in found.items()}
        report[name] |= {"ratio": round(found["scyper"]["ms"] / best, 2), "same_answer": is_same}
    dashboard = [report[name]["ratio"] for name in names if name in DASHBOARD]
    print(json.dumps({"rows": options.rows, "questions": report, "worst_dashboard_ratio": max(dashboard, default=None),
                      "answers_that_differ": [name for name in names if not report[name]["same_answer"]]}, indent=2))
    return None


if __name__ == "__main__":
    main()
