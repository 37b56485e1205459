"""Nodes, connections to them, and which of them is the primary."""

from __future__ import annotations

import collections
import os
import queue
import random
import re
import threading
import time
from typing import Any, List, NoReturn, Optional, Sequence, Tuple

import grpc
from google.rpc import status_pb2

from .errors import DatabaseError, Error, InterfaceError, class_of, error_of
from .proto import scyper_pb2 as pb
from .proto import scyper_pb2_grpc as rpc
from .types import TLS, Receipt, Type

CONNECT_S = 1.0  # of one attempt
PAUSE_S = 0.01  # between attempts, unless a hint says where to go
NODES_MAX = 64  # connections; those used least recently go
STATEMENTS_MAX = 1000  # whose parameters' types are remembered
_MESSAGE_BYTES_MAX = 512 << 20  # a node sends at most half of that at once
_RANDOM_BITS = 12
_HINT = re.compile(r"primary at ([^ \n]+?)\.?(?:[ \n]|$)")


class Deadline:
    """A moment until which something is tried."""

    def __init__(self, timeout: float) -> None:
        if not timeout > 0:
            raise InterfaceError("a timeout is a number of seconds above 0")
        self.at = time.monotonic() + timeout

    def left(self) -> float:
        return max(self.at - time.monotonic(), 0.0)

    def is_over(self) -> bool:
        return self.left() == 0.0


class Identities:
    """Names calls, so that one which is sent again is answered, not repeated (docs/transaction_redo.md)."""

    def __init__(self) -> None:
        # grows with time, as those of the C++ client, which it is compared with
        us = time.time_ns() // 1000
        self.client_id = us << _RANDOM_BITS | random.SystemRandom().getrandbits(_RANDOM_BITS)
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        with self._lock:
            self._last += 1
            return self._last


# --- errors ---


def error_from(message: pb.Error) -> DatabaseError:
    error = class_of(message.sqlstate)(
        message.message, sqlstate=message.sqlstate, detail=message.detail, hint=message.hint, context=message.context, position=message.position,
        retry_after_ms=message.retry_after_ms, notices=message.notices)  # fmt: skip
    error.is_from_node = True
    return error


def error_from_rpc(error: grpc.RpcError) -> DatabaseError:
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        status = status_pb2.Status()
        status.ParseFromString(value)
        for detail in status.details:
            message = pb.Error()
            if detail.Is(pb.Error.DESCRIPTOR) and detail.Unpack(message):
                return error_from(message)
    code, text = error.code(), error.details() or ""
    if code == grpc.StatusCode.UNAVAILABLE:
        return error_of("08006", f"connection to the node failed: {text}")
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return error_of("57014", "canceling statement due to the client's timeout")
    if code == grpc.StatusCode.CANCELLED:
        return error_of("57014", "canceling statement due to user request")
    if code == grpc.StatusCode.RESOURCE_EXHAUSTED:
        return error_of("54000", text)
    if code == grpc.StatusCode.UNIMPLEMENTED:
        return error_of("0A000", f"the node does not know this request: {text}")
    return error_of("08P01", text)


def raise_rpc(error: grpc.RpcError) -> NoReturn:
    raise error_from_rpc(error) from error


def is_worth_another(error: Error) -> bool:
    """Another node, or the same one a little later, may do it."""
    state = error.sqlstate or ""
    return (state[:2] == "08" and state != "08P01") or state in ("25006", "57P01", "57P03", "53300")


def may_have_been_done(error: Error) -> bool:
    """Whether a call that was sent and ended so may have been done all the same."""
    state = error.sqlstate or ""
    if error.is_from_node:
        return state == "08007"  # which no longer leads, and does not know
    return state[:2] == "08" or state == "57014"


def is_of_execution(error: Error) -> bool:
    """Whether a node that ended a call so had looked for its identity before, and so had not done it earlier either."""
    return (error.sqlstate or "")[:2] not in ("08", "0A", "25", "26", "42", "53", "54", "55", "57", "58", "XX")


def unknown_outcome(why: Error) -> DatabaseError:
    return error_of("40003", f"whether the call was done is not known: {why.message}", hint="Look for what it does before it is sent as a new one.")


# --- connections ---


class Node:
    """One connection."""

    def __init__(self, target: str, channel: grpc.Channel) -> None:
        stubs: Any = rpc  # generated without types
        self.target = target
        self.channel = channel
        self.transactions = stubs.TransactionsStub(channel)
        self.queries = stubs.QueriesStub(channel)
        self.admin = stubs.AdminStub(channel)


def _read(path: str) -> bytes:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            return file.read()
    except OSError as error:
        raise InterfaceError(f"cannot read {path}: {error.strerror}") from error


def _is_ready(channel: grpc.Channel, timeout: float) -> bool:
    """Whether it connects by then; at once False where nobody listens."""
    states: queue.Queue[grpc.ChannelConnectivity] = queue.Queue()
    channel.subscribe(states.put, try_to_connect=True)
    deadline = time.monotonic() + timeout
    try:
        while True:
            state = states.get(timeout=max(deadline - time.monotonic(), 0.0))
            if state in (grpc.ChannelConnectivity.READY, grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN):
                return bool(state == grpc.ChannelConnectivity.READY)
    except queue.Empty:
        return False
    finally:
        channel.unsubscribe(states.put)


