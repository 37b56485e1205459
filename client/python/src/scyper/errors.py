"""Exceptions: PEP 249's classes by PostgreSQL's SQLSTATE, with what the node said."""

from __future__ import annotations

from typing import Optional, Sequence


class Warning(Exception):  # noqa: A001 - PEP 249 wants the name
    """Not raised; there for PEP 249."""


class Error(Exception):
    """All errors of this package. Texts and fields are the node's, as PostgreSQL has them."""

    sqlstate: Optional[str] = None

    def __init__(self, message: str = "", *, sqlstate: Optional[str] = None, detail: str = "", hint: str = "", context: str = "", position: int = 0,
                 retry_after_ms: int = 0, notices: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate or self.sqlstate
        self.detail = detail
        self.hint = hint
        self.context = context
        self.position = position  # 1-based, in characters of the statement; 0 = none
        self.retry_after_ms = retry_after_ms  # 0: the same call would fail again
        self.notices = list(notices)
        self.is_from_node = False  # a node has said so; else this package found it

    def __str__(self) -> str:
        lines = [f"{self.message} [{self.sqlstate}]" if self.sqlstate else self.message]
        for name, text in (("DETAIL", self.detail), ("HINT", self.hint), ("CONTEXT", self.context)):
            if text:
                lines.append(f"{name}:  {text}")
        return "\n".join(lines)


class InterfaceError(Error):
    """This package was used wrongly: nothing was sent."""


class DatabaseError(Error):
    pass


class DataError(DatabaseError):
    pass


class OperationalError(DatabaseError):
    pass


class IntegrityError(DatabaseError):
    pass


class InternalError(DatabaseError):
    pass


class ProgrammingError(DatabaseError):
    pass


class NotSupportedError(DatabaseError):
    pass


class ConnectionFailed(OperationalError):
    """No node could be reached, or the connection to it ended (08xxx)."""

    sqlstate = "08006"


class QueryCanceled(OperationalError):
    """Cancelled, or its time was over (57014)."""

    sqlstate = "57014"


class OutcomeUnknown(OperationalError):
    """Whether the call was done is not known (40003): look for what it does before it is sent as a new one."""

    sqlstate = "40003"


# As psycopg has them.
_CLASSES = {
    "08": ConnectionFailed, "0A": NotSupportedError, "20": ProgrammingError, "21": ProgrammingError, "22": DataError, "23": IntegrityError,
    "24": InternalError, "25": InternalError, "26": ProgrammingError, "27": OperationalError, "28": OperationalError, "2B": InternalError,
    "2D": InternalError, "2F": OperationalError, "34": ProgrammingError, "38": OperationalError, "39": OperationalError, "3B": OperationalError,
    "3D": ProgrammingError, "3F": ProgrammingError, "40": OperationalError, "42": ProgrammingError, "44": ProgrammingError, "53": OperationalError,
    "54": OperationalError, "55": OperationalError, "57": OperationalError, "58": OperationalError, "P0": ProgrammingError, "XX": InternalError,
}  # fmt: skip
_STATES = {"40003": OutcomeUnknown, "57014": QueryCanceled}


def class_of(sqlstate: str) -> type[DatabaseError]:
    """The exception for a SQLSTATE."""
    return _STATES.get(sqlstate) or _CLASSES.get(sqlstate[:2], DatabaseError)


def error_of(sqlstate: str, message: str, *, hint: str = "") -> DatabaseError:
    return class_of(sqlstate)(message, sqlstate=sqlstate, hint=hint)
