"""Calls in batches on a stream, each done once whatever happens to the stream and the node at its other end."""

from __future__ import annotations

import collections
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Deque, Dict, Iterator, List, Optional

import grpc

from ._cluster import Deadline, Node, error_from, error_from_rpc, is_of_execution, is_worth_another, may_have_been_done, unknown_outcome, utf8
from ._values import encode_arguments, result_of
from .errors import DatabaseError, Error, InterfaceError, error_of
from .proto import scyper_pb2 as pb
from .types import Result

if TYPE_CHECKING:
    from .connection import Connection

_BATCH_CALLS = 256  # of 4,096 that a node takes: results come back sooner
_BATCH_BYTES = 1 << 20  # of 4 MB that a node takes unless it is told otherwise
_TICK_S = 0.05  # between looks at deadlines
_SILENCE_S_MAX = 30.0
_BUSY_S = 0.01  # after 53300


class _Call:
    """One call until it is answered."""

    def __init__(self, message: pb.Call, deadline: Deadline) -> None:
        self.message = message
        self.bytes = message.ByteSize() + 8
        self.deadline = deadline
        self.future: Future[Result] = Future()
        self.unknown: Optional[Error] = None  # of the newest attempt that may have done it
        self.sent_at = 0.0

    def fail(self, error: Error) -> None:
        self.future.set_exception(error)

    def expire(self) -> None:
        why = self.unknown
        if why is None and self.sent_at > 0:
            why = error_of("57014", "canceling statement due to the client's timeout")
        self.fail(unknown_outcome(why) if why is not None else error_of("57014", "no node took the call within its time"))


