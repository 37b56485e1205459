"""The connection to a node, or to a cluster whatever its primary is."""

from __future__ import annotations

import dataclasses
import itertools
import time
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

import grpc

from ._cluster import (
    Deadline,
    Identities,
    Leader,
    Node,
    Nodes,
    Statements,
    error_from_rpc,
    is_of_execution,
    is_worth_another,
    may_have_been_done,
    raise_rpc,
    unknown_outcome,
    utf8,
)
from ._copying import CopySource, pieces_of
from ._values import column_of, complete, encode_arguments, result_of, rows_of, type_of
from .errors import DatabaseError, Error, InterfaceError, error_of
from .pipeline import Pipeline
from .proto import scyper_pb2 as pb
from .query import Rows, Session, encode_freshness, encode_ticket, query_options
from .transaction import Transaction, encode_begin
from .types import FRESH, TLS, Freshness, Result, Type

_Answer = TypeVar("_Answer")
_TYPE_ERRORS = ("42804", "08P01")  # perhaps the statement's parameters have changed
_CLOCKS_S = 0.05  # what a node's word that the time is over may be early
_QUERY_ELSEWHERE = ("55000", "57P02")  # the snapshot, or the place for one, has gone


@dataclasses.dataclass(frozen=True)
class NodeStatus:
    """What a node says of itself; message: all of it, as proto/scyper.proto has it."""

    target: str
    version: str
    role: str
    node: str
    term: int
    leader: str
    last_lsn: int
    applied_lsn: int
    message: Any = dataclasses.field(repr=False)


