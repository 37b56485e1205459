"""Reads isolation specifications: the format of PostgreSQL's isolationtester (setup, sessions with steps, permutations of steps)."""

import dataclasses
import itertools
import re

TOKEN = re.compile(r'\s*(?:#[^\n]*\n|("(?:[^"]|"")*")|(\{)|([(),*])|([A-Za-z0-9_]+))')


@dataclasses.dataclass
class Session:
    name: str
    setup: str = ""
    teardown: str = ""
    steps: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Specification:
    setups: list = dataclasses.field(default_factory=list)
    teardown: str = ""
    sessions: list = dataclasses.field(default_factory=list)
    permutations: list = dataclasses.field(default_factory=list)

    def owner(self, step):
        return next(session for session in self.sessions if step in session.steps)

    def orders(self, most):
        """The permutations that are written down; without any, all interleavings of the sessions, `most` at most."""
        if self.permutations:
            return self.permutations[:most]
        return list(itertools.islice(interleavings([list(session.steps) for session in self.sessions]), most))


def interleavings(queues):
    if not any(queues):
        yield []
    for i, queue in enumerate(queues):
        if queue:
            for rest in interleavings(queues[:i] + [queue[1:]] + queues[i + 1:]):
                yield [queue[0], *rest]


class Reader:
    def __init__(self, text):
        self.text, self.at = text + "\n", 0

    def peek(self):
        at = self.at
        token = self.next()
        self.at = at
        return token

    def next(self):
        while True:
            found = TOKEN.match(self.text, self.at)
            if not found:
                return None
            self.at = found.end()
            quoted, brace, mark, word = found.groups()
            if quoted:
                return quoted[1:-1].replace('""', '"')
            if brace:
                end = self.text.index("}", self.at)
                block, self.at = self.text[self.at:end], end + 1
                return "{" + block
            if mark or word:
                return mark or word

    def block(self):
        token = self.next()
        if not token or token[0] != "{":
            raise ValueError(f"a block is missing near {self.text[self.at:self.at + 40]!r}")
        return token[1:].strip()


def read_order(reader):
    """Steps up to the next keyword; markers in parentheses say when a step counts as done and are left out."""
    steps, depth = [], 0
    while (token := reader.peek()) is not None and not (depth == 0 and token in ("permutation", "session", "setup", "teardown")):
        reader.next()
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0 and token not in ("(", ")", ",", "*"):
            steps.append(token)
    return steps


def parse(text):
    specification, reader = Specification(), Reader(text)
    session = None
    while (token := reader.next()) is not None:
        if token == "session":
            session = Session(reader.next())
            specification.sessions.append(session)
        elif token == "step":
            name = reader.next()
            session.steps[name] = reader.block()
        elif token == "setup" and session:
            session.setup = reader.block()
        elif token == "setup":
            specification.setups.append(reader.block())
        elif token == "teardown" and session:
            session.teardown = reader.block()
        elif token == "teardown":
            specification.teardown = reader.block()
        elif token == "permutation":
            specification.permutations.append(read_order(reader))
        else:
            raise ValueError(f"unknown word {token!r}")
    return specification
