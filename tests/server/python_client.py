#!/usr/bin/env python3
"""The Python package: it is built and installed, its types are checked, its example and checks run against real nodes.

Usage: python_client.py SCYPERD SCYPER
tools/install-packages puts what it needs from PyPI into ~/.cache/scyper/python; without that it is skipped. Each check says what it found;
the exit code counts the failures.
"""
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, expect, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "client" / "python"
PYTHON = pathlib.Path.home() / ".cache" / "scyper" / "python" / "bin" / "python"


def main():
    if not PYTHON.exists():
        print(f"skip  no {PYTHON} (tools/install-packages)", flush=True)
        return 0
    with tempfile.TemporaryDirectory() as directory:
        # a copy: building writes beside the sources
        source, installed = pathlib.Path(directory) / "source", pathlib.Path(directory) / "installed"
        shutil.copytree(PACKAGE, source / "client" / "python", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        (source / "proto").mkdir()
        shutil.copy(ROOT / "proto" / "scyper.proto", source / "proto")
        code, out = run(PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation",
                        "--target", installed, source / "client" / "python")
        expect("the package is built and installed", code == 0, out)
        expect("with its types", (installed / "scyper" / "py.typed").exists() and (installed / "scyper" / "proto" / "scyper_pb2.pyi").exists())
        code, out = run(PYTHON, "-m", "mypy", "--config-file", PACKAGE / "pyproject.toml", "--cache-dir", pathlib.Path(directory) / "mypy", cwd=installed)
        expect("mypy --strict", code == 0, out)
        code, out = run(PYTHON, pathlib.Path(__file__).with_name("python_client_checks.py"), *sys.argv[1:], PACKAGE / "examples" / "quickstart.py",
                        timeout=600, env={**os.environ, "PYTHONPATH": str(installed)})
        print(out, end="", flush=True)
        expect("the checks", code == 0)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main())