class Connection:
    """Made by connect(). Threads: any, for all functions; connections to nodes are shared by them.

    Transactions go to the primary, which is found by hints; a call is sent again under its id until it is answered, so it is done once
    whatever happens. Queries go to any node.
    """

    def __init__(self, targets: Sequence[str], tls: Optional[TLS], timeout: float, query_timeout: float, attempt: float) -> None:
        self.timeout = timeout
        self.query_timeout = query_timeout
        self.attempt = attempt
        for seconds in (timeout, query_timeout, attempt):
            Deadline(seconds)
        self._nodes = Nodes(tls)
        self._primary = Leader(self._nodes, targets)
        self._reader = Leader(self._nodes, targets)
        self._identities = Identities()
        self._statements = Statements()
        self._queries = Statements()

    # --- transactions ---

    @property
    def primary(self) -> Optional[str]:
        """The node that transactions go to, as far as is known."""
        return self._primary.target

    def call(self, sql: str, *arguments: Any, timeout: Optional[float] = None) -> Result:
        """One transaction: a CALL or another statement, done once. After OutcomeUnknown nobody knows; after any other error it was not done."""
        deadline = Deadline(self.timeout if timeout is None else timeout)
        request_id = self._identities.next()
        attempt_s = self.attempt
        unknown: Optional[Error] = None
        while True:
            is_sent = False
            node: Optional[Node] = None
            attempt_until = 0.0
            try:
                node = self._primary.node(deadline.left())
                message = self._make_call(node, sql, arguments, request_id, deadline)
                is_sent = True
                attempt_until = time.monotonic() + min(attempt_s, deadline.left())
                response = node.transactions.Call(pb.CallRequest(call=message), timeout=max(min(attempt_s, deadline.left()), 0.001))
                break
            except grpc.RpcError as rpc_error:
                error = error_from_rpc(rpc_error)
                error.__cause__ = rpc_error
            except DatabaseError as own:
                error = own
            if is_sent and error.sqlstate in _TYPE_ERRORS:
                self._statements.drop(sql)
            if is_sent and may_have_been_done(error):
                unknown = error
            is_late = is_sent and error.sqlstate == "57014" and time.monotonic() >= attempt_until - _CLOCKS_S
            if is_late:
                attempt_s *= 2  # it may just take so long
            if unknown is None and not is_late and not is_worth_another(error):
                raise error
            if unknown is not None and is_sent and error.is_from_node and is_of_execution(error):
                raise error
            if node is not None:
                self._primary.forget(node.target, node, error)
            if deadline.is_over():
                raise unknown_outcome(unknown) if unknown is not None else error
            self._primary.pause(deadline)
        return result_of(response.result)

    def transaction(self, *, isolation: Optional[str] = None, read_only: bool = False, deferrable: bool = False,
                    settings: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None) -> Transaction:
        """Several statements as one transaction, open while the program thinks: `with db.transaction() as transaction:`.

        isolation: 'read committed', 'repeatable read' or 'serializable'; settings: as by SET; timeout: seconds until it has begun.
        """
        begin = encode_begin(isolation, read_only, deferrable, settings)
        deadline = Deadline(self.timeout if timeout is None else timeout)
        while True:
            node: Optional[Node] = None
            try:
                node = self._primary.node(deadline.left())
                return Transaction(node, begin)
            except DatabaseError as error:  # nothing was done
                if node is not None:
                    self._primary.forget(node.target, node, error)
                if not is_worth_another(error) or deadline.is_over():
                    raise
                self._primary.pause(deadline)

    def call_many(self, sql: str, rows: Iterable[Sequence[Any]], *, timeout: Optional[float] = None) -> List[Result]:
        """One transaction per row of arguments, in batches on a stream; results in order. The first error is raised when all are answered."""
        with self.pipeline(timeout=timeout) as pipeline:
            futures = [pipeline.call(sql, *row) for row in rows]
        return [future.result() for future in futures]

    def pipeline(self, *, window: int = 4000, timeout: Optional[float] = None) -> Pipeline:
        """Calls in batches on a stream. window: calls that may be unanswered; timeout: of each, from when it was given."""
        return Pipeline(self, window, self.timeout if timeout is None else timeout)

    def execute(self, sql: str, *, timeout: Optional[float] = None) -> List[Result]:
        """Statements separated by semicolons, each its own transaction: definitions, scripts. Stops at the first error.

        They have no request ids: where the connection fails OutcomeUnknown is raised, and some may have been done.
        """
        deadline = Deadline(self.timeout if timeout is None else timeout)
        while True:
            results: List[Result] = []
            node: Optional[Node] = None
            try:
                node = self._primary.node(deadline.left())
                self._execute(node, sql, deadline, results)
                return results
            except DatabaseError as error:
                if node is not None:
                    self._primary.forget(node.target, node, error)
                if node is not None and may_have_been_done(error):
                    raise unknown_outcome(error) from error
                if results or not is_worth_another(error) or deadline.is_over():
                    raise
                self._primary.pause(deadline)

    def copy(self, sql: str, source: CopySource, *, timeout: Optional[float] = None) -> Result:
        """COPY ... FROM STDIN as a transaction of its own. source: str, bytes, a file, or pieces of them, cut anywhere.

        All rows go in, or none. It is sent once: where the connection fails OutcomeUnknown is raised, and it may have been done.
        """
        deadline = Deadline(self.timeout if timeout is None else timeout)
        node = self._primary.node(deadline.left())
        first = [pb.CopyInRequest(sql=utf8(sql))]
        steps = itertools.chain(first, (pb.CopyInRequest(text=piece) for piece in pieces_of(source)), [pb.CopyInRequest(done=True)])
        try:
            *_, last = node.queries.CopyIn(steps, timeout=max(deadline.left(), 0.001))
        except grpc.RpcError as error:
            rpc_error = error_from_rpc(error)
            if may_have_been_done(rpc_error):
                raise unknown_outcome(rpc_error) from error
            raise rpc_error from error
        return complete(Result([], []), last.complete)

    def _execute(self, node: Node, sql: str, deadline: Deadline, results: List[Result]) -> None:
        try:
            for part in node.queries.Execute(pb.ExecuteRequest(sql=utf8(sql)), timeout=max(deadline.left(), 0.001)):
                if part.HasField("header"):
                    current = Result([column_of(column) for column in part.header.columns], [])
                elif part.HasField("rows"):
                    current.rows.extend(rows_of(part.rows.rows, current.columns))
                elif part.HasField("complete"):
                    results.append(complete(current, part.complete))
        except grpc.RpcError as error:
            raise_rpc(error)

    def parameters(self, sql: str, node: Node, timeout: float) -> Tuple[Type, ...]:
        """Types of a statement's parameters."""
        types = self._statements.get(sql)
        if types is None:
            try:
                response = node.transactions.Prepare(pb.PrepareRequest(sql=utf8(sql)), timeout=max(min(timeout, self.timeout), 0.001))
            except grpc.RpcError as error:
                raise_rpc(error)
            types = tuple(type_of(type) for type in response.parameters)
            self._statements.put(sql, types)
        return types

    def _make_call(self, node: Node, sql: str, arguments: Sequence[Any], request_id: int, deadline: Deadline) -> pb.Call:
        values = encode_arguments(arguments, self.parameters(sql, node, deadline.left())) if arguments else []
        return pb.Call(sql=utf8(sql), arguments=values, client_id=self._identities.client_id, request_id=request_id)

    # --- queries ---

    def _query_timeout(self, timeout: Optional[float]) -> float:
        return self.query_timeout if timeout is None else timeout

    def query(self, sql: str, *arguments: Any, freshness: Freshness = FRESH, threads: int = 1, timeout: Optional[float] = None) -> Rows:
        """One statement that asks for rows, on a snapshot of some node. What would write is refused (25006)."""
        deadline = Deadline(self._query_timeout(timeout))
        options = query_options(freshness, threads)
        return self._on_some_node(deadline, lambda node: self._run_query(node, sql, arguments, options, deadline))

    def session(self, *, freshness: Freshness = FRESH, target: Optional[str] = None, timeout: Optional[float] = None) -> Session:
        """Pins a snapshot of some node, or of the one at `target`, for queries that are to see the same state."""
        deadline = Deadline(self._query_timeout(timeout))
        request = pb.OpenSessionRequest(freshness=encode_freshness(freshness), ticket=encode_ticket(freshness))

        def open_there(node: Node) -> Session:
            try:
                return Session(self, node, node.queries.OpenSession(request, timeout=max(deadline.left(), 0.001)))
            except grpc.RpcError as error:
                raise_rpc(error)

        if target is not None:
            return open_there(self._nodes.get(target, deadline.left()))
        return self._on_some_node(deadline, open_there)

    def _on_some_node(self, deadline: Deadline, run: Callable[[Node], _Answer]) -> _Answer:
        """What only reads may be run again elsewhere, up to its first answer."""
        while True:
            node: Optional[Node] = None
            try:
                node = self._reader.node(deadline.left())
                return run(node)
            except DatabaseError as error:
                if not is_worth_another(error) and error.sqlstate not in _QUERY_ELSEWHERE or error.sqlstate == "25006":
                    raise
                if node is not None:
                    self._reader.forget(node.target, node, error)
                if deadline.is_over():
                    raise
                self._reader.pause(deadline)

    def _run_query(self, node: Node, sql: str, arguments: Sequence[Any], options: pb.QueryOptions, deadline: Deadline) -> Rows:
        values = encode_arguments(arguments, self._query_parameters(node, sql, options.session, deadline)) if arguments else []
        message = pb.QueryOptions()
        message.CopyFrom(options)
        message.read_only = True
        message.timeout_ms = max(int(deadline.left() * 1000), 1)
        request = pb.ExecuteRequest(sql=utf8(sql), arguments=values, columnar_rows=True, query=message)
        try:
            return Rows(node.queries.Execute(request, timeout=max(deadline.left(), 0.001)), node)
        except DatabaseError as error:
            if error.sqlstate in _TYPE_ERRORS:
                self._queries.drop(sql)
            raise

    def _query_parameters(self, node: Node, sql: str, session: int, deadline: Deadline) -> Tuple[Type, ...]:
        types = self._queries.get(sql)
        if types is None:
            request = pb.PrepareQueryRequest(sql=utf8(sql), session=session)
            try:
                response = node.queries.Prepare(request, timeout=max(deadline.left(), 0.001))
            except grpc.RpcError as error:
                raise_rpc(error)
            types = tuple(type_of(type) for type in response.parameters)
            self._queries.put(sql, types)
        return types

    # --- all else ---

    def status(self, target: Optional[str] = None, *, timeout: float = 2.0) -> NodeStatus:
        """What a node says of itself; without a target, the one that queries go to."""
        deadline = Deadline(timeout)
        node = self._nodes.get(target, timeout) if target is not None else self._reader.node(timeout)
        try:
            said = node.admin.Status(pb.StatusRequest(), timeout=max(deadline.left(), 0.001))
        except grpc.RpcError as error:
            raise_rpc(error)
        return NodeStatus(node.target, said.version, said.role, said.node, said.term, said.leader, said.last_lsn, said.applied_lsn, said)

    def close(self) -> None:
        """Ends what runs."""
        self._nodes.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(targets: Union[str, Sequence[str]] = "127.0.0.1:7400", *, tls: Optional[TLS] = None, timeout: float = 30.0, query_timeout: float = 300.0,
            attempt: float = 1.0) -> Connection:
    """Connects to a node or cluster: "host:port", several separated by commas or as a list.

    timeout: seconds that a call may take through all its attempts; attempt: those of the first attempt (the next takes twice as long);
    query_timeout: of a query, to its last row. ConnectionFailed when no node can be reached within a second each.
    """  # fmt: skip
    names = targets.split(",") if isinstance(targets, str) else list(targets)
    names = [name.strip() for name in names if name.strip()]
    if not names:
        raise InterfaceError("no node is given")
    connection = Connection(names, tls, timeout, query_timeout, attempt)
    failure: Optional[DatabaseError] = None
    for _ in names:
        try:
            connection._reader.node(timeout)
            return connection
        except DatabaseError as error:
            failure = error
    connection.close()
    raise failure or error_of("08001", "no node is given")
