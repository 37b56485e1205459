#!/usr/bin/env python3
"""What deploy/systemd installs: systemd's own checks, the example's settings, and a node that lives with the rights the unit leaves.

Usage: systemd.py SCYPERD SCYPER
systemd need not run. So the unit itself is not started: of its sandbox the live node gets what a process can give itself (no capabilities, no new
privileges, another user when started by root, no memory both writable and executable, the limit of files), not the mounts and the filter
of system calls. Debian: systemd, util-linux. The exit code counts the failures.
"""
import ctypes
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, PATIENCE_S, comes_true, expect, run

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "systemd"
UNIT = DEPLOY / "scyperd@.service"
EXPOSURE_MAX = 20  # tenths, as systemd-analyze counts: up to 2.0 of 10
NOBODY = "65534"
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1  # Linux 6.3 and later; elsewhere it is refused, and nothing is tried


def check_unit(directory, scyperd):
    """verify looks for the program, so its path is replaced; nothing else is."""
    unit = directory / "scyperd@db1.service"
    unit.write_text(UNIT.read_text().replace("/usr/bin/scyperd", str(scyperd)))
    code, said = run("systemd-analyze", "verify", "--man=no", unit)
    # of units of the machine it only speaks, of this one it must not
    expect("the unit is valid", code == 0 and "scyperd@" not in said, said)
    code, said = run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager", unit)
    expect("the unit is locked down", code == 0, said)


def check_files():
    code, said = run("systemd-sysusers", "--dry-run", DEPLOY / "sysusers.d" / "scyper.conf")
    expect("the user", code == 0 and "rror" not in said and "ailed" not in said, said)
    for line in (DEPLOY / "sysctl.d" / "60-scyper.conf").read_text().splitlines():
        if setting := re.fullmatch(r"(?:# )?([a-z_.]+) = \d+", line):
            expect(f"the kernel has {setting.group(1)}", os.path.exists("/proc/sys/" + setting.group(1).replace(".", "/")))
    for line in (DEPLOY / "tmpfiles.d" / "scyper.conf").read_text().splitlines():
        if line and not line.startswith("#"):
            expect("a line of tmpfiles.d", re.fullmatch(r"w /sys/\S+ - - - - \S+", line), line)


def check_example(scyperd):
    flags = flags_of_unit("/etc/scyper/db1.toml", "/var/lib/scyper/db1")
    code, said = run(scyperd, "--config", DEPLOY / "example.toml", *flags[2:], "--print-config")
    expect("the example's settings are known", code == 0, said)
    for setting in ('node_name = "db1"', 'data_directory = "/var/lib/scyper/db1"', 'cluster = "example"', 'memory = "32GB"'):
        expect(f"the example with the unit's flags: {setting}", f"\n{setting}\n" in said, said)


def flags_of_unit(config, data):
    """ExecStart's arguments for the instance db1, with these places."""
    line = re.search(r"(?m)^ExecStart=/usr/bin/scyperd (.*)$", UNIT.read_text()).group(1)
    return line.replace("/etc/scyper/%i.toml", config).replace("/var/lib/scyper/%i", data).replace("%i", "db1").split()


def confine():
    """In the child, before exec."""
    limit = int(re.search(r"LimitNOFILE=(\d+)", UNIT.read_text()).group(1))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)


def says(manager, what):
    """Beside what it says to the watchdog. TimeoutError: it does not."""
    while (said := manager.recv(4096)) == b"WATCHDOG=1":
        pass
    return said == what


