"""What callers give and get beside values: wishes, receipts, columns, results."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Iterator, List, Optional, Tuple, Union

Row = Tuple[Any, ...]


class TypeId(enum.IntEnum):
    """SQL types, as proto/scyper.proto numbers them."""

    UNKNOWN = 0
    BOOL = 1
    INT2 = 2
    INT4 = 3
    INT8 = 4
    FLOAT8 = 5
    NUMERIC = 6
    CHAR = 7
    VARCHAR = 8
    TEXT = 9
    DATE = 10
    TIMESTAMP = 11
    ARRAY = 12
    RECORD = 13
    VOID = 14
    INTERVAL = 15
    FLOAT4 = 16
    TIMESTAMPTZ = 17
    TIME = 18
    UUID = 19
    BYTEA = 20
    JSONB = 21

    @classmethod
    def _missing_(cls, value: object) -> TypeId:
        return cls.UNKNOWN  # newer than this package: values come as text


@dataclasses.dataclass(frozen=True)
class Type:
    id: TypeId
    element: TypeId = TypeId.UNKNOWN  # of arrays
    precision: int = 0  # numeric; 0 = unconstrained
    scale: int = 0


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    type: Type  # as its values are sent
    declared: Type  # what SQL says


@dataclasses.dataclass(frozen=True)
class Fresh:
    """Everything that was committed before the query."""


@dataclasses.dataclass(frozen=True)
class Staleness:
    """The data may be so many seconds old."""

    seconds: float


@dataclasses.dataclass(frozen=True)
class AtLeast:
    """Everything up to this LSN, as of a receipt."""

    lsn: int


@dataclasses.dataclass(frozen=True)
class GlobalSnapshot:
    """The same cut on every secondary, as of a receipt with a term. exact: no newer one instead."""

    term: int
    snapshot: int
    exact: bool = True


Freshness = Union[Fresh, Staleness, AtLeast, GlobalSnapshot]
FRESH = Fresh()


@dataclasses.dataclass(frozen=True)
class Receipt:
    """What an answer was computed from, and what it cost."""

    lsn: int  # all transactions up to this one, and no other
    snapshot: int  # its number: on the node, or, with a term, on every node
    term: int  # 0 = the snapshot is the node's own
    age_ms: float  # of the snapshot, when the query began
    node: str
    wait_ms: float = 0.0
    compile_ms: float = 0.0
    run_ms: float = 0.0
    memory_bytes: int = 0


@dataclasses.dataclass
class Result:
    """What one transaction or statement gave."""

    columns: List[Column]
    rows: List[Row]
    affected_rows: int = 0
    command_tag: str = ""
    notices: List[str] = dataclasses.field(default_factory=list)
    receipt: Optional[Receipt] = None  # of statements of a script that ran on a snapshot

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def one(self) -> Row:
        """The only row; InterfaceError when there are none or several."""
        from .errors import InterfaceError

        if len(self.rows) != 1:
            raise InterfaceError(f"{len(self.rows)} rows instead of one")
        return self.rows[0]

    def scalar(self) -> Any:
        """The first value of the only row."""
        return self.one()[0]


@dataclasses.dataclass(frozen=True)
class TLS:
    """PEM files. cert and key: where the node asks clients for a certificate."""

    ca: str
    cert: Optional[str] = None
    key: Optional[str] = None
    server_name: Optional[str] = None  # that the node's certificate has, where it is not the target's
