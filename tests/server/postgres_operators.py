#!/usr/bin/env python3
"""Operators and functions of the base types beside a throwaway PostgreSQL: the type and the value of each result.

Usage: postgres_operators.py SCYPERD [--all]
Every operator stands between operands of every pair of types, and every built-in function of one or two arguments gets
values of the types it declares. A difference is another type, another value or another SQLSTATE. Functions that a node
does not have at all are counted, not compared. --all shows every difference. The exit code counts the failures.
"""
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

from postgres_servers import Node, Postgres
from checks import CHECKS, expect

SAMPLES = {
    "int2": ["2::int2", "(-7)::int2", "32767::int2"],
    "int4": ["3::int4", "(-5)", "2147483647"],
    "int8": ["4::int8", "(-9)::int8", "9223372036854775807"],
    "numeric": ["2.50::numeric", "(-7.125)", "'NaN'::numeric", "1e10::numeric(20,3)"],
    "float4": ["1.5::float4", "(-0.1)::float4", "3e38::float4"],
    "float8": ["2.5::float8", "(-1e-7)::float8", "'Infinity'::float8"],
    "text": ["'abc'::text", "'12'::text", "''::text"],
    "varchar": ["'Ab '::varchar", "'x'::varchar(3)"],
    "bpchar": ["'ab '::bpchar(4)", "'Z'::char"],
    "bool": ["true", "false"],
    "date": ["'2024-02-29'::date", "'infinity'::date", "'0044-03-15 BC'::date"],
    "time": ["'13:14:15.5'::time", "'00:00'::time"],
    "timestamp": ["'2024-02-29 13:14:15.678'::timestamp", "'-infinity'::timestamp"],
    "timestamptz": ["'2024-07-01 12:00+02'::timestamptz", "'infinity'::timestamptz"],
    "interval": ["'1 mon 2 days 03:04:05'::interval", "'-1 day'::interval"],
    "bytea": ["'\\x0102'::bytea", "''::bytea"],
    "uuid": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid"],
    "json": ["'{\"a\":1}'::json"],
    "jsonb": ["'{\"a\":1}'::jsonb", "'[1,2]'::jsonb", "'2.5'::jsonb"],
    "unknown": ["'1'", "NULL"],
}
NO_SUCH = "ERROR 42883"
BINARY = "+ - * / % ^ & | # << >> = <> < <= > >= || ~ !~ ~* ~~ -> ->> @> <@ ? &&".split()
UNARY = "+ - @ |/ ||/ ~".split()
# The result is of the machine, the clock or the session.
LEFT_OUT = re.compile(r"^(pg_|has_|current_|row_security|now|timeofday|age$|.*_(in|out|recv|send)$|(query|table|cursor|schema|database)_to_)")


# Known differences, by the group's beginning.
KNOWN = {
    r"json -> ": "gives jsonb",
    r"json_strip_nulls": "gives jsonb",
    r"(bytea|unknown) ~~ (bytea|unknown)": "no LIKE of bytes",
    r"(oid|regclass|to_reg\w+)\(": "names of objects are looked up by their own rules",
}


def operator_cases():
    """(group, expression) for all samples of every pair of types."""
    for op in BINARY:
        for left, lefts in SAMPLES.items():
            for right, rights in SAMPLES.items():
                if left == right == "unknown":
                    continue
                for i in range(max(len(lefts), len(rights))):
                    yield f"{left} {op} {right}", f"{lefts[i % len(lefts)]} {op} {rights[i % len(rights)]}"
    for op in UNARY:
        for kind, values in SAMPLES.items():
            for value in values:
                yield f"{op} {kind}", f"{op} {value}"


def function_cases(psql):
    rows = psql("""SELECT proname, string_agg(t.typname, ' ' ORDER BY n) FROM pg_proc p, unnest(proargtypes) WITH ORDINALITY a(id, n)
        JOIN pg_type t ON t.oid = a.id WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset
        AND provolatile <> 'v' AND pronargs IN (1, 2) AND proargmodes IS NULL GROUP BY p.oid, proname ORDER BY 1, 2""")
    for name, kinds in (row.split("|") for row in rows.splitlines()):
        kinds = kinds.split()
        if LEFT_OUT.match(name) or any(kind not in SAMPLES for kind in kinds):
            continue
        lists = [SAMPLES[kind] for kind in kinds]
        for i in range(max(len(values) for values in lists)):
            yield f"{name}({', '.join(kinds)})", f"{name}({', '.join(values[i % len(values)] for values in lists)})"


def psql_of(conninfo):
    def run(script):
        environment = {**os.environ, "PGTZ": "UTC", "PGCONNECT_TIMEOUT": "30"}
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(script)
            file.flush()
            done = subprocess.run(["psql", "-X", "-q", "-At", "-v", "VERBOSITY=sqlstate", "-P", "null=<N>", "-d", conninfo, "-f", file.name],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, timeout=600, check=False)
        return done.stdout

    return run


def answers(psql, expressions):
    """For each expression "type|value" or "ERROR: SQLSTATE". Notices are left out: PostgreSQL says them again when it folds constants."""
    script = "\n".join(f"\\echo @{i}\nSELECT pg_typeof(x), x::text FROM (SELECT {expression} AS x) s;" for i, expression in enumerate(expressions))
    found = dict.fromkeys(range(len(expressions)), "")
    at = None
    for line in psql(script).splitlines():
        if line.startswith("@") and line[1:].isdigit():
            at = int(line[1:])
        elif at is not None and not re.match(r"^psql:[^ ]+ NOTICE: ", line):
            found[at] += re.sub(r"^psql:[^ ]+ ERROR: +", "ERROR ", line) + "\n"
    return [found[i].strip() for i in range(len(expressions))]


def compare(cases, wanted_of, found_of):
    """Differences by group, and the groups that a node does not have."""
    differences, missing = collections.defaultdict(list), set()
    expressions = [expression for _, expression in cases]
    with concurrent.futures.ThreadPoolExecutor() as both:
        wanted_all, found_all = both.map(lambda psql: answers(psql, expressions), (wanted_of, found_of))
    for (group, expression), wanted, found in zip(cases, wanted_all, found_all):
        if "(" in group and found == NO_SUCH and wanted != NO_SUCH:
            missing.add(group)
        elif wanted != found:
            differences[group].append(f"{expression}: PostgreSQL {wanted!r}, here {found!r}")
    exist = {group for (group, _), wanted in zip(cases, wanted_all) if wanted != NO_SUCH}
    return differences, missing, exist


def main():
    show_all = "--all" in sys.argv
    node = Node(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        postgres = Postgres(directory)
        wanted_of, found_of = psql_of(postgres.conninfo), psql_of(node.conninfo)
        cases = [*operator_cases(), *function_cases(wanted_of)]
        firsts = list(dict(reversed(cases)).items())  # one of each group shows whether there is such an operator at all
        differences, missing, exist = compare(firsts, wanted_of, found_of)
        rest = [case for case in cases if case[0] in exist - missing and case not in firsts]
        for group, lines in compare(rest, wanted_of, found_of)[0].items():
            differences[group] += lines
        postgres.stop()
    known = {group for group in differences if any(re.match(beginning, group) for beginning in KNOWN)}
    print(f"known: {len(known)}")
    for group in known:
        del differences[group]
    for group, lines in sorted(differences.items()):
        expect(group, False, "\n".join(lines if show_all else lines[:1]))
    expect(f"{len(firsts) + len(rest)} expressions, {len(missing)} functions that a node does not have", not differences)
    if show_all:
        print("missing:", ", ".join(sorted(missing)))
    expect("the node ends", node.stop() == 0)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
