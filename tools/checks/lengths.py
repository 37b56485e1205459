"""Functions of at most 70 lines, files of at most 600; tests excepted. Exceptions are listed with their length and may only shrink."""

import re
import sys

import tree

FUNCTION_LINES = 70
FILE_LINES = 600
ALLOWED = "tools/checks/function_length_allowed.txt"

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<raw>[^()\\ ]{0,16})\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
CONTAINER = re.compile(r"^(inline\s+)?namespace\b|^extern$|^(typedef\s+)?(class|struct|union|enum)\b[^()]*$")


def blank(text):
    """The text with comments, literals and preprocessor lines overwritten by spaces: same length, same lines."""
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def header_before(text, start, brace):
    """What stands between the end of the previous declaration and a brace, without what hides its kind."""
    header = text[start:brace]
    header = re.sub(r"\[\[.*?\]\]|\b__attribute__\s*\(\(.*?\)\)|\balignas\s*\([^)]*\)|\b[A-Z][A-Z_]+\s*\([^()]*\)", " ", header, flags=re.DOTALL)
    header = re.sub(r"^\s*((public|private|protected)\s*:\s*)+", "", header)
    header = re.sub(r"^\s*template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>\s*(requires[^{;]*?(?=\b(class|struct)\b))?", "", header)
    return header.strip()


def match_brace(text, brace):
    depth = 0
    for place in range(brace, len(text)):
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if depth == 0:
                return place
    return len(text) - 1


def name_of(header):
    found = re.search(r"((?:[\w<>]+::)*(?:operator\s*(?:\(\)|[^\s(]{1,3})|~?\w+))\s*\(", header)
    return found.group(1) if found else header.split("\n")[0][:40]


def functions(source):
    """Yields (name, lines) of every function with a body, from the first line of its declaration to its closing brace.

    Relies on clang-format's layout in one place: a body's brace follows a space, a member initialiser's brace does not.
    """
    text = blank(source)
    start = place = parentheses = 0
    while place < len(text):
        letter = text[place]
        if letter in "()":
            parentheses += 1 if letter == "(" else -1
        elif letter in ";}" and parentheses == 0:
            start = place + 1
        elif letter == "{":
            header = header_before(text, start, place)
            if parentheses > 0 or text[place - 1] not in " \n" or header.endswith(("=", ",", "return")):
                place = match_brace(text, place)  # an initialiser
            elif CONTAINER.search(header):
                start = place + 1
            else:
                end = match_brace(text, place)
                if "(" in header:
                    first = start + re.match(r"(\s|\b(public|private|protected)\s*:)*", text[start:place]).end()
                    yield name_of(header), text.count("\n", first, end) + 1
                start = end + 1
                place = end
        place += 1


def problems_of(root):
    allowed = {}
    for line in tree.entries(root, ALLOWED):
        path, name, lines = line.split()
        allowed[path, name] = int(lines)
    for path in tree.files(root, ".cc", ".h", ".c"):
        if path.endswith("_test.cc") or path.startswith("tests/"):
            continue
        source = tree.read(root, path)
        found = [(name, lines, FUNCTION_LINES) for name, lines in functions(source)]
        found.append(("file", len(source.splitlines()), FILE_LINES))
        for name, lines, limit in found:
            if lines <= limit:
                continue
            bound = allowed.pop((path, name), limit)
            if lines > bound:
                yield f"{path}: {name} has {lines} lines, at most {bound}"
            elif lines < bound:
                yield f"{path}: {name} shrank to {lines} lines, lower its {bound} in {ALLOWED}"
    for path, name in allowed:
        yield f"{ALLOWED}: {path} {name} needs no exception any more, remove it"


if __name__ == "__main__":
    tree.finish(list(problems_of(sys.argv[1])), f"split it; {ALLOWED} may only shrink")
