"""Batches of columns to pyarrow, without a Python object per value where the bytes are Arrow's already."""

from __future__ import annotations

import struct
from typing import Any, List, Optional, Sequence

from ._columns import FIXED, RawColumn, read_batch, values_of
from .errors import DataError, InterfaceError
from .types import Column, Type, TypeId

_DAYS_1970_TO_2000 = 10957
_US_1970_TO_2000 = _DAYS_1970_TO_2000 * 86_400_000_000
_DIGITS_128, _DIGITS_256 = 38, 76
_EXACT_IN_DOUBLE = 22  # powers of ten
NUMERIC_FORMS = ("decimal", "float", "text")


def pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise InterfaceError("this needs pyarrow: pip install 'scyper[arrow]'") from error
    return pyarrow


def _fixed_type(pa: Any, id: TypeId) -> Any:
    return {
        TypeId.BOOL: pa.bool_(), TypeId.INT2: pa.int16(), TypeId.INT4: pa.int32(), TypeId.INT8: pa.int64(), TypeId.FLOAT4: pa.float32(),
        TypeId.FLOAT8: pa.float64(), TypeId.DATE: pa.date32(), TypeId.TIMESTAMP: pa.timestamp("us"), TypeId.TIMESTAMPTZ: pa.timestamp("us", tz="UTC"),
        TypeId.TIME: pa.time64("us"),
    }[id]  # fmt: skip


