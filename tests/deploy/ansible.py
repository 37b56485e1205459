#!/usr/bin/env python3
"""deploy/ansible, on machines with systemd and sshd: a cluster with TLS, users and monitoring from nothing by one playbook, a second run
that changes nothing, clients, a rolling upgrade and a drill under load, a switchover; ansible-lint finds nothing.

Usage: ansible.py TOOLS_PACKAGE BUILD SCYPER
Debian: ansible-core, ansible-lint, openssh-client, etcd-server, prometheus, postgresql-client-15. The exit code counts the failures.
"""
import json
import os
import pathlib
import re
import sys
import tempfile
import threading

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, comes_true, expect, run
from machines import Machines, why_not

ANSIBLE = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "ansible"
PLAYBOOKS = sorted(path.name for path in ANSIBLE.glob("*.yml") if path.name != "inventory.example.yml")
NAMES = ["db1", "db2", "db3"]
PATIENCE_S = 900
PASSWORD = "correct horse"


def check_lint():
    code, said = run("ansible-lint", "--offline", "--nocolor", "-p", *PLAYBOOKS, cwd=ANSIBLE, timeout=PATIENCE_S)
    expect("ansible-lint finds nothing", code == 0, said)
    for name in PLAYBOOKS:
        code, said = run("ansible-playbook", "--syntax-check", "-e", "node=db3", "-i", "inventory.example.yml", name, cwd=ANSIBLE, timeout=PATIENCE_S)
        expect(f"{name} can be read", code == 0, said)


class Cluster:
    """The playbooks' cluster on machines, and its clients beside them."""

    def __init__(self, machines, package, scyper):
        self.machines, self.scyper = machines, scyper
        self.folder = machines.folder
        self.certificates = self.folder / "certificates"
        hosts = {name: {"ansible_host": address} for name, address in machines.addresses.items()}
        inventory = {"all": {
            "vars": {
                "ansible_user": "root", "ansible_ssh_private_key_file": str(machines.key),
                "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null",
                "scyper_cluster": "test", "scyper_package": str(package),
                "scyper_users": [{"name": "app", "password": PASSWORD}],
                "scyper_node_memory": "256MB", "scyper_node_snapshot_memory": "64MB", "scyper_node_partitions": 4,
                "scyper_node_workers": 2, "scyper_settings": {"pages": "small", "query_memory": "64MB"},
            },
            "children": {"scyper_nodes": {"hosts": hosts}, "scyper_etcd": {"hosts": dict.fromkeys(NAMES)},
                         "scyper_monitoring": {"hosts": {"db1": None}}}}}
        (self.folder / "inventory.yml").write_text(yaml.safe_dump(inventory))
        self.targets = ",".join(f"{address}:7400" for address in machines.addresses.values())

    def play(self, playbook, *more):
        """Exit code, output and the number of changes of a playbook."""
        code, said = run(*self.machines.command("ansible-playbook", "-i", self.folder / "inventory.yml", playbook, *more), cwd=ANSIBLE,
                         timeout=PATIENCE_S, env={**os.environ, "HOME": str(self.folder), "ANSIBLE_NOCOLOR": "1"})
        return code, said, sum(map(int, re.findall(r"changed=(\d+)", said)))

    def client(self, *arguments, target=None):
        clients = self.certificates / "clients"
        return run(*self.machines.command(self.scyper, "--target", target or self.targets, "--ca", self.certificates / "ca.crt", "--cert",
                                          clients / "operator.crt", "--key", clients / "operator.key", *arguments), timeout=PATIENCE_S)

    def psql(self, name, statement, password=PASSWORD, certificate=True):
        connection = f"host={name} hostaddr={self.machines.addresses[name]} port=5433 user=app dbname=scyper sslmode=verify-full" \
                     f" sslrootcert={self.certificates}/ca.crt"
        if certificate:
            connection += f" sslcert={self.certificates}/clients/operator.crt sslkey={self.certificates}/clients/operator.key"
        return run(*self.machines.command("psql", connection, "-XAtc", statement), env={**os.environ, "PGPASSWORD": password})

    def http(self, name, path, port=7401):
        return run(*self.machines.command("/usr/bin/python3", "-c", "import sys, urllib.request\n"
                                          "print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())",
                                          f"http://{self.machines.addresses[name]}:{port}{path}"))

    def primaries(self):
        return [name for name in NAMES if self.http(name, "/primary")[0] == 0]


class Load(threading.Thread):
    """Inserts row after row, each known by its request id, until told to stop; what was not acknowledged in the end is in `failed`."""

    def __init__(self, cluster):
        super().__init__()
        self.cluster, self.done, self.stopping, self.failed = cluster, 0, threading.Event(), []

    def run(self):
        while not self.stopping.is_set():
            first = self.done
            statements = [part for row in range(first, first + 20) for part in ("-c", f"INSERT INTO events VALUES ({row})")]
            code, said = self.cluster.client("sql", *statements)
            if code != 0:
                self.failed.append(said)
                return
            self.done += 20

    def __enter__(self):
        self.start()
        expect("the load runs", comes_true("some rows", lambda: self.done >= 40 or self.failed), self.failed)
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.join()


