"""Transactions of several statements: BEGIN ... COMMIT."""

from __future__ import annotations

import contextlib
import queue
from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple

import grpc

from ._cluster import Node, error_from, error_from_rpc, may_have_been_done, unknown_outcome, utf8
from ._copying import CopySource, pieces_of
from ._values import column_of, complete, encode_arguments, rows_of, type_of
from .errors import DatabaseError, Error, InterfaceError, error_of
from .proto import scyper_pb2 as pb
from .types import Result, Type

if TYPE_CHECKING:
    from types import TracebackType

_ISOLATIONS = {
    None: pb.InteractRequest.DEFAULT,
    "read committed": pb.InteractRequest.READ_COMMITTED,
    "repeatable read": pb.InteractRequest.REPEATABLE_READ,
    "serializable": pb.InteractRequest.SERIALIZABLE,
}


def encode_begin(isolation: Optional[str], read_only: bool, deferrable: bool, settings: Optional[Mapping[str, str]]) -> pb.InteractRequest:
    level = isolation.lower() if isolation is not None else None
    if level not in _ISOLATIONS:
        raise InterfaceError("isolation is 'read committed', 'repeatable read', 'serializable' or None for the node's default")
    begin = pb.InteractRequest.Begin(isolation=_ISOLATIONS[level], read_only=read_only, deferrable=deferrable)
    if settings:
        begin.settings.values.update({name: str(value) for name, value in settings.items()})
    return pb.InteractRequest(begin=begin)


class Transaction:
    """A transaction that is open while the program thinks. Made by Connection.transaction(); use it in a `with`.

    At the end of its `with` it commits, or is taken back where an exception leaves it. After an error it has failed: only rollback(), or the
    end of the savepoint() that the error was in, is taken. Where the connection ends nothing of it is there; nothing is sent again.
    commit() raises OutcomeUnknown where nobody knows whether it is done. Threads: one.
    """

    def __init__(self, node: Node, begin: pb.InteractRequest) -> None:
        self._node = node  # whose connection has to live as long
        self._steps: queue.SimpleQueue[Optional[pb.InteractRequest]] = queue.SimpleQueue()
        self._answers: Any = node.transactions.Interact(iter(self._steps.get, None))
        self._types: Dict[str, Tuple[Type, ...]] = {}
        self._state = pb.InteractResponse.NONE
        self._is_over = False
        self._savepoints = 0
        try:
            self._run(begin)
        except DatabaseError:
            self._end()
            raise

    @property
    def is_open(self) -> bool:
        """It has neither committed nor been taken back."""
        return not self._is_over

    @property
    def has_failed(self) -> bool:
        """A statement has failed: what follows is refused until rollback() or the end of a savepoint()."""
        return not self._is_over and self._state == pb.InteractResponse.FAILED

    def execute(self, sql: str, *arguments: Any, timeout: Optional[float] = None) -> Result:
        """One statement, with its $1, $2. timeout: seconds, QueryCanceled beyond; None: the session's statement_timeout only."""
        self._check_open()
        if timeout is not None and not timeout > 0:
            raise InterfaceError("a timeout is a number of seconds above 0")
        values = encode_arguments(arguments, self._parameters(sql)) if arguments else []
        timeout_ms = 0 if timeout is None else max(int(timeout * 1000), 1)
        step = pb.InteractRequest(statement=pb.InteractRequest.Statement(sql=utf8(sql), arguments=values, timeout_ms=timeout_ms))
        try:
            return self._run(step)
        except DatabaseError as error:
            if error.sqlstate in ("42804", "08P01"):  # perhaps the statement's parameters have changed
                self._types.pop(sql, None)
            raise

    def copy(self, sql: str, source: CopySource) -> Result:
        """COPY ... FROM STDIN. source: its text (or binary format): str, bytes, a file, or pieces of them, cut anywhere."""
        self._check_open()
        self._run(pb.InteractRequest(copy=pb.CopyInRequest(sql=utf8(sql))))
        for piece in pieces_of(source):
            self._run(pb.InteractRequest(copy=pb.CopyInRequest(text=piece)))
        return self._run(pb.InteractRequest(copy=pb.CopyInRequest(done=True)))

    @contextlib.contextmanager
    def savepoint(self) -> Iterator[None]:
        """What is in its `with` is taken back where an exception leaves it; the transaction goes on."""
        self._savepoints += 1
        name = f"scyper_{self._savepoints}"
        self.execute(f"SAVEPOINT {name}")
        try:
            yield
        except BaseException:
            if not self._is_over:
                self.execute(f"ROLLBACK TO SAVEPOINT {name}")
                self.execute(f"RELEASE SAVEPOINT {name}")
            raise
        self.execute(f"RELEASE SAVEPOINT {name}")

    def commit(self) -> None:
        """All is done. OperationalError (40000): it had failed before, and was taken back."""
        self._check_open()
        try:
            result = self._run(pb.InteractRequest(commit=pb.InteractRequest.Commit()))
        except DatabaseError as error:
            if may_have_been_done(error):
                raise unknown_outcome(error) from error
            raise
        finally:
            self._end()
        if result.command_tag != "COMMIT":
            raise error_of("40000", "the transaction had failed before, and was taken back")

    def rollback(self) -> None:
        """Nothing is done. Does nothing where the transaction is over."""
        if self._is_over:
            return
        try:
            self._run(pb.InteractRequest(rollback=pb.InteractRequest.Rollback()))
        except DatabaseError:
            pass  # its connection has ended, and so has it
        finally:
            self._end()

    def cancel(self) -> None:
        """The statement that runs ends with QueryCanceled. Any thread."""
        self._steps.put(pb.InteractRequest(cancel=pb.InteractRequest.Cancel()))

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: Optional[type], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if self._is_over:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()

    def _check_open(self) -> None:
        if self._is_over:
            raise InterfaceError("the transaction is over")

    def _parameters(self, sql: str) -> Sequence[Type]:
        types = self._types.get(sql)
        if types is None:
            self._run(pb.InteractRequest(describe=pb.InteractRequest.Describe(sql=utf8(sql))))
            types = self._types[sql] = self._described
        return types

    def _run(self, step: pb.InteractRequest) -> Result:
        """One step to its last answer."""
        self._steps.put(step)
        result = Result([], [])
        failure: Optional[Error] = None
        try:
            for answer in self._answers:
                kind = answer.WhichOneof("part")
                if kind == "header":
                    result = Result([column_of(column) for column in answer.header.columns], [])
                elif kind == "rows" and failure is None:
                    failure = self._take(answer.rows.rows, result)
                elif kind in ("complete", "error", "description", "copy_header"):
                    return self._finish(answer, result, failure)
        except grpc.RpcError as error:
            self._end()
            raise error_from_rpc(error) from error
        self._end()
        raise error_of("08006", "the node has closed the stream of the transaction")

    @staticmethod
    def _take(rows: Sequence[pb.Row], result: Result) -> Optional[Error]:
        """Values that Python does not hold fail the statement, not the stream."""
        try:
            result.rows.extend(rows_of(rows, result.columns))
        except Error as error:
            return error
        return None

    def _finish(self, answer: pb.InteractResponse, result: Result, failure: Optional[Error]) -> Result:
        self._state = answer.state
        if answer.state == pb.InteractResponse.NONE:
            self._is_over = True
        if answer.HasField("error"):
            raise error_from(answer.error)
        if failure is not None:
            raise failure
        self._described: Tuple[Type, ...] = tuple(type_of(type) for type in answer.description.parameters)
        return complete(result, answer.complete)

    def _end(self) -> None:
        self._is_over = True
        self._steps.put(None)
        self._answers.cancel()