class ArrowColumns:
    """Makes arrays of one query's batches. numeric: what numerics become, one of NUMERIC_FORMS."""

    def __init__(self, columns: Sequence[Column], numeric: str = "decimal") -> None:
        if numeric not in NUMERIC_FORMS:
            raise InterfaceError(f"numeric is one of {', '.join(NUMERIC_FORMS)}")
        self._pa = pyarrow()
        self._columns = columns
        self._numeric = numeric

    # --- types ---

    def _numeric_type(self, type: Type) -> Any:
        pa = self._pa
        if self._numeric != "decimal":
            return pa.float64() if self._numeric == "float" else pa.string()
        # without a declared scale: what holds every number of 38 digits, whatever its scale
        return pa.decimal128(type.precision, type.scale) if 0 < type.precision <= _DIGITS_128 else pa.decimal256(_DIGITS_256, _DIGITS_128)

    def type_of(self, type: Type, declared: Type) -> Any:
        pa = self._pa
        if type.id in (TypeId.VOID, TypeId.RECORD):
            return pa.null()
        if type.id == TypeId.NUMERIC:
            return self._numeric_type(declared)
        if type.id == TypeId.ARRAY:
            return pa.list_(self.type_of(Type(type.element), Type(declared.element)))
        if type.id in FIXED:
            return _fixed_type(pa, TypeId.FLOAT4 if declared.id == TypeId.FLOAT4 else type.id)
        return pa.binary() if declared.id == TypeId.BYTEA else pa.string()

    # --- values ---

    def _validity(self, raw: RawColumn) -> Any:
        if raw.nulls is None:
            return None
        ones = (1 << (8 * len(raw.nulls))) - 1
        flipped = int.from_bytes(raw.nulls, "little") ^ ones
        return self._pa.py_buffer(flipped.to_bytes(len(raw.nulls), "little"))

    def _from_bytes(self, type: Any, raw: RawColumn, *data: bytes) -> Any:
        buffers = [self._validity(raw), *(self._pa.py_buffer(part) for part in data)]
        return self._pa.Array.from_buffers(type, raw.count, buffers)

    def _fixed(self, raw: RawColumn, id: TypeId) -> Any:
        pa = self._pa
        import pyarrow.compute as pc

        if id == TypeId.BOOL:
            return self._from_bytes(pa.uint8(), raw, raw.data).cast(pa.bool_())
        if id == TypeId.FLOAT4:
            return self._from_bytes(pa.float64(), raw, raw.data)
        if id == TypeId.DATE:
            return pc.add_checked(self._from_bytes(pa.int32(), raw, raw.data), pa.scalar(_DAYS_1970_TO_2000, pa.int32())).view(pa.date32())
        if id in (TypeId.TIMESTAMP, TypeId.TIMESTAMPTZ):
            return pc.add_checked(self._from_bytes(pa.int64(), raw, raw.data), _US_1970_TO_2000).view(_fixed_type(pa, id))
        return self._from_bytes(_fixed_type(pa, id), raw, raw.data)

    def _uniform_numeric(self, raw: RawColumn) -> Any:
        """All of one scale."""
        pa = self._pa
        type = pa.decimal128(_DIGITS_128, raw.scales[0])
        if raw.width == 16:
            return self._from_bytes(type, raw, raw.data)
        wide = self._from_bytes(pa.int64(), raw, raw.data).cast(pa.decimal128(19, 0))
        return pa.Array.from_buffers(type, raw.count, wide.buffers())

    def _float_numeric(self, raw: RawColumn) -> Any:
        pa = self._pa
        import pyarrow.compute as pc

        if raw.numbers is None and raw.width == 8 and len(set(raw.scales)) == 1 and raw.scales[0] <= _EXACT_IN_DOUBLE:
            integers = self._from_bytes(pa.int64(), raw, raw.data)
            try:
                return pc.divide(integers.cast(pa.float64()), 10.0 ** raw.scales[0])
            except pa.ArrowInvalid:  # integers beyond 2^53
                pass
        values = values_of(raw, Type(TypeId.NUMERIC), Type(TypeId.NUMERIC))
        return pa.array([None if value is None else float(value) for value in values], pa.float64())

    def _numeric_array(self, raw: RawColumn, type: Any) -> Any:
        pa = self._pa
        if self._numeric == "float":
            return self._float_numeric(raw)
        if self._numeric == "decimal" and raw.numbers is None and len(set(raw.scales)) == 1 and raw.scales[0] <= _DIGITS_128:
            try:
                return self._uniform_numeric(raw).cast(type)
            except pa.ArrowInvalid:  # one value at a time
                pass
        values = values_of(raw, Type(TypeId.NUMERIC), Type(TypeId.NUMERIC))
        if self._numeric == "text":
            return pa.array([None if value is None else format(value, "f") for value in values], type)
        return pa.array(values, type)

    def _texts(self, raw: RawColumn, type: Any, column: Column) -> Any:
        if column.declared.id == TypeId.BYTEA:
            return self._pa.array(values_of(raw, column.type, column.declared), type)
        last = 0
        for (end,) in struct.iter_unpack("<I", raw.ends):  # what Arrow does not check
            if end < last:
                raise DataError("the node sent malformed columns", sqlstate="08P01")
            last = end
        if last >= 1 << 31:
            raise DataError("a batch of texts is larger than Arrow's strings", sqlstate="54000")
        return self._from_bytes(type, raw, b"\0\0\0\0" + raw.ends, raw.data)

    def array(self, raw: RawColumn, column: Column, type: Any) -> Any:
        pa = self._pa
        try:
            if column.type.id in (TypeId.VOID, TypeId.RECORD):
                return pa.nulls(raw.count)
            if column.type.id == TypeId.NUMERIC:
                return self._numeric_array(raw, type)
            if column.type.id == TypeId.ARRAY:
                return pa.array(self._elements(values_of(raw, column.type, column.declared), column.declared), type)
            if column.type.id in FIXED:
                return self._fixed(raw, column.type.id).cast(type)  # real comes as double
            return self._texts(raw, type, column)
        except pa.ArrowException as error:
            hint = "Ask with numeric='float' or numeric='text'." if column.type.id == TypeId.NUMERIC else ""
            raise DataError(f"column {column.name} has values that Arrow's {type} does not hold: {error}", sqlstate="22003", hint=hint) from error

    def _elements(self, values: List[Any], declared: Type) -> List[Any]:
        convert: Any = None
        if declared.element == TypeId.NUMERIC and self._numeric != "decimal":
            convert = float if self._numeric == "float" else str
        elif declared.element in (TypeId.UUID, TypeId.JSONB):
            convert = str
        if convert is None:
            return values
        return [value and [None if part is None else convert(part) for part in value] for value in values]

    # --- batches and tables ---

    def schema(self) -> Any:
        pa = self._pa
        return pa.schema([pa.field(column.name, self.type_of(column.type, column.declared)) for column in self._columns])

    def record_batch(self, data: bytes, schema: Any) -> Any:
        raws = read_batch(self._columns, data)
        arrays = [self.array(raw, column, field.type) for raw, column, field in zip(raws, self._columns, schema)]
        return self._pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _narrowest(self, raws: List[RawColumn], column: Column) -> Optional[Any]:
        """For numerics without a declared scale: the largest scale that they have."""
        pa = self._pa
        if column.type.id != TypeId.NUMERIC or self._numeric != "decimal" or 0 < column.declared.precision <= _DIGITS_128:
            return None
        scale, digits = 0, 0
        for raw in raws:
            if raw.numbers is None:
                scale = max(scale, *raw.scales) if raw.scales else scale
                digits = max(digits, 19 if raw.width == 8 else _DIGITS_128)
                continue
            for number in raw.numbers:
                if number is not None and number.is_finite():
                    parts = number.as_tuple()
                    scale = max(scale, -int(parts.exponent))
                    digits = max(digits, len(parts.digits))
        # digits before the point, at most, are those of the longest number
        if scale + digits <= _DIGITS_128 or (scale <= _DIGITS_128 and self._fits_128(raws, scale)):
            return pa.decimal128(_DIGITS_128, scale)
        return pa.decimal256(_DIGITS_256, min(scale, _DIGITS_256))

    def _fits_128(self, raws: List[RawColumn], scale: int) -> bool:
        pa = self._pa
        try:
            for raw in raws:
                self._numeric_array(raw, pa.decimal128(_DIGITS_128, scale))
        except (pa.ArrowInvalid, ValueError):
            return False
        return True

    def table(self, batches: Sequence[bytes]) -> Any:
        pa = self._pa
        parts = [read_batch(self._columns, data) for data in batches]
        made, fields = [], []
        for place, column in enumerate(self._columns):
            raws = [part[place] for part in parts]
            type = self._narrowest(raws, column) or self.type_of(column.type, column.declared)
            made.append(pa.chunked_array([self.array(raw, column, type) for raw in raws], type))
            fields.append(pa.field(column.name, type))
        return pa.Table.from_arrays(made, schema=pa.schema(fields))
