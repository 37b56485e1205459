"""Clusters with one fault each, which alerts wait for: a full disk, a slow one, missing voters, a lost group, slow replay, forged datagrams. dashboards.py
has Prometheus watch them; what there is to wait for goes on until they end."""
import contextlib
import os
import subprocess
import threading

from checks import comes_true, expect, run
from nodes import PATIENCE_S, Node, get

SMALL = {"memory": "48MB", "compaction": "off"}
PRIMARY = ["--replication", "--segment-bytes", "1MB"]
PROCEDURE = "CREATE PROCEDURE put() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (1); END $$"
# What a disk in memory, that only its node sees, is mounted by; as a user with the mounts of a namespace of his own.
MOUNT = 'mkdir "$0" && mount -t tmpfs -o size=8m scyper "$0" && exec "$@"'
FULL_PIECE = 4096


class Network:
    """Namespaces on a bridge that has an address, too, as tests/cluster/multicast_test.cc has them."""

    def __init__(self, count):
        self.bridge, self.count = f"sd{os.getpid()}", count
        self.is_there = self.ip("link", "add", self.bridge, "type", "bridge") and self.ip("link", "set", self.bridge, "up") and \
            self.ip("addr", "add", f"{self.address(254)}/24", "dev", self.bridge) and all(self.add(i) for i in range(1, count + 1))

    @staticmethod
    def ip(*command):
        return run("ip", *command)[0] == 0

    def add(self, i):
        link, space = f"d{os.getpid()}n{i}", self.name(i)
        return self.ip("netns", "add", space) and self.ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space) and \
            self.ip("link", "set", link, "master", self.bridge, "up") and \
            self.ip("-n", space, "addr", "add", f"{self.address(i)}/24", "dev", "eth0") and \
            self.ip("-n", space, "link", "set", "eth0", "up") and self.ip("-n", space, "link", "set", "lo", "up")

    def name(self, i):
        return f"scyper-deploy-{os.getpid()}-{i}"

    @staticmethod
    def address(i):
        return f"10.78.{1 + os.getpid() % 250}.{i}"

    def stop(self):
        for i in range(1, self.count + 1):
            self.ip("link", "del", f"d{os.getpid()}n{i}")
            self.ip("netns", "del", self.name(i))
        self.ip("link", "del", self.bridge)