def check_watchdog(directory, scyperd, scyper):
    """A log that does not become durable any more: the node does not say any longer that it works."""
    messages = directory / "stuck.messages"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(directory / "stuck.notify"))
    manager.settimeout(PATIENCE_S)
    with open(messages, "w", encoding="utf-8") as out:
        node = subprocess.Popen([scyperd, "--listen", "127.0.0.1:0", "--http-listen", "", "--data-directory", directory / "stuck", "--memory", "256MB",
                                 "--pages", "small"], stdout=out, stderr=out,
                                env={**os.environ, "NOTIFY_SOCKET": str(directory / "stuck.notify"), "WATCHDOG_USEC": "400000",
                                     "SCYPER_FAILPOINTS": "log.before_build=sleep(3600000)"})
    try:
        expect("a node with a log that will hang starts", comes_true("a port", lambda: "gRPC on port" in messages.read_text()), messages.read_text())
        expect("it is ready", says(manager, b"READY=1\nSTATUS=primary"))
        target = "127.0.0.1:" + re.search(r"gRPC on port (\d+)", messages.read_text()).group(1)
        stuck = subprocess.Popen([scyper, "sql", "--target", target, "-c", "CREATE TABLE t (a integer)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            manager.settimeout(2)  # twenty times its period
            expect("it falls silent for the watchdog", comes_true("silence", lambda: is_silent(manager)))
        finally:
            stuck.kill()
            stuck.wait()
    finally:
        node.kill()
        node.wait()


def is_silent(manager):
    try:
        manager.recv(4096)
    except TimeoutError:
        return True
    return False


def check_live(directory, scyperd, scyper):
    program, data, config = directory / "scyperd", directory / "data", directory / "db1.toml"
    shutil.copy(scyperd, program)  # the build tree may not be the other user's to see
    data.mkdir()
    config.write_text('listen = "127.0.0.1:0"\nhttp_listen = "127.0.0.1:0"\npartitions = 2\nworkers = 1\nmemory = "256MB"\n'
                      'pages = "small"\nexecution = "better"\n')
    become = ["setpriv", "--no-new-privs"]
    if os.geteuid() == 0:
        become += ["--bounding-set=-all", "--inh-caps=-all", "--clear-groups", f"--regid={NOBODY}", f"--reuid={NOBODY}"]
        for path in (directory, data, config):
            os.chown(path, int(NOBODY), int(NOBODY))
    messages = directory / "messages"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)  # systemd's end
    manager.bind(str(directory / "notify"))
    os.chmod(directory / "notify", 0o777)
    manager.settimeout(PATIENCE_S)
    with open(messages, "w", encoding="utf-8") as out:
        node = subprocess.Popen([*become, program, *flags_of_unit(str(config), str(data))], stdout=out, stderr=out, preexec_fn=confine,
                                env={**os.environ, "NOTIFY_SOCKET": str(directory / "notify"), "WATCHDOG_USEC": "2000000"})
    try:
        comes_true("a port", lambda: re.search(r"gRPC on port (\d+)", messages.read_text()) or node.poll() is not None)
        ready = re.search(r"gRPC on port (\d+)", messages.read_text())
        expect("a node starts without rights", ready, messages.read_text())
        if not ready:
            return
        expect("it says when it is ready", b"READY=1" in manager.recv(4096).split(b"\n"))
        expect("it says that it works", manager.recv(4096) == b"WATCHDOG=1")
        status = pathlib.Path(f"/proc/{node.pid}/status").read_text()
        expect("it can get none", "NoNewPrivs:\t1" in status, status)
        target = f"127.0.0.1:{ready.group(1)}"
        code, said = run(scyper, "sql", "-t", "--target", target, "-c", "CREATE TABLE t (a integer PRIMARY KEY, b text)",
                         "-c", "INSERT INTO t SELECT g, g::text FROM generate_series(1, 1000) g", "-c", "SELECT 'sum ' || sum(a) FROM t")
        expect("it compiles, logs and forks", code == 0 and "sum 500500" in said, said + messages.read_text())
        code, said = run(scyper, "backup", "--target", target)
        expect("it writes an archive", code == 0, said + messages.read_text())
    finally:
        node.send_signal(signal.SIGTERM)
        try:
            if ready:
                expect("it says when it stops", says(manager, b"STOPPING=1"))
            code = node.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            node.kill()
            code = node.wait()
    expect("it ends as asked", code == 0, (code, messages.read_text()))


def main(scyperd, scyper):
    with tempfile.TemporaryDirectory() as name:
        check_unit(pathlib.Path(name), scyperd)
        check_files()
        check_example(scyperd)
        check_live(pathlib.Path(name), scyperd, scyper)
        check_watchdog(pathlib.Path(name), scyperd, scyper)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
