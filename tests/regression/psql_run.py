"""One regression file through psql, cut into statements."""

import dataclasses
import os
import re
import subprocess

LOST = re.compile(r"server closed the connection|connection to server was lost|could not connect|terminating connection")
ERROR = re.compile(r"^psql:[^ ]*:\d+: (?:ERROR|FATAL|PANIC):  (\w{5})(?:: (.*))?")
IGNORED = re.compile(r"^psql:[^ ]*:\d+: (?:NOTICE|WARNING|INFO|LOG|DEBUG):  \w{5}|^You are now connected"
                     r"|^(?:DETAIL|HINT|LINE \d+|LOCATION|CONTEXT|QUERY):  |^drop cascades to |^and \d+ other objects")
META = "@@meta"
BEGIN = "********* QUERY **********"
END = "**************************"


@dataclasses.dataclass
class Statement:
    """What psql sent, and what came back."""

    text: str
    rows: list
    states: list
    lost: bool = False
    message: str = ""

    @property
    def outcome(self):
        """The SQLSTATE of the first error, or 00000."""
        return self.states[0] if self.states else "00000"


def prepared(text, data):
    """The file's text for psql: COPY of a server's file becomes COPY by psql, and lists of \\d get a mark of their own."""
    lines, in_data = [], False
    names = {}
    for line in text.split("\n"):
        if in_data:
            in_data = line != "\\."
        elif re.match(r"copy\b.*\bfrom\s+stdin", line, re.I):
            in_data = True
        elif match := re.match(r"\\set\s+(\w+)\s+:abs_srcdir\s+'/data/([\w.]+)'", line):
            names[match[1]] = match[2]
        elif match := re.match(r"(copy\s+.*\bfrom\s+):'(\w+)'(.*?);\s*$", line, re.I):
            if match[2] in names:
                line = f"\\{match[1]}'{data / names[match[2]]}'{match[3]}"
        elif re.match(r"\\(d|sf|sv|l\b|z\b)", line):
            lines.append("\\warn " + META)
        lines.append(line)
    return "\n".join(lines)


def cut(output):
    """Statements of psql's log."""
    statements, current, in_text = [], None, False
    for line in output.split("\n"):
        if line == BEGIN and not in_text:
            current, in_text = Statement("", [], []), True
            statements.append(current)
        elif in_text:
            if line == END:
                in_text = False
            else:
                current.text += line + "\n"
        elif line == META:
            current = Statement("\\d", [], [])
            statements.append(current)
        elif current is not None:
            if match := ERROR.match(line):
                current.states.append(match[1])
                current.message = current.message or match[2] or ""
            elif LOST.search(line):
                current.lost = True
            elif not IGNORED.match(line) and line.strip():
                current.rows.append(line.rstrip())
    return statements


def run(source, connection, directory, timeout_s=300, verbosity="sqlstate"):
    """Runs a prepared file; gives its statements. With the verbosity "verbose" those that failed have their first message."""
    environment = dict(os.environ, PGTZ="PST8PDT", PG_ABS_SRCDIR=str(directory), PG_LIBDIR="/nowhere", PG_DLSUFFIX=".so")
    try:
        done = subprocess.run(["psql", "-X", connection, "-v", f"VERBOSITY={verbosity}", "-v", "HIDE_TABLEAM=on", "-P", "null=<N>", "-P", "footer=off", "-L", "/dev/stdout", "-o",
                               "/dev/null", "-f", str(source)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, timeout=timeout_s, check=False)
        output = done.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode("utf-8", "replace") + "\npsql:late:0: ERROR:  57014\n"
    return cut(output)
