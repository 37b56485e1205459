"""Two runs of one regression file, statement by statement."""

import collections
import re

EXPLAIN = re.compile(r"^\s*(?:(?:--[^\n]*\n|/\*.*?\*/)\s*)*explain\b", re.I)
ORDERED = re.compile(r"\border\s+by\b", re.I)
NESTED = re.compile(r"\([^()]*\)|'[^']*'|--[^\n]*")
SAMPLED = re.compile(r"\btablesample\b", re.I)
QUOTED = re.compile(r'"[^"]*"')
KINDS = ("same", "wrong", "later", "refused", "taken", "state", "lost", "plan", "listing")


def is_ordered(text):
    """Whether the statement itself, not a subquery or a window of it, has ORDER BY."""
    while True:
        outside = NESTED.sub(" ", text)
        if outside == text:
            return bool(ORDERED.search(text))
        text = outside


def same_rows(ours, theirs, text):
    if ours == theirs or SAMPLED.search(text):  # which rows a sample has is nobody's promise
        return True
    return not is_ordered(text) and sorted(squeezed(ours)) == sorted(squeezed(theirs))


def squeezed(rows):
    """Rows without the blanks and lines of psql's table, whose widths depend on the order of nothing but stay apart from values."""
    return [re.sub(r"\s+", " ", re.sub(r"-{3,}", "-", row)).strip() for row in rows]


def kind_of(ours, theirs, in_step):
    """One of KINDS: same; wrong: other rows though all before agreed; later: other rows, after a difference; refused: an error
    here only; taken: an error there only; state: two SQLSTATEs; plan, listing: EXPLAIN and \\d, whose texts differ."""
    if ours.lost:
        return "lost"
    if ours.outcome != theirs.outcome:
        return "refused" if theirs.outcome == "00000" else "taken" if ours.outcome == "00000" else "state"
    if ours.outcome != "00000" or same_rows(ours.rows, theirs.rows, theirs.text):
        return "same"
    if EXPLAIN.match(theirs.text):
        return "plan"
    if theirs.text == "\\d":
        return "listing"
    return "wrong" if in_step else "later"


def compare(ours, theirs):
    """(kind, our statement, PostgreSQL's) of each statement of PostgreSQL's run; statements are paired by their place and text."""
    found, in_step, place = [], True, 0
    for statement in theirs:
        mine = None
        for ahead in range(place, min(place + 5, len(ours))):
            if ours[ahead].text == statement.text:
                mine, place = ours[ahead], ahead + 1
                break
        if mine is None:  # variables of \gset differ, or the node was lost before
            in_step = False
            found.append(("lost" if any(s.lost for s in ours) else "later", None, statement))
            continue
        kind = kind_of(mine, statement, in_step)
        if kind in ("refused", "taken", "state", "lost", "wrong"):
            in_step = in_step and kind == "wrong"
        found.append((kind, mine, statement))
    return found


def counts(found):
    counted = collections.Counter(kind for kind, _, _ in found)
    return {kind: counted[kind] for kind in KINDS if counted[kind]}


def causes(found):
    """How many statements each error of ours has refused; names and values within quotes are left out of the messages."""
    refused = [ours for kind, ours, _ in found if ours and kind in ("refused", "state")]
    return collections.Counter(f"{ours.outcome} {QUOTED.sub('...', ours.message)}" for ours in refused)