def check_deploy(cluster):
    code, said, changed = cluster.play("deploy.yml")
    expect("a cluster from nothing by one playbook", code == 0 and changed > 0, said[-6000:])
    if code != 0:
        for name in NAMES:
            print(cluster.machines.ssh(name, "journalctl -n 40 --no-pager -u 'scyperd@*'; journalctl -k -n 5 --no-pager; coredumpctl list; journalctl -n 20 --no-pager -u etcd")[1], flush=True)
        return False
    code, said, changed = cluster.play("deploy.yml")
    expect("a second run changes nothing", code == 0 and changed == 0, said[-4000:])
    if "SCYPER_TEST_FULL" in os.environ:
        code, said, changed = cluster.play("deploy.yml", "--check")
        expect("nor would a third (check mode)", code == 0 and changed == 0, said[-4000:])
    expect("one of the nodes is primary", len(cluster.primaries()) == 1, cluster.primaries())
    for name in NAMES:
        code, said = cluster.machines.ssh(name, "systemctl show -p ActiveState,Type,NRestarts scyperd@" + name)
        expect(f"{name} is a unit that runs", "ActiveState=active" in said and "NRestarts=0" in said,
               said + cluster.machines.ssh(name, f"journalctl --no-pager -n 60 -u scyperd@{name}")[1])
    return True


def check_clients(cluster):
    code, said = cluster.client("sql", "-c", "CREATE TABLE events (id integer PRIMARY KEY)")
    expect("an operator's certificate opens gRPC", code == 0, said)
    primary = cluster.primaries()[0]
    code, said = cluster.psql(primary, "SELECT count(*) FROM events")
    expect("psql comes in by TLS, certificate and password", code == 0 and said.strip() == "0", said)
    code, said = cluster.psql(primary, "SELECT 1", password="wrong")
    expect("not by another password", code != 0 and "password" in said, said)
    code, said = cluster.psql(primary, "SELECT 1", certificate=False)
    expect("nor without certificate", code != 0, said)
    code, said = run(*cluster.machines.command(cluster.scyper, "--target", cluster.targets, "sql", "-c", "SELECT 1"))
    expect("gRPC answers nobody without TLS", code == 3, said)

    def up():
        code, said = cluster.http("db1", "/api/v1/query?query=up%7Bjob=%22scyper%22%7D", port=9090)
        return code == 0 and [sample["value"][1] for sample in json.loads(said)["data"]["result"]] == ["1"] * 3
    expect("Prometheus watches three nodes", comes_true("up", up), cluster.http("db1", "/api/v1/targets", port=9090)[1][:3000])
    code, said = cluster.machines.ssh("db1", "ls /etc/grafana/dashboards/scyper")
    expect("Grafana would find six dashboards", len(said.split()) == 6, said)


def processes(cluster):
    return {name: cluster.machines.ssh(name, f"systemctl show -p MainPID --value scyperd@{name}")[1].strip() for name in NAMES}


def check_changes(cluster):
    """Nothing of these may fail a transaction."""
    before, led = processes(cluster), cluster.primaries()
    with Load(cluster) as load:
        code, said, _ = cluster.play("rolling_upgrade.yml")
        expect("a rolling upgrade under load", code == 0, said[-6000:])
        after = processes(cluster)
        expect("every node was started again", all(before[name] != after[name] for name in NAMES), (before, after))
        expect("the primary was upgraded last and had handed over", cluster.primaries() != led, (led, cluster.primaries()))
        follower = next(name for name in NAMES if name not in cluster.primaries())
        code, said, _ = cluster.play("switchover.yml", "-e", f"to={follower}")
        expect("a switchover", code == 0 and cluster.primaries() == [follower], said[-4000:])
        code, said, _ = cluster.play("drill.yml")
        expect("the primary may be killed", code == 0 and "was killed" in said, said[-4000:])
    expect("no transaction failed", not load.failed, load.failed)
    code, said = cluster.client("sql", "-t", "-c", "SELECT count(*), max(id) FROM events")
    numbers = re.findall(r"\d+", said)
    expect("none was lost, none done twice", code == 0 and numbers == [str(load.done), str(load.done - 1)], (said, load.done))


def main(tool, build, scyper):
    check_lint()
    missing = why_not()
    if missing:
        print(f"skipped: machines: {missing}", flush=True)
        return CHECKS.finish()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        code, said = run(tool, build, folder / "package", timeout=PATIENCE_S)
        expect("the package is made", code == 0, said)
        if code != 0:
            return CHECKS.finish()
        with Machines(folder, NAMES) as machines:
            cluster = Cluster(machines, said.split()[-1], scyper)
            if check_deploy(cluster):
                check_clients(cluster)
                check_changes(cluster)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
