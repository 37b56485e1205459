"""Machines with systemd and sshd in namespaces of this one, on a bridge of their own: what deploys to hosts is tried on them.

Wants root, overlayfs, systemd, and openssh-server's package unpacked by tools/install-packages; why_not() says what is missing.
"""
import os
import pathlib
import signal
import subprocess

from checks import run, wait_for

SSHD_PACKAGES = pathlib.Path(os.environ.get("HOME", "/root")) / ".cache/scyper/sshd"
SCRIPT = pathlib.Path(__file__).with_name("machine.sh")
SUBNET = "10.99.0"


def why_not():
    """Why there can be no machines here; empty: there can."""
    if os.geteuid() != 0:
        return "it needs root"
    if "overlay" not in pathlib.Path("/proc/filesystems").read_text():
        return "the kernel has no overlay"
    if not (SSHD_PACKAGES / "openssh-server.deb").exists():
        return "openssh-server could not be had"
    for program in ("/lib/systemd/systemd", "/usr/bin/ssh"):
        if not pathlib.Path(program).exists():
            return f"there is no {program}"
    return ""


class Machines:
    """Use as a context: `with Machines(folder, ["db1", "db2"]) as machines`. `folder` is an existing, private one."""

    def __init__(self, folder, names):
        self.folder, self.names = pathlib.Path(folder), names
        self.addresses = {name: f"{SUBNET}.{number}" for number, name in enumerate(names, start=2)}
        self.space = f"scyper-deploy-{os.getpid()}"  # with the bridge; who talks to the machines runs in it
        self.key = self.folder / "ssh_key"
        self.processes, self.cgroups = {}, []

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_):
        self._stop()

    def command(self, *command):
        """A command line that runs beside the machines, in their network."""
        return ["ip", "netns", "exec", self.space, *map(str, command)]

    def ssh(self, name, *command):
        """Exit code and output of a command on a machine."""
        return run(*self.command("ssh", "-q", "-i", self.key, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                                 "-o", "ConnectTimeout=2", f"root@{self.addresses[name]}", *command))

    def _must(self, *command):
        code, said = run(*command)
        if code != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {said}")

    def _start(self):
        self._must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)
        self._must("ip", "netns", "add", self.space)
        self._must(*self.command("ip", "link", "add", "bridge", "type", "bridge"))
        self._must(*self.command("ip", "address", "add", f"{SUBNET}.1/24", "dev", "bridge"))
        for device in ("lo", "bridge"):
            self._must(*self.command("ip", "link", "set", device, "up"))
        hosts = "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in self.addresses.items())
        for name in self.names:
            (self.folder / f"{name}.hosts").write_text(hosts)
            (self.folder / name).mkdir()
            self._boot(name)
        for name in self.names:
            wait_for(f"sshd of {name}", lambda name=name: self.ssh(name, "true")[0] == 0)
        for name in self.names:
            wait_for(f"systemd of {name}", lambda name=name: self.ssh(name, "systemctl is-system-running")[1].strip()
                     in ("running", "degraded"))

    def _boot(self, name):
        cgroup = pathlib.Path("/sys/fs/cgroup")
        cgroup = (cgroup / "systemd" if (cgroup / "systemd").is_dir() else cgroup) / f"{self.space}-{name}"
        cgroup.mkdir()
        self.cgroups.append(cgroup)
        environment = {**os.environ, "SSHD_PACKAGES": str(SSHD_PACKAGES), "SSH_KEY": str(self.key)}
        # --fork: the machine's first process is systemd, which ends with unshare's
        enter = f"echo $$ >{cgroup}/cgroup.procs && exec setpriv --pdeathsig KILL unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child {SCRIPT} {self.folder / name} {name}"
        messages = (self.folder / f"{name}.log").open("w")
        process = subprocess.Popen(["bash", "-c", enter], env=environment, stdout=messages, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        messages.close()
        self.processes[name] = process
        first = wait_for(f"first process of {name}", lambda: self._first(process, name))
        device = f"m-{name}"
        self._must(*self.command("ip", "link", "add", device, "type", "veth", "peer", "name", "eth0"))
        self._must(*self.command("ip", "link", "set", device, "master", "bridge", "up"))
        self._must(*self.command("ip", "link", "set", "eth0", "netns", first))
        enter = ["nsenter", "--target", first, "--net"]
        self._must(*enter, "ip", "address", "add", f"{self.addresses[name]}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            self._must(*enter, "ip", "link", "set", device, "up")

    def _first(self, process, name):
        if process.poll() is not None:
            raise RuntimeError(f"{name} has ended: {(self.folder / f'{name}.log').read_text()}")
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if not children or pathlib.Path(f"/proc/{children[0]}/comm").read_text().strip() == "unshare":
            return ""
        return children[0]

    def _stop(self):
        for process in self.processes.values():
            process.send_signal(signal.SIGKILL)  # --kill-child: and with it all that runs there
            process.wait()
        run("ip", "netns", "delete", self.space)
        for cgroup in self.cgroups:
            wait_for(f"the end of {cgroup.name}", lambda cgroup=cgroup: self._remove(cgroup))

    @staticmethod
    def _remove(cgroup):
        folders = sorted((pathlib.Path(path) for path, _, _ in os.walk(cgroup)), key=lambda path: -len(path.parts))
        try:
            for folder in folders:
                folder.rmdir()
        except OSError:
            return False
        return True
