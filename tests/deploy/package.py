#!/usr/bin/env python3
"""The Debian package: what is in it, and its life on this machine as it would be: installed, used, removed, purged.

Usage: package.py TOOLS_PACKAGE BUILD
The machine itself is not changed: dpkg runs in an overlay over its files, in a mount namespace that ends with the test (root; else, and
where the kernel has no overlay, the package is only unpacked). Debian: dpkg-dev, file. The exit code counts the failures.
"""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, expect, run

PATIENCE_S = 300
FILES = {
    "./usr/bin/scyperd": "-rwxr-xr-x", "./usr/bin/scyper": "-rwxr-xr-x", "./usr/bin/scyper-pgm": "-rwxr-xr-x",
    "./usr/bin/scyper-rdma": "-rwxr-xr-x",
    "./usr/lib/systemd/system/scyperd@.service": "-rw-r--r--", "./usr/lib/sysusers.d/scyper.conf": "-rw-r--r--",
    "./usr/lib/tmpfiles.d/scyper.conf": "-rw-r--r--", "./usr/lib/sysctl.d/60-scyper.conf": "-rw-r--r--",
    "./usr/share/doc/scyper/examples/example.toml": "-rw-r--r--", "./usr/share/doc/scyper/copyright": "-rw-r--r--",
    "./usr/share/doc/scyper/operations.md": "-rw-r--r--", "./usr/share/scyper/prometheus/rules/scyper.yml": "-rw-r--r--",
    "./usr/share/man/man1/scyper.1.gz": "-rw-r--r--", "./usr/share/man/man8/scyperd.8.gz": "-rw-r--r--",
    "./usr/share/bash-completion/completions/scyper": "-rw-r--r--", "./usr/share/bash-completion/completions/scyperd": "-rw-r--r--",
    "./usr/share/zsh/vendor-completions/_scyper": "-rw-r--r--", "./usr/share/zsh/vendor-completions/_scyperd": "-rw-r--r--",
    "./usr/share/fish/vendor_completions.d/scyper.fish": "-rw-r--r--", "./usr/share/fish/vendor_completions.d/scyperd.fish": "-rw-r--r--",
    "./usr/share/scyper/grafana/dashboards/overview.json": "-rw-r--r--", "./usr/share/scyper/proto/scyper.proto": "-rw-r--r--",
}
QUERY = ["sql", "--ephemeral", "-t", "-c", "CREATE TABLE t (a integer PRIMARY KEY)",
         "-c", "INSERT INTO t SELECT generate_series(1, 1000)", "-c", "SELECT 'sum ' || sum(a) FROM t"]

# In a mount namespace of its own: FOLDER PACKAGE. Each line that the test looks for begins with "== ".
LIFE = r"""
set -e
folder=$1 package=$2
mount --make-rprivate /
mount -t tmpfs scyper "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay scyper -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root" || { echo "== no overlay"; exit 0; }
mount -t proc proc "$folder/root/proc"
mkdir -p "$folder/root/run" && mount -t tmpfs run "$folder/root/run"
cp "$package" "$folder/root/scyper.deb"
inside() { chroot "$folder/root" "$@"; }
export DEBIAN_FRONTEND=noninteractive
rm -rf "$folder/root/etc/scyper"
inside dpkg -i /scyper.deb
echo "== user $(inside getent passwd scyper | cut -d: -f6)"
echo "== settings $(inside stat -c '%a %U:%G' /etc/scyper)"
shift 2
echo "== answer $(inside scyper "$@" | grep -o 'sum .*')"
echo "== node $(inside scyperd --version)"
touch "$folder/root/etc/scyper/db1.toml"
inside dpkg -i /scyper.deb
echo "== again $(inside dpkg-query -W -f '${Status}' scyper)"
inside dpkg -r scyper
inside dpkg --purge scyper
echo "== gone $(inside sh -c 'command -v scyperd || echo yes')"
echo "== kept $(inside ls /etc/scyper)"
"""


def check_content(package):
    code, said = run("dpkg-deb", "--contents", package)
    listed = {line.split()[5]: line.split()[:2] for line in said.splitlines() if len(line.split()) >= 6}
    for path, mode in FILES.items():
        expect(f"{path}", listed.get(path) == [mode, "root/root"], listed.get(path))
    expect("nothing outside of /usr", code == 0 and all(path.startswith("./usr/") for path in listed), said)
    code, depends = run("dpkg-deb", "--field", package, "Depends")
    for library in ("libc6", "libllvm19", "libgrpc++1.51", "libpg-query"):
        expect(f"depends on {library}", code == 0 and library in depends, depends)


def check_unpacked(package, folder):
    code, said = run("dpkg-deb", "--extract", package, folder)
    expect("it can be unpacked", code == 0, said)
    code, said = run(folder / "usr/bin/scyper", *QUERY)
    expect("the programs run", code == 0 and "sum 500500" in said, said)
    code, said = run("file", folder / "usr/bin/scyperd")
    expect("they are stripped", ", stripped" in said, said)


def check_life(package, folder):
    if os.geteuid() != 0:
        print("skipped: installing, which needs root", flush=True)
        return
    code, said = run("unshare", "--mount", "bash", "-c", LIFE, "life", folder, package, *QUERY, timeout=PATIENCE_S)
    if "== no overlay" in said:
        print("skipped: installing: the kernel has no overlay", flush=True)
        return
    expect("it can be installed, used, installed again and removed", code == 0, said)
    for line in ("user /var/lib/scyper", "settings 750 root:scyper", "answer sum 500500", "node ", "again install ok installed",
                 "gone yes", "kept db1.toml"):
        expect(line, f"\n== {line}" in "\n" + said, said)


def main(tool, build):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        code, said = run(tool, build, folder / "package", timeout=PATIENCE_S)
        expect("the package is made", code == 0, said)
        if code != 0:
            return CHECKS.finish()
        package = pathlib.Path(said.split()[-1])
        check_content(package)
        (folder / "unpacked").mkdir()
        check_unpacked(package, folder / "unpacked")
        (folder / "life").mkdir()
        check_life(package, folder / "life")
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
