"""The .proto files: names as protobuf's style guide has them, versions in packages, and what clients know never changes.

Usage: protos.py ROOT [--record]
proto/fields.txt has each field, value and RPC of the packages that clients compile in (scyper.v1): a line of it that is no longer
true is a change that breaks them, which makes a new package. What was added is recorded with --record.
"""

import glob
import os
import re
import sys

import tree

RECORD = "proto/fields.txt"
CLIENTS = "scyper.v1"
PASCAL, SNAKE, UPPER = r"[A-Z][A-Za-z0-9]*", r"[a-z][a-z0-9]*(_[a-z0-9]+)*", r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*"
RESERVED = range(19000, 20000)  # protobuf's own numbers

OPENING = re.compile(r"(message|enum|service|oneof)\s+(\w+)\s*{")
RPC = re.compile(r"rpc\s+(\w+)\s*\(\s*(stream\s+)?([\w.]+)\s*\)\s*returns\s*\(\s*(stream\s+)?([\w.]+)\s*\)\s*[;{]")
FIELD = re.compile(r"(repeated\s+|optional\s+)?(map\s*<[^>]+>|[\w.]+)\s+(\w+)\s*=\s*(\d+)[^;]*;")
VALUE = re.compile(r"(\w+)\s*=\s*(-?\d+)[^;]*;")
OTHER = re.compile(r"(syntax|package|import|option|reserved)\b[^;]*;|}")


class File:
    """What a file defines: kinds, full names and what follows them."""

    def __init__(self, text):
        self.text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
        found = re.search(r"package\s+([\w.]+)\s*;", self.text)
        self.package = found.group(1) if found else ""
        self.entries = []  # (kind, full name, own name, number, what it is)
        self.unknown = ""
        self._read()

    def _read(self):
        at, scopes = 0, []
        while (at := len(self.text) - len(self.text[at:].lstrip())) < len(self.text):
            kind = scopes[-1][0] if scopes else ""
            patterns = [OPENING, RPC] + ([VALUE] if kind == "enum" else [OTHER, FIELD]) + [OTHER]
            found = next((match for pattern in patterns if (match := pattern.match(self.text, at))), None)
            if found is None:
                self.unknown = self.text[at:].split("\n")[0]
                return
            at = found.end()
            name = ".".join([self.package, *(scope[1] for scope in scopes if scope[0] != "oneof")])
            if found.re is OPENING:
                self.entries.append((found.group(1), f"{name}.{found.group(2)}", found.group(2), None, ""))
                scopes.append(found.groups())
            elif found.re is RPC:
                words = [word.strip() if word else "" for word in found.groups()]
                self.entries.append(("rpc", f"{name}.{words[0]}", words[0], None, 
                                     f"({' '.join(words[1:3]).strip()}) returns ({' '.join(words[3:]).strip()})"))
            elif found.re is FIELD:
                what = " ".join((found.group(1) or "").split() + [re.sub(r"\s+", "", found.group(2))])
                self.entries.append(("field", f"{name}.{found.group(3)}", found.group(3), int(found.group(4)), what))
            elif found.re is VALUE:
                self.entries.append(("value", f"{name}.{found.group(1)}", found.group(1), int(found.group(2)), ""))
            elif found.group() == "}" and scopes:
                scopes.pop()

    def lines(self):
        return [f"{full} = {number} {what}".strip() if number is not None else f"{full} {what}"
                for kind, full, _, number, what in self.entries if kind in ("field", "value", "rpc")]


def style_problems(path, file):
    if file.unknown:
        yield f"{path}: not understood: {file.unknown}"
    if not re.search(r'syntax\s*=\s*"proto3"\s*;', file.text):
        yield f"{path}: not proto3"
    if file.package.startswith("scyper") and not re.search(r"\.v\d+$", file.package):
        yield f"{path}: package {file.package} has no version"
    is_ours = file.package.startswith("scyper.")  # others' packages have others' names
    numbers, first_values = {}, {}
    for kind, full, name, number, _ in file.entries:
        wanted = {"field": SNAKE, "oneof": SNAKE, "value": UPPER}.get(kind, PASCAL)
        if is_ours and not re.fullmatch(wanted, name):
            yield f"{path}: {kind} {full} is not named {wanted}"
        owner = full.rsplit(".", 1)[0]
        if number is None:
            continue
        if number in numbers.setdefault(owner, {}):
            yield f"{path}: {full} has the number of {numbers[owner][number]}"
        numbers[owner][number] = name
        if kind == "value" and first_values.setdefault(owner, number) != 0 and numbers[owner] == {number: name}:
            yield f"{path}: the first value of {owner} is not 0"
        if kind == "field" and (number < 1 or number in RESERVED):
            yield f"{path}: {full} has a number that is protobuf's"


def files_of(root):
    for path in sorted(glob.glob(os.path.join(root, "proto", "*.proto"))):
        yield os.path.relpath(path, root), File(tree.read(root, os.path.relpath(path, root)))


def recorded_lines(root):
    return sorted(line for _, file in files_of(root) if file.package == CLIENTS for line in file.lines())


def problems_of(root):
    for path, file in files_of(root):
        yield from style_problems(path, file)
    known = tree.read(root, RECORD).splitlines() if os.path.isfile(os.path.join(root, RECORD)) else []
    now = recorded_lines(root)
    for line in sorted(set(known) - set(now)):
        yield f"{RECORD}: clients know \"{line}\", which is gone or changed"
    for line in sorted(set(now) - set(known)):
        yield f"{RECORD}: \"{line}\" is not recorded (protos.py . --record)"


if __name__ == "__main__":
    if "--record" in sys.argv:
        with open(os.path.join(sys.argv[1], RECORD), "w", encoding="utf-8") as record:
            record.write("".join(line + "\n" for line in recorded_lines(sys.argv[1])))
    tree.finish(list(problems_of(sys.argv[1])), "messages are named well, and what clients know stays as it is")
