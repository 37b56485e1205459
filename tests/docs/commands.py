#!/usr/bin/env python3
"""The commands of README.md and docs/*.md, run; what they mention, looked up. README.md beside this says how blocks are written.

Usage: commands.py SOURCE BIN [PAGE ...]   Debian: util-linux, iproute2. The exit code counts the failures.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, expect, run

PATIENCE_S = 240  # of a page
FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})\s*(\S*)\s*(.*)$")
SHELLS = ("console", "sh", "bash", "shell")
END = "== end of a command =="
# Not ours, though they look so.
NOT_COMMANDS = {"scyper datagram 1": "a key's derivation (docs/replication.md)"}


class Block:
    def __init__(self, place, language, info):
        self.place, self.language, self.info, self.lines = place, language, info, []

    def reason(self):
        found = re.search(r'not-run="([^"]+)"', self.info)
        return found.group(1) if found else None

    def commands(self):
        """Command and what it should print; None: whatever it likes."""
        if self.language != "console":
            return [("\n".join(self.lines), None)] if self.lines else []
        found = []
        for line in self.lines:
            if line.startswith("$ "):
                found.append([line[2:], []])
            elif line.startswith("> ") and found and not found[-1][1]:
                found[-1][0] += "\n" + line[2:]
            elif found:
                found[-1][1].append(line)
            else:
                expect(f"{self.place}: a console block begins with a command", False, line)
        return [(command, output) for command, output in found]


def blocks_of(path, source):
    """Blocks between fences, and the text outside of them."""
    blocks, text, open_fence = [], [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if open_fence and line.strip() == open_fence:
            open_fence = None
        elif open_fence:
            blocks[-1].lines.append(line[indent:] if line[:indent].isspace() else line)
        elif fence:
            indent, open_fence = len(fence.group(1)), fence.group(2)
            blocks.append(Block(f"{path.relative_to(source)}:{number}", fence.group(3), fence.group(4)))
        else:
            text.append((number, line))
    expect(f"{path.name}: fences are closed", open_fence is None)
    return blocks, text


def matches(expected, printed):
    """`...` in a line is any text, alone it is any lines. How many blanks there are does not matter: columns are as wide as what is in them."""
    printed = re.sub(r"[ \t]+", " ", printed)
    pattern = []
    for line in expected:
        if line.strip() == "...":
            pattern.append(r"(?:[^\n]*\n)*?")
        else:
            pattern.append(re.escape(re.sub(r"[ \t]+", " ", line.rstrip())).replace(r"\.\.\.", ".*?") + r" ?\n")
    return re.fullmatch("".join(pattern), printed)


class Shell:
    """One for a page: a network with loopback only, and processes that end with it."""

    def __init__(self, folder, bin_folder):
        command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if os.geteuid() != 0:
            command += ["--user", "--map-root-user"]
        self.process = subprocess.Popen([*command, "bash", "--noprofile", "--norc"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace",
                                        env={"PATH": f"{bin_folder}:/usr/lib/postgresql/15/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder),
                                             "LC_ALL": "C.UTF-8", "USER": "root"})
        self.run("ip link set lo up")

    def run(self, command):
        """Exit code and output."""
        self.process.stdin.write(f"{{ {command}\n}} </dev/null\necho; echo '{END}' $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(END):
                text = "".join(lines)
                return int(line[len(END):]), text[:-1] if text.endswith("\n\n") or text == "\n" else text
            lines.append(line)
        return -1, "".join(lines)

    def close(self):
        self.process.kill()
        self.process.wait()


def make_folder(source, bin_folder, folder):
    """As a clone after `make build`."""
    for entry in ("README.md", "deploy", "docs", "proto", "tools"):
        (folder / entry).symlink_to(source / entry)
    (folder / "build" / "release").mkdir(parents=True)
    (folder / "build" / "release" / "bin").symlink_to(bin_folder)


def run_page(blocks, source, bin_folder):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_folder(source, bin_folder, folder)
        shell = Shell(folder, bin_folder)
        timer = threading.Timer(PATIENCE_S, shell.close)
        timer.start()
        try:
            for block in blocks:
                for command, output in block.commands():
                    code, printed = shell.run(command)
                    short = command.split("\n")[0][:80]
                    is_right = code == 0 if output is None else bool(matches(output, printed))
                    difference = "" if output is None else "\n".join(difflib.unified_diff(output, printed.splitlines(), "page", "printed", lineterm=""))
                    expect(f"{block.place}: {short}", is_right, f"exit code {code}\n{printed}\n{difference}")
                    if os.environ.get("SCYPER_TEST_VERBOSE"):
                        print(printed, flush=True)
                    if not is_right:
                        return
        finally:
            timer.cancel()
            shell.close()


class Programs:
    """Commands and flags, as the manual pages have them."""

    def __init__(self, bin_folder):
        self.flags = {}  # of each command, by its words
        for program in ("scyper", "scyperd"):
            code, page = run(bin_folder / "scyper", "man", program)
            expect(f"there is a page scyper man {program}", code == 0, page)
            path = (program,)
            self.flags[path] = set()
            for line in page.replace("\\-", "-").splitlines():
                if heading := re.match(r"\.SS (scyper .*)", line):
                    path = tuple(word for word in heading.group(1).split() if re.fullmatch(r"[a-z][a-z0-9-]*", word))
                    self.flags[path] = set()
                elif line.startswith(".B -"):
                    self.flags[path] |= set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", line))
        self.flags[("scyper",)] |= {"--help", "-h"}

    def problem(self, words):
        """What is wrong with a command line; None: nothing, as far as it is seen."""
        path = words[:1]
        for word in words[1:]:
            longer = (*path, word)
            if longer not in self.flags:
                break
            path = longer
        has_commands = any(len(other) == len(path) + 1 and other[:len(path)] == path for other in self.flags)
        rest = words[len(path):]
        if has_commands and rest and re.fullmatch(r"[a-z][a-z-]+", rest[0]) and path not in (("scyper", "load"),):
            return f"{' '.join(path)} has no command {rest[0]}"
        if has_commands and rest and re.fullmatch(r"[A-Z]+", rest[0]):  # whichever of them
            path, rest = next(other for other in self.flags if len(other) == len(path) + 1 and other[:len(path)] == path), rest[1:]
        allowed = {"--help", "-h", "--version"}.union(*(self.flags[path[:i]] for i in range(1, len(path) + 1)))
        for word in rest:
            flag = word.split("=")[0]
            if re.fullmatch(r"--?[a-zA-Z][\w-]*", flag) and flag not in allowed and not is_number(flag):
                return f"{' '.join(path)} has no flag {flag}"
        return None


def is_number(word):
    return re.fullmatch(r"-\d.*", word)


def mentions(text):
    """Command lines of ours in running text: `scyper ...`, several by `a | b | c`, and what stands in [ ] or behind ..."""
    for number, line in text:
        for code in re.findall(r"`([^`]+)`", line):
            if not re.match(r"scyperd? ", code) or code in NOT_COMMANDS:
                continue
            words = code.replace("...", " ").replace("[", " ").replace("]", " ").split()
            for i, word in enumerate(words):  # what follows belongs to a shell
                if word in ("&&", ";", ">", ">>", "&", "#"):
                    words = words[:i]
                    break
            yield number, code, alternatives(words)


def alternatives(words):
    """`scyper sql | call | load` is three."""
    parts, part = [], []
    for word in words[1:]:
        if word == "|":
            parts.append(part)
            part = []
        else:
            part.append(word)
    parts.append(part)
    return [tuple([words[0], *p]) for p in parts if p]


def check_mentions(path, source, text, programs):
    found = []
    for number, code, lines in mentions(text):
        for line in lines:
            if problem := programs.problem(line):
                found.append(f"{path.relative_to(source)}:{number}: `{code}`: {problem}")
    expect(f"{path.relative_to(source)}: what it mentions is there", not found, "\n".join(found))


def check_configuration(source, bin_folder):
    code, made = run(bin_folder / "scyper", "man", "configuration")
    page = source / "docs" / "configuration.md"
    there = page.read_text() if page.exists() else ""
    difference = "".join(difflib.unified_diff(there.splitlines(True), made.splitlines(True), "docs/configuration.md", "scyper man configuration"))
    expect("docs/configuration.md is what the settings are (scyper man configuration >docs/configuration.md)", code == 0 and there == made, difference)


def can_unshare():
    return subprocess.run(["unshare", "--net", "--pid", "--fork", "--mount-proc", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "true"],
                          capture_output=True, check=False).returncode == 0


def main(source, bin_folder, *only):
    source, bin_folder = pathlib.Path(source).resolve(), pathlib.Path(bin_folder).resolve()
    check_configuration(source, bin_folder)
    programs = Programs(bin_folder)
    pages = [source / "README.md", *sorted((source / "docs").glob("*.md"))]
    runs = can_unshare()
    if not runs:
        print("skipped: running commands, which needs namespaces", flush=True)
    for page in pages:
        if only and page.name not in only:
            continue
        blocks, text = blocks_of(page, source)
        indented = [f"{number}: {line}" for number, line in text if re.match(r"    \$ |    (scyper|make|apt|build/)", line)]
        expect(f"{page.name}: commands stand between fences", not indented, indented)
        shells = [block for block in blocks if block.language in SHELLS]
        check_mentions(page, source, text, programs)
        for block in shells:
            if "not-run" in block.info:
                expect(f"{block.place}: why it is not run", block.reason(), block.info)
        to_run = [block for block in shells if "not-run" not in block.info]
        if runs and to_run:
            run_page(to_run, source, bin_folder)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
