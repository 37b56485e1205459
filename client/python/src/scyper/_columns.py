"""Rows as they are streamed: column after column (proto/scyper.proto, COLUMNS)."""

from __future__ import annotations

import dataclasses
import struct
from decimal import Decimal
from typing import Any, Iterator, List, Optional, Sequence

from ._values import FROM_TEXT, date_of, decimal_of, element_of, time_of, timestamp_of, timestamptz_of
from .errors import DatabaseError, error_of
from .types import Column, Row, Type, TypeId

_HAS_NULLS, _IS_WIDE, _HAS_SCALES, _IS_LONG = 1, 2, 4, 8
_NOTHING = (TypeId.VOID, TypeId.RECORD)
# code of struct, bytes
FIXED = {
    TypeId.BOOL: ("?", 1), TypeId.INT2: ("h", 2), TypeId.INT4: ("i", 4), TypeId.INT8: ("q", 8), TypeId.FLOAT4: ("d", 8), TypeId.FLOAT8: ("d", 8),
    TypeId.DATE: ("i", 4), TypeId.TIMESTAMP: ("q", 8), TypeId.TIMESTAMPTZ: ("q", 8), TypeId.TIME: ("q", 8),
}  # fmt: skip
_CONVERT = {TypeId.DATE: date_of, TypeId.TIMESTAMP: timestamp_of, TypeId.TIMESTAMPTZ: timestamptz_of, TypeId.TIME: time_of}
_SPECIAL = {-2: Decimal("NaN"), -3: Decimal("Infinity"), -4: Decimal("-Infinity")}
_LIMBS_SCALE = -1


def malformed() -> DatabaseError:
    return error_of("08P01", "the node sent malformed columns")


@dataclasses.dataclass
class RawColumn:
    """One column of a batch, not yet as Python's or Arrow's values."""

    count: int
    nulls: Optional[bytes]  # a bit per value; None = there are none
    data: bytes = b""  # values of fixed width, or texts
    width: int = 0
    scales: bytes = b""  # of numerics: one, or one per value
    ends: bytes = b""  # of texts and arrays
    numbers: Optional[List[Optional[Decimal]]] = None  # of numerics, where some are long

    def null_positions(self) -> Iterator[int]:
        for place, byte in enumerate(self.nulls or b""):
            for bit in range(8):
                if byte >> bit & 1:
                    yield place * 8 + bit


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise malformed()
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def number(self, code: str) -> int:
        return int(struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0])

    def at_end(self) -> bool:
        return self._at == len(self._data)

    def column(self, type: Type, count: int) -> RawColumn:
        flags = self.number("B")
        raw = RawColumn(count, self.take((count + 7) // 8) if flags & _HAS_NULLS else None)
        if type.id in _NOTHING:
            raw.nulls = b"\xff" * ((count + 7) // 8)
        elif type.id == TypeId.NUMERIC:
            self._numeric(raw, flags)
        elif type.id in FIXED:
            raw.width = FIXED[type.id][1]
            raw.data = self.take(count * raw.width)
        else:
            raw.ends = self.take(4 * count)
            raw.data = self.take(struct.unpack_from("<I", raw.ends, 4 * count - 4)[0] if count else 0)
        return raw

    def _numeric(self, raw: RawColumn, flags: int) -> None:
        if flags & _IS_LONG:
            nulls = set(raw.null_positions())
            raw.numbers = [None if place in nulls else self._long_numeric() for place in range(raw.count)]
            return
        raw.scales = self.take(raw.count if flags & _HAS_SCALES else 1)
        raw.width = 16 if flags & _IS_WIDE else 8
        raw.data = self.take(raw.count * raw.width)

    def _long_numeric(self) -> Decimal:
        scale = self.number("i")
        if scale in _SPECIAL:
            self.take(16)
            return _SPECIAL[scale]
        if scale != _LIMBS_SCALE:
            return decimal_of(int.from_bytes(self.take(16), "little", signed=True), scale)
        self.take(8)
        limbs, scale, sign = struct.unpack("<HHI", self.take(8))
        number = int.from_bytes(self.take(8 * limbs), "little")
        return decimal_of(-number if sign == 1 else number, scale)


def read_batch(columns: Sequence[Column], data: bytes) -> List[RawColumn]:
    reader = _Reader(data)
    count = reader.number("I")
    if count > 8 * len(data):
        raise malformed()
    raws = [reader.column(column.type, count) for column in columns]
    if not reader.at_end():
        raise malformed()
    return raws


def _numbers(raw: RawColumn) -> List[Any]:
    if raw.width == 8:
        integers: Sequence[int] = struct.unpack(f"<{raw.count}q", raw.data)
    else:
        integers = [int.from_bytes(raw.data[at : at + 16], "little", signed=True) for at in range(0, len(raw.data), 16)]
    scales = raw.scales if len(raw.scales) == raw.count else raw.scales * raw.count
    return list(map(decimal_of, integers, scales))


def pieces(raw: RawColumn) -> List[bytes]:
    """What lies between the ends."""
    made, start = [], 0
    for (end,) in struct.iter_unpack("<I", raw.ends):
        if end < start:
            raise malformed()
        made.append(raw.data[start:end])
        start = end
    return made


def _arrays(raw: RawColumn, type: Type, declared: Type) -> List[Any]:
    made: List[List[Any]] = []
    for piece in pieces(raw):
        if not piece:  # NULL
            made.append([])
            continue
        reader = _Reader(piece)
        count, _ = reader.number("i"), reader.number("i")
        if count < 0 or count > 8 * len(piece):
            raise malformed()
        made.append(values_of(reader.column(element_of(type), count), element_of(type), element_of(declared)) if count else [])
        if not reader.at_end():
            raise malformed()
    return made


def values_of(raw: RawColumn, type: Type, declared: Type) -> List[Any]:
    """As Python's values."""
    if raw.numbers is not None:
        return list(raw.numbers)
    if type.id in _NOTHING:
        return [None] * raw.count
    values: List[Any]
    if type.id == TypeId.NUMERIC:
        values = _numbers(raw)
    elif type.id == TypeId.ARRAY:
        values = _arrays(raw, type, declared)
    elif type.id in FIXED:
        values = list(struct.unpack(f"<{raw.count}{FIXED[type.id][0]}", raw.data))
        if type.id in _CONVERT:
            values = list(map(_CONVERT[type.id], values))
    else:
        nulls = set(raw.null_positions())
        texts = pieces(raw)
        convert = FROM_TEXT.get(declared.id, str)
        values = [None if place in nulls else convert(text.decode("utf-8")) for place, text in enumerate(texts)]
    for place in raw.null_positions():
        values[place] = None
    return values


def rows_of_batch(columns: Sequence[Column], data: bytes) -> List[Row]:
    raws = read_batch(columns, data)
    if not raws:
        return [()] * int.from_bytes(data[:4], "little")
    return list(zip(*(values_of(raw, column.type, column.declared) for raw, column in zip(raws, columns))))