class FaultyNodes:
    """Started side by side; wait() before they are watched, begin() after, check() when there has been time for two scrapes or more."""

    def __init__(self, directory, scyperd, scyper):
        self.directory, self.scyperd, self.scyper = directory, scyperd, scyper
        self.nodes, self.threads = [], []
        disk = directory / "full"
        unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", MOUNT, disk]
        self.full = self.start("full", *PRIMARY, "--redo", "physical", "--log-compression=off", prefix=unshare)
        self.filler = f"/proc/{self.full.process.pid}/root{disk}/filler"
        self.slow = self.start("slow", *PRIMARY, "--failpoints", "log.before_group_write=sleep(1500)")
        self.stuck = self.start("stuck", *PRIMARY, "--voters", 2, "--commit-mode", "quorum")
        self.differing = self.start("differing", *PRIMARY, "--digest-period", "200ms")
        self.network = Network(2)
        self.multicast = self.start_in_network(1, "multicast", *PRIMARY) if self.network.is_there else None

    def start(self, name, *flags, **options):
        self.nodes.append(Node(self.directory, self.scyperd, name, *flags, **SMALL, **{"cluster": name} | options))
        return self.nodes[-1]

    def key(self, digit):
        path = self.directory / f"key{digit}"
        path.write_text(digit * 64 + "\n")
        path.chmod(0o400)
        return path

    def start_in_network(self, i, name, *flags, key="7", cluster="multicast"):
        path = self.directory / f"key{key}"
        host = self.network.address(i)
        prefix = ["ip", "netns", "exec", self.network.name(i)] if i <= self.network.count else []
        return self.start(name, *flags, "--insecure-listen", "--multicast-interface", host, "--multicast-key-file",
                          path if path.exists() else self.key(key), prefix=prefix, host=host, cluster=cluster)

    def wait(self):
        for node in self.nodes:
            node.wait()
        primary = self.differing.address
        self.start("lost", "--role", "secondary", "--primary", primary, "--failpoints", "secondary.lose_group=fail@1*1")
        self.behind = self.start("behind", "--role", "secondary", "--primary", primary, "--failpoints", "recovery.before_alone=sleep(10000)", cluster="differing")
        if self.multicast:
            self.hearing = self.start_in_network(2, "hearing", "--role", "secondary", "--primary", self.multicast.address)
            self.hearing.wait()
        voter = self.start("voter", "--role", "secondary", "--primary", self.stuck.address, "--voter")
        for node in (self.slow, self.stuck):
            self.sql(node, "CREATE TABLE t (a integer)", PROCEDURE)
        voter.process.kill()
        self.behind.wait()

    def sql(self, node, *commands, patience_s=PATIENCE_S):
        """Whether it was answered well; what has no answer ends with its node."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return run(self.scyper, "sql", *(part for one in commands for part in ("-c", one)), "--target", node.address, timeout=patience_s)[0] == 0
        return False

    def fill_disk(self):
        self.sql(self.full, "CREATE TABLE filled (t text)")
        with contextlib.suppress(OSError), open(self.filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(FULL_PIECE))
        while "\nscyper_log_full 1" not in get(f"http://{self.full.http}/metrics"):
            self.sql(self.full, "INSERT INTO filled SELECT repeat(md5(i::text), 100) FROM generate_series(1, 100) i", patience_s=5)

    def call(self, node, times=1):
        for _ in range(times):
            run(self.scyper, "call", "put", "--target", node.address, timeout=PATIENCE_S)

    def lose_group(self):
        self.sql(self.differing, "CREATE TABLE t (a integer PRIMARY KEY)", *(f"INSERT INTO t VALUES ({i})" for i in range(20)))

    def begin(self):
        for cause in (self.fill_disk, self.lose_group, lambda: self.call(self.slow, times=5), lambda: self.call(self.stuck)):
            self.threads.append(threading.Thread(target=cause))
            self.threads[-1].start()
        if self.multicast:
            self.start_in_network(254, "forger", *PRIMARY, key="8", cluster="forger")

    def check(self, ask, valid):
        """ask(expression, cluster): its values of that cluster. Each fault is a cluster by the name of its primary."""
        for alert, cluster, what in (("ScyperReadOnly", "full", "the disk is full"),
                                     ("ScyperCallsSlow", "slow", "the disk takes 1.5 s for a group"),
                                     ("ScyperCallsStuck", "stuck", "one of two voters has ended"),
                                     ("ScyperStateDiverged", "differing", "a secondary has lost a group"),
                                     ("ScyperSecondaryBehind", "differing", "replay takes ten seconds for a record"),
                                     ("ScyperDatagramsNotBelieved", "multicast", "a primary with another key speaks on the group")):
            if cluster == "multicast" and not self.multicast:
                print(f"skip  {alert} fires: no network namespaces here", flush=True)
                continue
            fires = comes_true(alert, lambda alert=alert, cluster=cluster: ask(valid[alert], cluster), PATIENCE_S)
            expect(f"{alert} fires: {what}", fires, valid[alert])

    def watched(self):
        return [self.full, self.slow, self.stuck, self.differing, self.behind] + ([self.multicast, self.hearing] if self.multicast else [])

    def stop(self):
        with contextlib.suppress(OSError):
            os.unlink(self.filler)
        for node in reversed(self.nodes):
            node.process.kill()
        for node in self.nodes:
            node.process.wait()
        for thread in self.threads:
            thread.join()
        self.network.stop()
