"""Include rules: own header first, no folder above, only public headers of others, foreign libraries where they belong."""

import os
import re
import sys

import tree

# Foreign headers that must not spread: pattern -> folders whose .cc files may include it. Headers and others: the list file.
FOREIGN = {
    r"(llvm|llvm-c)/": ("query",),
    r"(pg_query\.h|pg_query/|postgres\.h|nodes/|parser/|utils/|catalog/|c\.h)": ("query",),
    r"(grpc|grpcpp|grpc\+\+)/|.*\.grpc\.pb\.h": ("proto", "replication", "consensus", "server", "client", "bench", "tests"),
    r"google/|.*\.pb\.h": ("proto", "replication", "consensus", "server", "client", "bench", "tests"),
    r"prometheus/": ("server",),
    r"(libpq-fe\.h|postgresql/)": ("bench", "tests"),
    r"(toml|CLI)(\.hpp|11|/)": ("server", "client", "bench"),
    r"(editline/|histedit\.h)": ("client",),
}
ALLOWED = "tools/checks/foreign_headers_allowed.txt"
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


def is_test(path):
    """Tests, and what only tests use."""
    return path.endswith(("_test.cc", "_fuzz.cc", "_bench.cc")) or "/testing/" in path


class Includes:
    def __init__(self, root):
        self.root = root
        self.paths = tree.files(root, ".cc", ".h")
        self.known = set(self.paths)
        self.layers = tree.layers(root)
        self.allowed = set(tree.entries(root, ALLOWED)) if os.path.exists(os.path.join(root, ALLOWED)) else set()

    def problems(self):
        for path in self.paths:
            folder = path.split("/")[0]
            if folder not in self.layers:
                continue
            text = tree.read(self.root, path)
            includes = INCLUDE.findall(text)
            yield from self.own_header_first(path, includes)
            if path.endswith(".h") and not re.search(r"^#pragma once$", text, re.MULTILINE):
                yield f"{path}: no #pragma once"
            for quote, name in includes:
                yield from self.foreign(path, folder, name)
                if quote == '"':
                    yield from self.direction(path, folder, name)
        for path in sorted(self.allowed - self.known):
            yield f"{ALLOWED}: {path} is gone, remove it"

    def own_header_first(self, path, includes):
        """x.cc includes x.h first, which also proves that x.h stands alone (cmake/Scyper.cmake relies on it)."""
        directory, leaf = os.path.split(path)
        stem = re.sub(r"(_test)?\.cc$", ".h", leaf)
        if not path.endswith(".cc") or not includes:
            return
        folder = path.split("/")[0]
        places = (os.path.join(directory, stem), os.path.join(folder, "include", folder, stem))
        if any(place in self.known for place in places) and os.path.basename(includes[0][1]) != stem:
            yield f"{path}: includes {includes[0][1]} before its own header {stem}"

    def direction(self, path, folder, name):
        first = name.split("/")[0]
        if first not in self.layers or os.path.join(folder, name) in self.known:
            return
        public = os.path.join(first, "include", name)
        is_oracle = is_test(path) and name == "tests/postgres_server.h"
        if first != folder and first not in self.layers[folder] and not is_oracle:
            yield f"{path}: {folder} may not use {first} ({name})"
        elif public not in self.known and not name.endswith(".pb.h"):
            yield f"{path}: {name} is not a public header of {first}"

    def foreign(self, path, folder, name):
        for pattern, folders in FOREIGN.items():
            if not re.match(pattern, name) or path in self.allowed:
                continue
            if is_test(path) and "tests" in folders:
                folders += (folder,)
            if path.endswith(".h") or folder not in folders:
                yield f"{path}: {name} belongs into .cc files of {', '.join(folders)}"
            return


if __name__ == "__main__":
    tree.finish(list(Includes(sys.argv[1]).problems()),
                f"tools/checks/layers.txt; exceptions for foreign headers are listed in {ALLOWED}")
