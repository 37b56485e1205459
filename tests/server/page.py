#!/usr/bin/env python3
"""The web page of real nodes, in headless Chromium: a primary with a secondary, under load; then the node ends.

Usage: page.py SCYPERD SCYPER [PICTURE]   Debian: chromium-headless-shell. Nothing is timed: what is not there yet is looked for again until
patience ends. PICTURE: where the primary's page goes, as PNG.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from browser import Page
from checks import CHECKS, comes_true, expect, run, wait_for

PICTURE_S = 60  # of which its lines tell
SECRET = "Rumpelstilzchen"
SLOW = f"""SELECT count(*) AS "<b>bold</b>" FROM generate_series(1, 1000) a(x), generate_series(1, 1000) b(y) WHERE a.x * b.y % 7 = 3 AND '{SECRET}' <> ''"""


class Node:
    def __init__(self, directory, program, name, *flags, port=0):
        self.messages = directory / f"{name}.messages"
        command = [program, "--listen", f"127.0.0.1:{port}", "--http-listen", "127.0.0.1:0", "--node-name", name, "--partitions", "4", "--workers", "2",
                   "--memory", "256MB", "--pages", "small", "--data-directory", directory / name, *flags]
        with open(self.messages, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=out)
        try:
            found = wait_for(f"the ports of {name}", self.look)
        except (RuntimeError, TimeoutError):
            self.stop()
            raise
        self.target, self.url = f"127.0.0.1:{found[1]}", f"http://127.0.0.1:{found[2]}/"

    def look(self):
        text = self.messages.read_text()
        if self.process.poll() is not None:
            raise RuntimeError(text)
        return re.search(r"gRPC on port (\d+), http://localhost:(\d+)/metrics", text)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def get(url):
    """Code, headers and text."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read().decode()


def check_http(node):
    code, headers, text = get(node.url)
    expect("the page is HTML", code == 200 and headers["Content-Type"] == "text/html; charset=utf-8", headers)
    expect("it may load nothing from elsewhere", "default-src 'none'" in headers["Content-Security-Policy"], headers)
    foreign = [url for url in re.findall(r"https?://[^\s\"'`]+", text) if not url.startswith("http://www.w3.org/")]
    expect("it names nothing foreign", not foreign and "src=" not in text and "@import" not in text, foreign)
    code, headers, text = get(node.url + "status.json")
    status = json.loads(text)
    expect("what it shows is JSON", code == 200 and headers["Content-Type"] == "application/json" and status["node"] == "p1", text)
    expect("whole, with what is 0", status["log_full"] is False and status["refused"] == "0" and len(status["queue_depths"]) == 2, text)
    for path in ("nothing", "metrics/more", "status.json/", "index.html"):
        expect(f"/{path} is not there", get(node.url + path)[0] == 404)


def has(page, selector, pattern):
    return any(re.search(pattern, text) for text in page.texts(selector))


def check_primary(page):
    def shows(what, selector, pattern):
        expect(what, comes_true(what, lambda: has(page, selector, pattern)), page.texts("body")[0][:3000])
    shows("who it is", "h1", r"p1, primary")
    shows("transactions a second", ".tile", r"^transactions/s[1-9]")
    shows("what is written", ".tile", r"^log/s[1-9].* [KM]?B")
    shows("the secondary, which takes queries", "#nodes tbody tr", r"^s1127\.0\.0\.1:\d+noyes")
    shows("procedures, and how many there were", "#procedures tbody tr", r"^pay[\d.]+")
    shows("snapshots", "#snapshots tbody tr td:nth-child(7)", r"^[1-9]")
    shows("slow queries without their constants", "#slow tbody td.text", r'^SELECT count\(\*\) AS "<b>bold</b>" FROM generate_series\(\$1, \$2\)')
    text = page.texts("body")[0]
    expect("no constant is shown", SECRET not in text, text)
    expect("texts are not HTML", not page.texts("b"))
    expect("no trouble is told", not page.texts("#trouble"), page.texts("#trouble"))
    expect("nothing about elections, which it has not", not page.texts("#election td"))
    expect("the page has no complaints", not page.complaints, page.complaints)


def main(scyperd, scyper, picture=None):
    nodes, pages = [], []
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        try:
            nodes.append(Node(directory, scyperd, "p1", "--replication"))
            nodes.append(Node(directory, scyperd, "s1", "--role", "secondary", "--primary", nodes[0].target))
            primary, secondary = nodes

            def sql(*commands):
                code, text = run(scyper, "sql", "--target", primary.target, *(part for command in commands for part in ("-c", command)))
                if code != 0:
                    expect(f"scyper sql {commands[0][:30]}", False, text)
            sql("CREATE TABLE account (id integer PRIMARY KEY, balance integer)", "INSERT INTO account SELECT i, 0 FROM generate_series(1, 100) i",
                "CREATE PROCEDURE pay(n integer) LANGUAGE plpgsql AS $$ BEGIN UPDATE account SET balance = balance + n WHERE id = n; END $$")

            check_http(primary)
            pages.append(Page(primary.url))
            over = threading.Event()

            def load():
                while not over.is_set():
                    sql(*(f"CALL pay({i})" for i in range(1, 60)), SLOW)
            loading = threading.Thread(target=load)
            loading.start()
            try:
                check_primary(pages[0])
                if picture:
                    time.sleep(PICTURE_S)
                    pages[0].picture(picture)
            finally:
                over.set()
                loading.join()
            pages.append(Page(secondary.url))
            expect("the secondary shows itself", comes_true("", lambda: has(pages[1], "h1", "s1, secondary")), pages[1].texts("body"))
            expect("and how far it is behind", comes_true("", lambda: has(pages[1], ".tile", r"^behind[\d.]+ ")), pages[1].texts(".tile"))
            primary.stop()
            expect("a node that has ended is told of", comes_true("", lambda: has(pages[0], "#trouble", "does not answer")), pages[0].texts("body"))
        finally:
            for page in pages:
                page.close()
            for node in reversed(nodes):
                node.stop()
            if CHECKS.failures:
                for node in nodes:
                    print(f"--- {node.messages.read_text()[-2000:]}")
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
