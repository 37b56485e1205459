"""PostgreSQL's source package, fetched into a cache folder: nothing of it is part of this project."""

import os
import pathlib
import re
import subprocess

PACKAGE = "postgresql-15"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "scyper" / "regression"


def source_lists():
    """The machine's package sources, asked for sources: apt's configuration for a folder of our own."""
    text = ""
    for path in [*pathlib.Path("/etc/apt/sources.list.d").glob("*.sources")]:
        text += re.sub(r"^Types:.*$", "Types: deb-src", path.read_text(), flags=re.M) + "\n\n"
    return text


def unpacked(tests):
    return sorted(CACHE.glob(f"{PACKAGE}*/src/test/{tests}"))


def unpack(archive, tests):
    subprocess.run(["tar", "xf", archive, "--wildcards", f"*/src/test/{tests}/*"], check=True, cwd=CACHE)
    return unpacked(tests)[-1]


def fetch(tests):
    """The folder of those tests (regress, isolation) in PostgreSQL's source; fetched once."""
    if unpacked(tests):
        return unpacked(tests)[-1]
    for archive in sorted(CACHE.glob("*.orig.tar.*")):
        return unpack(archive, tests)
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "debian.sources").write_text(source_lists())
    (CACHE / "lists/partial").mkdir(parents=True, exist_ok=True)
    options = ["-o", f"Dir::Etc::sourcelist={CACHE}/debian.sources", "-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={CACHE}/lists", "-o", "APT::Sandbox::User=root"]
    subprocess.run(["apt-get", "-qq", *options, "update"], check=True, cwd=CACHE)
    shown = subprocess.run(["apt-cache", *options, "showsrc", PACKAGE], check=True, cwd=CACHE, capture_output=True, text=True).stdout
    for version in re.findall(r"^Version: (\S+)", shown, re.M):  # a mirror may lack the newest
        done = subprocess.run(["apt-get", "-qq", *options, "source", "--download-only", f"{PACKAGE}={version}"], cwd=CACHE, check=False, capture_output=True)
        archives = list(CACHE.glob("*.orig.tar.*"))
        if done.returncode == 0 and archives:
            return unpack(archives[0], tests)
    raise RuntimeError("the source package cannot be fetched")
