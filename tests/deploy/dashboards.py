#!/usr/bin/env python3
"""Every expression of the dashboards and alerts, asked of a real Prometheus that watches a small cluster under load.

Usage: dashboards.py SCYPERD SCYPER [PICTURES]   PICTURES: a folder, for a picture of each dashboard after some minutes of load.
Prometheus runs with deploy/prometheus as it is, but for shorter intervals and other targets. Debian: prometheus, python3-yaml. Nothing
is timed: what has no data yet is asked again until patience ends. A node of a cluster of its own is elected, for the metrics of elections (Debian: etcd-server).
Then its etcd, a secondary and the primary end, as some alerts want it. The exit code counts the failures.
"""
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from alert_faults import FLAGS, Faults
from checks import CHECKS, comes_true, expect, wait_for
from dashboard_picture import picture
from faulty_nodes import FaultyNodes
from nodes import PATIENCE_S, Node, Process, free_address, get

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CALM_S = 420  # longer than the windows of the rates in the alerts: what was slow when it began is forgotten then
ATTEMPT_S = 60
SELECTOR = re.compile(r"\b(?:(?:scyper|process)_[a-z_]+|up)\b(?:\{[^}]*\})?")
WINDOW = "30s"
PICTURE_S = 240  # that pictures show


class Etcd(Process):
    """One member. Free ports are drawn anew when others took them meanwhile."""

    def __init__(self, directory, attempt):
        self.address, peer = free_address(), free_address()
        super().__init__(directory, f"etcd{attempt}", "etcd", "--name=e", f"--data-dir={directory}/etcd{attempt}",
                         f"--listen-client-urls=http://{self.address}", f"--advertise-client-urls=http://{self.address}",
                         f"--listen-peer-urls=http://{peer}", f"--initial-advertise-peer-urls=http://{peer}", f"--initial-cluster=e=http://{peer}")


def start_etcd(directory):
    for attempt in range(5):
        etcd = Etcd(directory, attempt)
        try:
            etcd.line("ready to serve client requests|serving (insecure )?client")
            return etcd
        except RuntimeError as e:
            etcd.stop()
            print(e)
    raise RuntimeError("etcd does not start")


def start_elected(directory, program, etcd, scyper):
    """A cluster of one node, with a certificate, whose port is drawn anew when another took it meanwhile."""
    made = directory / "certificates"
    subprocess.run([scyper, "certs", made, "--node", "e1"], check=True, capture_output=True)
    for _ in range(5):
        node = Node(directory, program, "e1", "--cluster", "elected", "--etcd", etcd.address, "--voter-names", "e1", "--peer-listen", "127.0.0.1:0",
                    "--tls-cert", made / "e1.pem", "--tls-key", made / "e1.key", "--tls-client-ca", made / "ca.pem", listen=free_address(), cluster="elected")
        try:
            node.wait()
            return node
        except RuntimeError as e:
            node.stop()
            print(e)
    raise RuntimeError("no node can be elected")


def watch(folder, nodes):
    targets = [{"targets": [node.http], "labels": {"cluster": node.cluster, "node": node.name}} for node in nodes]
    (folder / "targets" / "scyper.yml").write_text(yaml.safe_dump(targets))


def start_prometheus(directory, nodes):
    """deploy/prometheus, copied; only intervals and targets differ. The free port is drawn anew when another took it meanwhile."""
    folder = directory / "prometheus"
    shutil.copytree(DEPLOY / "prometheus", folder)
    text = (folder / "prometheus.yml").read_text()
    (folder / "prometheus.yml").write_text(re.sub(r"(scrape|evaluation)_interval: \w+", r"\1_interval: 1s", text))
    watch(folder, nodes)
    for attempt in range(5):
        address = free_address()
        prometheus = Process(directory, f"prometheus{attempt}", "prometheus", f"--config.file={folder}/prometheus.yml",
                             f"--storage.tsdb.path={directory}/tsdb", f"--web.listen-address={address}")
        try:
            prometheus.line("Server is ready to receive web requests")
            return prometheus, f"http://{address}/api/v1"
        except RuntimeError as e:
            prometheus.stop()
            print(e)
    raise RuntimeError("Prometheus does not start")


