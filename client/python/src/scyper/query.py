"""Queries on snapshots: rows as they come, sessions that pin a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, List, Optional

import grpc

from ._arrow import ArrowColumns
from ._cluster import Deadline, Node, raise_rpc, receipt_of
from ._columns import rows_of_batch
from ._values import column_of
from .errors import InterfaceError, error_of
from .proto import scyper_pb2 as pb
from .types import AtLeast, Column, Fresh, Freshness, GlobalSnapshot, Receipt, Row, Staleness

if TYPE_CHECKING:
    from .connection import Connection


def encode_freshness(wish: Freshness) -> pb.Freshness:
    if isinstance(wish, Staleness):
        if not wish.seconds >= 0:
            raise InterfaceError("a staleness is a number of seconds, 0 or more")
        return pb.Freshness(staleness_ms=min(int(wish.seconds * 1000), (1 << 63) - 1))
    if isinstance(wish, AtLeast):
        return pb.Freshness(at_least_lsn=wish.lsn)
    if not isinstance(wish, (Fresh, GlobalSnapshot)):
        raise InterfaceError("freshness is Fresh(), Staleness(seconds), AtLeast(lsn) or GlobalSnapshot(term, snapshot)")
    return pb.Freshness(fresh=True)  # a global snapshot goes as a ticket


def encode_ticket(wish: Freshness) -> Optional[pb.GlobalSnapshot]:
    if not isinstance(wish, GlobalSnapshot):
        return None
    return pb.GlobalSnapshot(term=wish.term, snapshot=wish.snapshot, exact=wish.exact)


class Rows:
    """The answer of one query, read once: as rows, or as Arrow's. The node sends no faster than it is read.

    Close it, leave its `with` or read it to its end: until then it holds a query on the node. Threads: one.
    """

    def __init__(self, call: Any, node: Node) -> None:
        self._call = call
        self._node = node  # whose connection has to live as long
        self._receipt: Optional[Receipt] = None
        self._is_over = False
        self.columns: List[Column] = []
        self.command_tag = ""
        self.notices: List[str] = []
        try:
            first = next(call)
        except StopIteration:
            raise error_of("08P01", "the node sent no columns") from None
        except grpc.RpcError as error:
            raise_rpc(error)
        self.columns = [column_of(column) for column in first.header.columns]

    @property
    def receipt(self) -> Receipt:
        """What it was computed from; known when all rows have been read."""
        if self._receipt is None:
            raise InterfaceError("the receipt comes behind the last row")
        return self._receipt

    def _batches(self) -> Iterator[bytes]:
        if self._is_over:
            raise InterfaceError("the rows have been read, or were closed")
        try:
            for part in self._call:
                if part.HasField("rows"):
                    yield part.rows.columns
                elif part.HasField("complete"):
                    self._finish(part.complete)
                else:
                    self.close()
                    raise error_of("42601", "a query is one statement")
        except grpc.RpcError as error:
            self._is_over = True
            raise_rpc(error)
        self._is_over = True

    def _finish(self, complete: pb.ExecuteResponse.Complete) -> None:
        self.command_tag = complete.command_tag
        self.notices = list(complete.notices)
        if complete.HasField("receipt"):
            self._receipt = receipt_of(complete.receipt)

    def __iter__(self) -> Iterator[Row]:
        for batch in self._batches():
            yield from rows_of_batch(self.columns, batch)

    def all(self) -> List[Row]:
        return list(self)

    def one(self) -> Row:
        """The only row; InterfaceError when there are none or several."""
        rows = self.all()
        if len(rows) != 1:
            raise InterfaceError(f"{len(rows)} rows instead of one")
        return rows[0]

    def scalar(self) -> Any:
        """The first value of the only row."""
        return self.one()[0]

    def record_batches(self, numeric: str = "decimal") -> Any:
        """A pyarrow.RecordBatchReader over the rows as they come. numeric: "decimal", "float" or "text"."""
        arrow = ArrowColumns(self.columns, numeric)
        schema = arrow.schema()
        import pyarrow

        return pyarrow.RecordBatchReader.from_batches(schema, (arrow.record_batch(batch, schema) for batch in self._batches()))

    def arrow(self, numeric: str = "decimal") -> Any:
        """All rows as a pyarrow.Table."""
        return ArrowColumns(self.columns, numeric).table(list(self._batches()))

    def pandas(self, numeric: str = "float") -> Any:
        """All rows as a pandas.DataFrame, by way of Arrow."""
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            raise InterfaceError("this needs pandas: pip install 'scyper[pandas]'") from error
        return self.arrow(numeric).to_pandas()

    def close(self) -> None:
        """Ends the query where it has not ended yet. Any thread."""
        self._is_over = True
        self._call.cancel()

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Session:
    """One snapshot of one node: all its queries see the same state. Made by Connection.session()."""

    def __init__(self, connection: Connection, node: Node, response: pb.OpenSessionResponse) -> None:
        self._connection = connection
        self._node = node
        self._id = response.session
        self._is_closed = False
        self.receipt = receipt_of(response.receipt)

    @property
    def target(self) -> str:
        return self._node.target

    @property
    def ticket(self) -> GlobalSnapshot:
        """For sessions on other nodes that see the same; InterfaceError where the snapshot is the node's own."""
        if self.receipt.term == 0:
            raise InterfaceError("the snapshot is the node's own, no other has it")
        return GlobalSnapshot(self.receipt.term, self.receipt.snapshot)

    def query(self, sql: str, *arguments: Any, timeout: Optional[float] = None, threads: int = 1) -> Rows:
        if self._is_closed:
            raise InterfaceError("the session is closed")
        options = pb.QueryOptions(session=self._id, threads=threads)
        return self._connection._run_query(self._node, sql, arguments, options, Deadline(self._connection._query_timeout(timeout)))

    def close(self) -> None:
        """Gives the snapshot back. A node that has gone has none any more."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._node.queries.CloseSession(pb.CloseSessionRequest(session=self._id), timeout=self._connection.timeout)
        except (grpc.RpcError, ValueError):  # gone, lost, or the connection is closed
            pass

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def query_options(freshness: Freshness, threads: int) -> pb.QueryOptions:
    return pb.QueryOptions(freshness=encode_freshness(freshness), ticket=encode_ticket(freshness), threads=threads)
