"""ScyPer from Python: transactions, queries on snapshots, clusters. README.md and docs/python.md have examples."""

from .connection import Connection, NodeStatus, connect
from .errors import (
    ConnectionFailed,
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    OutcomeUnknown,
    ProgrammingError,
    QueryCanceled,
    Warning,
)
from .pipeline import Pipeline
from .query import Rows, Session
from .transaction import Transaction
from .types import FRESH, TLS, AtLeast, Column, Fresh, Freshness, GlobalSnapshot, Receipt, Result, Row, Staleness, Type, TypeId

__all__ = [
    "FRESH",
    "TLS",
    "AtLeast",
    "Column",
    "Connection",
    "ConnectionFailed",
    "DataError",
    "DatabaseError",
    "Error",
    "Fresh",
    "Freshness",
    "GlobalSnapshot",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NodeStatus",
    "NotSupportedError",
    "OperationalError",
    "OutcomeUnknown",
    "Pipeline",
    "ProgrammingError",
    "QueryCanceled",
    "Receipt",
    "Result",
    "Row",
    "Rows",
    "Session",
    "Staleness",
    "Transaction",
    "Type",
    "TypeId",
    "Warning",
    "connect",
]