class Load:
    """Work of every kind that metrics count, a little of it each time."""

    def __init__(self, directory, program, nodes):
        self.program, self.nodes, self.primary = program, nodes, nodes[0]
        self.rows = directory / "rows"
        self.rows.write_text("1\n2\n")
        self.run("bench", "oltp", "--scale", "tiny", "--warehouses", 1, "--transactions", 200, "--warmup-seconds", 0.01, "--batch", 16,
                 attempt_s=PATIENCE_S)
        self.run("backup", attempt_s=PATIENCE_S)

    def run(self, *command, attempt_s=ATTEMPT_S):
        """Load that has no answer is told and given up: whether there is enough of it, the expressions say."""
        try:
            run = subprocess.run([self.program, *map(str, command), "--target", self.primary.address], text=True, capture_output=True,
                                 timeout=attempt_s, check=False)
        except subprocess.TimeoutExpired:
            print(f"scyper {command} had no answer in {attempt_s} s", flush=True)
            for node in self.nodes:
                waits = re.findall(r"(?m)^scyper_(?:quer|snapshots|replication_(?:lag|serves)).*$", get(f"http://{node.http}/metrics"))
                print(f"  {node.name}: " + ", ".join(waits), flush=True)
            return
        if run.returncode != 0:
            raise RuntimeError(f"scyper {command}: {run.stdout}{run.stderr}")

    def add(self):
        self.run("bench", "oltp", "--loaded", "--scale", "tiny", "--warehouses", 1, "--transactions", 100, "--warmup-seconds", 0.01, "--batch", 16)
        self.run("sql", "-c", "SELECT count(*) FROM orders", "-c", "SELECT sum(ol_amount) FROM order_line")
        self.run("sql", "-c", "CREATE TABLE IF NOT EXISTS copied (a integer)", "-c", f"\\copy copied FROM '{self.rows}'")


def ask(api, query, cluster=None):
    """The values of an instant query, of one cluster or all, or the error."""
    try:
        answer = json.loads(get(f"{api}/query?" + urllib.parse.urlencode({"query": query})))
    except urllib.error.HTTPError as e:
        raise ValueError(e.read().decode()) from e
    return [float(sample["value"][1]) for sample in answer["data"]["result"] if cluster in (None, sample["metric"].get("cluster"))]


def ask_range(api, query, step_s=5):
    """Labels and points (second, value) of each series, over the last PICTURE_S."""
    end = time.time()
    answer = json.loads(get(f"{api}/query_range?" + urllib.parse.urlencode({"query": query, "start": end - PICTURE_S, "end": end, "step": step_s})))
    return [(one["metric"], [(float(at), float(value)) for at, value in one["values"]]) for one in answer["data"]["result"]]


def with_variables(dashboard, text):
    cluster = "elected" if dashboard["uid"] == "scyper-elections" else "tested"
    for name, value in (("$cluster", cluster), ("$node", ".*"), ("$__rate_interval", WINDOW), ("$__range", WINDOW)):
        text = text.replace(name, value)
    return text


def draw(api, load, folder):
    """What docs/pictures shows."""
    end = time.monotonic() + PICTURE_S
    while time.monotonic() < end:
        load.add()
    for path in sorted((DEPLOY / "grafana" / "dashboards").glob("*.json")):
        one = json.loads(path.read_text())
        (pathlib.Path(folder) / f"{path.stem}.svg").write_text(picture(one, lambda text, one=one: ask_range(api, with_variables(one, text))))


def panel_expressions(dashboard):
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield f'{dashboard["title"]}, {panel["title"]}, {target["legendFormat"]}', with_variables(dashboard, target["expr"])


def all_expressions():
    """What has to have a number: each panel's expression, and each selector of panels and alerts."""
    wanted, valid, selectors = {}, {}, {}
    for path in sorted((DEPLOY / "grafana" / "dashboards").glob("*.json")):
        for what, text in panel_expressions(json.loads(path.read_text())):
            wanted[what] = text
            selectors |= {f"{selector} of {what}": selector for selector in SELECTOR.findall(text)}
    for group in yaml.safe_load((DEPLOY / "prometheus" / "rules" / "scyper.yml").read_text())["groups"]:
        for rule in group["rules"]:
            valid[rule["alert"]] = rule["expr"]
            selectors |= {f'{selector} of {rule["alert"]}': selector for selector in SELECTOR.findall(rule["expr"])}
    return {**wanted, **selectors}, valid


def check_data(api, load, wanted):
    deadline = time.monotonic() + PATIENCE_S
    missing = dict(wanted)
    while missing and time.monotonic() < deadline:
        load.add()
        for what, text in list(missing.items()):
            try:
                if any(math.isfinite(value) for value in ask(api, text)):
                    del missing[what]
            except ValueError as e:
                expect(f"{what} is valid", False, (text, str(e)))
                del missing[what]
    for what in wanted:
        expect(f"{what} has data", what not in missing, wanted[what])


def check_metrics_are_shown(nodes, texts):
    exported = set()
    for node in nodes:
        exported |= set(re.findall(r"(?m)^# TYPE (\w+)", get(f"http://{node.http}/metrics")))
    used = {re.sub(r"_(sum|count|bucket)$", "", name) for text in texts for name in re.findall(r"\b(?:scyper|process)_\w+", text)}
    expect("every metric that nodes export is shown", exported <= used, sorted(exported - used))


