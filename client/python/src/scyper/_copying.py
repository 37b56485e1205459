"""The text of a COPY ... FROM STDIN."""

from __future__ import annotations

from typing import IO, Any, Iterable, Iterator, Union

from ._cluster import utf8

CopySource = Union[str, bytes, IO[Any], Iterable[Union[str, bytes]]]

_PIECE_BYTES = 64 << 10


def pieces_of(source: CopySource) -> Iterator[bytes]:
    """The source as pieces of 64 KB, the last one smaller."""
    pending = bytearray()
    for part in _parts_of(source):
        pending += utf8(part) if isinstance(part, str) else part
        while len(pending) >= _PIECE_BYTES:
            yield bytes(pending[:_PIECE_BYTES])
            del pending[:_PIECE_BYTES]
    if pending:
        yield bytes(pending)


def _parts_of(source: CopySource) -> Iterator[Union[str, bytes]]:
    if isinstance(source, (str, bytes)):
        for start in range(0, len(source), _PIECE_BYTES):
            yield source[start : start + _PIECE_BYTES]
        return
    read = getattr(source, "read", None)
    if read is None:
        yield from source
        return
    while True:
        part = read(_PIECE_BYTES)
        if not part:
            return
        yield part