class _Attempt:
    """One stream."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.responses: Any = None
        self.sent: Dict[int, _Call] = {}  # unanswered, by request id, in the order of sending
        self.heard_at = time.monotonic()
        self.pause_until = 0.0
        self.is_ending = False  # nothing more is sent
        self.refusal: Optional[Error] = None  # why another node is to be tried


class Pipeline:
    """Made by Connection.pipeline(). call() gives a future at once and sends in the background; at the end of its `with` all are answered.

    Threads: call() any; two of its own. Bounds: `window` unanswered calls, then call() waits; each call's timeout.
    """

    def __init__(self, connection: Connection, window: int, timeout: float) -> None:
        if window < 1:
            raise InterfaceError("a window is of 1 call or more")
        self._connection = connection
        self._window = window
        self._timeout = timeout
        self._silence_s = connection.attempt
        self._changed = threading.Condition()
        self._waiting: Deque[_Call] = collections.deque()  # not sent, or to be sent again, by request id
        self._attempt: Optional[_Attempt] = None
        self._unanswered = 0
        self._is_closing = False
        self._is_over = threading.Event()
        self._runner = threading.Thread(target=self._run, name="scyper-pipeline", daemon=True)
        self._watcher = threading.Thread(target=self._watch, name="scyper-deadlines", daemon=True)
        self._runner.start()
        self._watcher.start()

    # --- callers ---

    def call(self, sql: str, *arguments: Any, timeout: Optional[float] = None) -> Future[Result]:
        """One transaction. Wrong arguments raise here, all else is the future's."""
        deadline = Deadline(self._timeout if timeout is None else timeout)
        values = encode_arguments(arguments, self._parameters(sql, deadline)) if arguments else []
        with self._changed:
            while self._unanswered >= self._window and not self._is_closing:
                self._changed.wait()
            if self._is_closing:
                raise InterfaceError("the pipeline is closed")
            identities = self._connection._identities
            message = pb.Call(sql=utf8(sql), arguments=values, client_id=identities.client_id, request_id=identities.next())
            call = _Call(message, deadline)
            self._waiting.append(call)
            self._unanswered += 1
            self._changed.notify_all()
        return call.future

    def _parameters(self, sql: str, deadline: Deadline) -> Any:
        """Of a statement that is new: asked of whichever node is the primary."""
        connection = self._connection
        known = connection._statements.get(sql)
        while known is None:
            node: Optional[Node] = None
            try:
                node = connection._primary.node(deadline.left())
                known = connection.parameters(sql, node, deadline.left())
            except DatabaseError as error:
                if not is_worth_another(error) or deadline.is_over():
                    raise
                if node is not None:
                    connection._primary.forget(node.target, node, error)
                connection._primary.pause(deadline)
        return known

    def wait(self) -> None:
        """Until everything that was given is answered, or its time is over."""
        with self._changed:
            while self._unanswered > 0:
                self._changed.wait()

    def close(self) -> None:
        """wait(), then the end of the stream."""
        self.wait()
        with self._changed:
            self._is_closing = True
            if self._attempt is not None:
                self._attempt.heard_at = time.monotonic()
            self._changed.notify_all()
        self._runner.join()
        self._is_over.set()
        self._watcher.join()

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the thread that has the stream ---

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._is_closing:
                    self._changed.wait()
                if self._is_closing and not self._waiting:
                    return
            try:
                node = self._connection._primary.node(self._connection.attempt)
            except InterfaceError as error:  # the connection is closed
                self._give_up(error)
                continue
            except DatabaseError:
                self._pause()
                continue
            self._try(_Attempt(node))

    def _pause(self) -> None:
        self._connection._primary.pause(Deadline(self._connection.attempt))

    def _try(self, attempt: _Attempt) -> None:
        error: Optional[Error] = None
        try:
            with self._changed:
                self._attempt = attempt
            attempt.responses = attempt.node.transactions.Stream(self._batches(attempt))
            for message in attempt.responses:
                self._take(message, attempt)
        except grpc.RpcError as rpc_error:
            error = error_from_rpc(rpc_error)
        except ValueError as closed:  # gRPC's word for a channel that was closed
            error = error_of("08006", f"connection to the node failed: {closed}")
        with self._changed:
            self._attempt = None
            attempt.is_ending = True
            self._take_back(attempt, error)
            self._changed.notify_all()
        why = attempt.refusal or error
        if why is not None:
            self._connection._primary.forget(attempt.node.target, attempt.node, why)
            self._pause()

    def _take_back(self, attempt: _Attempt, error: Optional[Error]) -> None:
        """What the stream has left unanswered is sent again."""
        if error is None and attempt.sent:
            error = error_of("08006", "the node has ended the stream")
        back: List[_Call] = []
        too_large = max((call.bytes for call in attempt.sent.values()), default=0)
        for call in attempt.sent.values():
            if error is not None and error.sqlstate == "08P01" and not error.is_from_node:
                self._finish_with(call, error)  # no attempt would end otherwise
                continue
            if error is not None and error.sqlstate == "54000" and call.bytes == too_large:
                self._finish_with(call, error if call.unknown is None else unknown_outcome(call.unknown))
                continue
            # a node that says why it ends the stream has answered all that it accepted
            if error is not None and (may_have_been_done(error) or error.sqlstate == "54000"):
                call.unknown = error
            back.append(call)
        attempt.sent.clear()
        self._put_back(back)

    def _put_back(self, calls: List[_Call]) -> None:
        merged = sorted([*calls, *self._waiting], key=lambda call: call.message.request_id)
        self._waiting = collections.deque(merged)

    def _finish_with(self, call: _Call, error: Error) -> None:
        self._unanswered -= 1
        call.fail(error)

    def _give_up(self, error: Error) -> None:
        with self._changed:
            for call in self._waiting:
                self._finish_with(call, unknown_outcome(call.unknown) if call.unknown is not None else error)
            self._waiting.clear()
            self._changed.notify_all()

    def _take(self, message: pb.ResultBatch, attempt: _Attempt) -> None:
        answered = []
        with self._changed:
            attempt.heard_at = time.monotonic()
            self._silence_s = self._connection.attempt
            for result in message.results:
                call = attempt.sent.pop(result.request_id, None)
                if call is not None:  # else its time was over
                    answered.append((call, result))
        done = 0
        for call, result in answered:
            done += 1 if self._answer(call, result, attempt) else 0
        with self._changed:
            self._unanswered -= done
            self._changed.notify_all()

    def _answer(self, call: _Call, result: pb.CallResult, attempt: _Attempt) -> bool:
        """False: it is to be sent again."""
        if not result.HasField("error"):
            try:
                made = result_of(result)
            except Exception as failure:  # a value that Python does not hold: the call was done
                call.future.set_exception(failure)
            else:
                call.future.set_result(made)
            return True
        error = error_from(result.error)
        if not (is_worth_another(error) if call.unknown is None else not is_of_execution(error)):
            call.fail(error)
            return True
        if may_have_been_done(error):
            call.unknown = error
        with self._changed:
            if error.sqlstate == "53300":
                attempt.pause_until = time.monotonic() + _BUSY_S
            else:
                attempt.refusal, attempt.is_ending = error, True
            self._put_back([call])
            self._changed.notify_all()
        return False

    # --- gRPC's thread that sends ---

    def _batches(self, attempt: _Attempt) -> Iterator[pb.CallBatch]:
        while True:
            with self._changed:
                while not attempt.is_ending and not (self._is_closing and not self._waiting):
                    pause = attempt.pause_until - time.monotonic()
                    if self._waiting and pause <= 0:
                        break
                    self._changed.wait(pause if self._waiting else None)
                if attempt.is_ending or not self._waiting:
                    return
                batch = self._next_batch(attempt)
            yield batch

    def _next_batch(self, attempt: _Attempt) -> pb.CallBatch:
        batch = pb.CallBatch()
        size, now = 0, time.monotonic()
        if not attempt.sent:
            attempt.heard_at = now
        while self._waiting and len(batch.calls) < _BATCH_CALLS:
            call = self._waiting[0]
            if batch.calls and size + call.bytes > _BATCH_BYTES:
                break
            self._waiting.popleft()
            size += call.bytes
            call.sent_at = now
            call.message.timeout_ms = max(int(call.deadline.left() * 1000), 1)
            attempt.sent[call.message.request_id] = call
            batch.calls.append(call.message)
        return batch

    # --- the thread that looks at deadlines ---

    def _watch(self) -> None:
        while not self._is_over.wait(_TICK_S):
            with self._changed:
                if self._unanswered > 0:
                    self._expire()
                attempt = self._attempt
                if attempt is None or attempt.responses is None or not (attempt.sent or attempt.is_ending or self._is_closing):
                    continue
                if time.monotonic() - attempt.heard_at > self._silence_s:
                    self._silence_s = min(self._silence_s * 2, _SILENCE_S_MAX)  # it may just take so long
                    attempt.is_ending = True
                    attempt.responses.cancel()

    def _expire(self) -> None:
        sent = self._attempt.sent if self._attempt is not None else {}
        late = {call.message.request_id: call for call in [*sent.values(), *self._waiting] if call.deadline.is_over()}
        if not late:
            return
        for request_id, call in late.items():
            sent.pop(request_id, None)
            self._unanswered -= 1
            call.expire()
        self._waiting = collections.deque(call for call in self._waiting if call.message.request_id not in late)
        self._changed.notify_all()