def check_alerts(api, valid):
    for name, text in valid.items():
        try:
            # alerts wait before they fire: a scrape that a busy machine has missed is none
            expect(f"{name} does not fire on a healthy cluster", comes_true(name, lambda text=text: not ask(api, text), CALM_S), text)
        except ValueError as e:
            expect(f"{name} is valid", False, (text, str(e)))
    rules = [rule for group in json.loads(get(f"{api}/rules"))["data"]["groups"] for rule in group["rules"]]
    expect("Prometheus evaluates every alert", len(rules) == len(valid) and all(rule["health"] == "ok" for rule in rules), rules)


def check_faults(api, valid, primary, secondary, etcd):
    """What alerts wait for happens; how long they wait is tried by promtool (alerts.py)."""
    def fires(name):
        return comes_true(name, lambda: ask(api, valid[name]), PATIENCE_S)
    etcd.stop()
    expect("ScyperNoFailover fires when etcd has ended", fires("ScyperNoFailover"), valid["ScyperNoFailover"])
    secondary.stop()
    for name in ("ScyperNodeDown", "ScyperSecondaryMissing"):
        expect(f"{name} fires when a secondary has ended", fires(name), valid[name])
    expect("ScyperNoPrimary does not", comes_true("no alert", lambda: not ask(api, valid["ScyperNoPrimary"]), PATIENCE_S))
    primary.stop()
    expect("ScyperNoPrimary fires when the primary has ended", fires("ScyperNoPrimary"), valid["ScyperNoPrimary"])


def check_files():
    run = subprocess.run([ROOT / "tools" / "dashboards", "--check"], text=True, capture_output=True, check=False)
    expect("dashboards are made from their description", run.returncode == 0, run.stdout + run.stderr)
    dashboards = [json.loads(path.read_text()) for path in (DEPLOY / "grafana" / "dashboards").glob("*.json")]
    expect("dashboards have names of their own", len({one["uid"] for one in dashboards}) == len(dashboards) > 0)
    for one in dashboards:
        ids = [panel["id"] for panel in one["panels"]]
        expect(f'{one["title"]}: numbers of panels', len(set(ids)) == len(ids))
        expect(f'{one["title"]}: variables', [v["name"] for v in one["templating"]["list"]] == ["datasource", "cluster", "node"])
    for kind, key in (("datasources", "datasources"), ("dashboards", "providers")):
        file = yaml.safe_load((DEPLOY / "grafana" / "provisioning" / kind / "scyper.yml").read_text())
        expect(f"provisioning of {kind}", file["apiVersion"] == 1 and file[key])


def main(scyperd, scyper, pictures=None):
    check_files()
    started, is_complete = [], False
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        try:
            nodes = [Node(directory, scyperd, "p1", "--postgres-listen", "127.0.0.1:0", "--replication", "--digest-period", "1s",
                          "--voters", 3, "--commit-mode", "quorum")]
            started += nodes
            nodes[0].wait()
            for secondary in ("s1", "s2"):
                nodes.append(Node(directory, scyperd, secondary, "--role", "secondary", "--primary", nodes[0].address, "--voter"))
                started.append(nodes[-1])
            etcd = start_etcd(directory)
            started.append(etcd)
            for node in nodes:
                node.wait()
            nodes.append(start_elected(directory, scyperd, etcd, scyper))
            started.append(nodes[-1])
            prometheus, api = start_prometheus(directory, nodes)
            started.append(prometheus)
            wanted, valid = all_expressions()
            load = Load(directory, scyper, nodes)
            check_data(api, load, wanted)
            if pictures:
                draw(api, load, pictures)
            check_alerts(api, valid)
            check_metrics_are_shown(nodes, [*wanted.values(), *valid.values()])
            faulty = FaultyNodes(directory, scyperd, scyper)
            started.append(faulty)
            nodes.append(Node(directory, scyperd, "x1", *FLAGS, memory="48MB", compaction="off"))
            started.append(nodes[-1])
            faulty.wait()
            nodes[-1].wait()
            watch(directory / "prometheus", nodes + faulty.watched())
            faulty.begin()
            Faults(scyper, nodes[-1], lambda text: ask(api, text), valid).run_all()
            faulty.check(lambda text, cluster: ask(api, text, cluster), valid)
            started.remove(faulty)
            faulty.stop()
            nodes.pop().stop()
            watch(directory / "prometheus", nodes)
            check_faults(api, valid, primary=nodes[0], secondary=nodes[2], etcd=etcd)
            is_complete = True
        finally:
            for process in reversed(started):
                process.stop()
            if CHECKS.failures or not is_complete:
                for process in [node for one in started for node in getattr(one, "nodes", [one])]:
                    print(f"--- {process.name}\n{process.messages.read_text()[-2000:]}")
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