class Nodes:
    """The connections to all nodes that were asked. Any thread."""

    def __init__(self, tls: Optional[TLS]) -> None:
        self._lock = threading.Lock()
        self._nodes: collections.OrderedDict[str, Node] = collections.OrderedDict()
        self._is_closed = False
        self._options: List[Tuple[str, Any]] = [
            ("grpc.max_receive_message_length", _MESSAGE_BYTES_MAX), ("grpc.max_send_message_length", -1), ("grpc.keepalive_time_ms", 20_000),
            ("grpc.keepalive_timeout_ms", 10_000), ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0),
        ]  # fmt: skip
        self._credentials: Optional[grpc.ChannelCredentials] = None
        if tls is not None:
            if (tls.cert is None) != (tls.key is None):
                raise InterfaceError("a certificate needs its key, and a key its certificate")
            self._credentials = grpc.ssl_channel_credentials(
                _read(tls.ca), _read(tls.key) if tls.key is not None else None, _read(tls.cert) if tls.cert is not None else None)  # fmt: skip
            if tls.server_name is not None:
                self._options.append(("grpc.ssl_target_name_override", tls.server_name))

    def get(self, target: str, timeout: float) -> Node:
        """Connected; ConnectionFailed otherwise."""
        with self._lock:
            node = self._nodes.get(target)
            if node is not None:
                self._nodes.move_to_end(target)
                return node
        if self._credentials is None:
            channel = grpc.insecure_channel(target, self._options)
        else:
            channel = grpc.secure_channel(target, self._credentials, self._options)
        if not _is_ready(channel, min(timeout, CONNECT_S)):
            channel.close()
            raise error_of("08001", f"could not connect to {target}", hint="Is scyperd running there, and does it expect TLS?")
        return self._keep(Node(target, channel))

    def _keep(self, node: Node) -> Node:
        with self._lock:
            other = self._nodes.get(node.target)
            if other is not None or self._is_closed:  # another thread was quicker, or has closed it all
                node.channel.close()
                if other is None:
                    raise InterfaceError("the connection is closed")
                return other
            self._nodes[node.target] = node
            if len(self._nodes) > NODES_MAX:
                self._nodes.popitem(last=False)  # its channel goes when nobody uses it any more
            return node

    def drop(self, node: Node) -> None:
        """After it has failed: who comes next connects anew."""
        with self._lock:
            if self._nodes.get(node.target) is node:
                del self._nodes[node.target]

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            nodes = list(self._nodes.values())
            self._nodes.clear()
        for node in nodes:
            node.channel.close()


class Leader:
    """Which node requests go to: by hints, or one after the other. Any thread."""

    def __init__(self, nodes: Nodes, targets: Sequence[str]) -> None:
        self._nodes = nodes
        self._targets = list(targets)
        self._lock = threading.Lock()
        self._next = 0
        self._target: Optional[str] = None
        self._hint: Optional[str] = None

    @property
    def target(self) -> Optional[str]:
        with self._lock:
            return self._target

    def node(self, timeout: float) -> Node:
        with self._lock:
            if self._target is None:
                self._target, self._hint = self._hint, None
            if self._target is None:
                self._target = self._targets[self._next % len(self._targets)]
                self._next += 1
            target = self._target
        try:
            return self._nodes.get(target, timeout)
        except DatabaseError as error:
            self.forget(target, None, error)
            raise

    def forget(self, target: str, node: Optional[Node], why: Error) -> None:
        """Another one next, after an error of this one."""
        state = why.sqlstate or ""
        if state == "53300":  # who is only busy stays
            return
        if node is not None and not why.is_from_node:
            self._nodes.drop(node)
        found = _HINT.search(why.hint)
        with self._lock:
            if self._target != target:  # another thread knows better
                return
            self._target = None
            self._hint = found[1] if found is not None and found[1] != target else None

    def pause(self, deadline: Deadline) -> None:
        """Between two attempts."""
        with self._lock:
            has_hint = self._hint is not None
        if not has_hint:
            time.sleep(min(PAUSE_S, deadline.left()))


class Statements:
    """Types of parameters by text, the ones used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._types: collections.OrderedDict[str, Tuple[Type, ...]] = collections.OrderedDict()

    def get(self, sql: str) -> Optional[Tuple[Type, ...]]:
        with self._lock:
            types = self._types.get(sql)
            if types is not None:
                self._types.move_to_end(sql)
            return types

    def put(self, sql: str, types: Tuple[Type, ...]) -> None:
        with self._lock:
            self._types[sql] = types
            if len(self._types) > STATEMENTS_MAX:
                self._types.popitem(last=False)

    def drop(self, sql: str) -> None:
        with self._lock:
            self._types.pop(sql, None)


def receipt_of(message: pb.Receipt) -> Receipt:
    return Receipt(message.lsn, message.snapshot, message.term, message.age_ms, message.node, message.wait_ms, message.compile_ms, message.run_ms,
                   message.memory_bytes)  # fmt: skip


def utf8(sql: str) -> bytes:
    try:
        return sql.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InterfaceError(f"a statement is not valid Unicode: {error}") from None
