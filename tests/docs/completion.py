#!/usr/bin/env python3
"""Completion in bash, zsh and fish, and manual pages, as the program makes them: asked for the words that would follow.

Usage: completion.py BIN   Debian: zsh, fish, groff-base. The exit code counts the failures.
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from checks import CHECKS, expect, run

# Words typed, the last of them as far as it is; some that must follow; some that must not.
CASES = [
    (["scyper", ""], {"sql", "bench", "support-bundle", "completion"}, {"oltp", "auditor"}),
    (["scyper", "st"], {"status"}, {"sql"}),
    (["scyper", "bench", "ol"], {"oltp", "olap"}, {"mixed"}),
    (["scyper", "bench", "log", "--k"], {"--keep"}, {"--keeps"}),
    (["scyper", "status", "--ta"], {"--target"}, {"--tuples-only"}),
    (["scyper", "sql", "-o", ""], {"table", "csv", "json"}, {"sql"}),
    (["scyper", "status", "--output", "j"], {"json"}, {"csv"}),
    (["scyper", "--target", "h", "completion", "z"], {"zsh"}, {"bash"}),
    (["scyperd", "--query-con"], {"--query-concurrency"}, {"--queue-capacity"}),
]

BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
"_$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""
# zsh's own functions need its line editor: in their place are some that print what they are given.
ZSH = """
compdef() { : }
compadd() { while [[ $1 == -* && $1 != -- ]]; do shift; done; shift; print -l -- "$@" }
_describe() { shift; local word; for word in ${(P)1}; do print -r -- ${word%%:*}; done }
_files() { print -r -- FILES }
source "$1"; shift
words=("$@"); CURRENT=$#
_$1
"""
FISH = 'source $argv[1]; complete -C "$argv[2]" | string split -f 1 \\t; true'


def asked(shell, script, words):
    if shell == "fish":
        return run("fish", "--no-config", "--private", "-c", FISH, script, " ".join(words))
    text, options = (BASH, ["--noprofile", "--norc"]) if shell == "bash" else (ZSH, ["-f"])
    return run(shell, *options, "-c", text, shell, script, *words)


def check_shell(shell, scyper, folder):
    for words, must, must_not in CASES:
        script = folder / f"{words[0]}.{shell}"
        if not script.exists():
            code, said = run(scyper, "completion", shell, "--program", words[0])
            expect(f"completion of {words[0]} for {shell}", code == 0, said)
            script.write_text(said)
        code, said = asked(shell, script, words)
        # zsh chooses among them itself
        found = {word for word in said.split() if shell != "zsh" or word.startswith(words[-1])}
        expect(f"{shell}: {' '.join(words)}", code == 0 and must <= found and not must_not & found, said)


def check_files(scyper, folder):
    """Where an option takes anything, files come."""
    script = folder / "scyper.zsh"
    code, said = asked("zsh", script, ["scyper", "sql", "--file", ""])
    expect("zsh: files after --file", (code, said) == (0, "FILES\n"), said)
    code, said = asked("bash", folder / "scyper.bash", ["scyper", "sql", "--file", "s"])
    expect("bash: files after --file, which bash adds itself", (code, said.strip()) == (0, ""), said)


def check_manual(scyper):
    for page in ("scyper", "scyperd"):
        code, text = run(scyper, "man", page)
        expect(f"scyper man {page}", code == 0 and text.startswith(f".TH {page.upper()} "), text[:300])
        done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=text, text=True, capture_output=True, check=False)
        expect(f"troff has nothing to say against {page}", done.returncode == 0 and not done.stderr, done.stderr[:2000])
    code, said = run(scyper, "man", "nothing")
    expect("a page that is not there", code == 2, said)
    code, said = run(scyper, "completion", "csh")
    expect("a shell that is not known", code == 2 and "csh" in said, said)


def main(bin_folder):
    scyper = pathlib.Path(bin_folder) / "scyper"
    with tempfile.TemporaryDirectory() as name:
        for shell in ("bash", "zsh", "fish"):
            check_shell(shell, scyper, pathlib.Path(name))
        check_files(scyper, pathlib.Path(name))
    check_manual(scyper)
    return CHECKS.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
