"""Values: Python's to the messages of a call, and those of its rows to Python's."""

from __future__ import annotations

import datetime
import decimal
import json
import operator
import uuid
from typing import Any, Callable, Dict, List, Sequence, Union

from .errors import DataError, ProgrammingError, error_of
from .proto import scyper_pb2 as pb
from .types import Column, Result, Row, Type, TypeId

_INT8_MAX = 2**63 - 1
_US_PER_DAY = 86_400_000_000
_EPOCH = datetime.datetime(2000, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=datetime.timezone.utc)
_EPOCH_DAY = _EPOCH.toordinal()
# exact whatever the caller's own context rounds to
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)

_INTEGERS = (TypeId.INT2, TypeId.INT4, TypeId.INT8)
_FLOATS = (TypeId.FLOAT4, TypeId.FLOAT8)
_STRINGS = (TypeId.UNKNOWN, TypeId.CHAR, TypeId.VARCHAR, TypeId.TEXT)


def decimal_of(number: int, scale: int) -> decimal.Decimal:
    return decimal.Decimal(number).scaleb(-scale, _EXACT)


def date_of(days: int) -> datetime.date:
    try:
        return datetime.date.fromordinal(_EPOCH_DAY + days)
    except (ValueError, OverflowError):
        raise DataError("a date is outside of the years that Python's have (1 to 9999)", sqlstate="22008") from None


def _moment_of(epoch: datetime.datetime, microseconds: int) -> datetime.datetime:
    try:
        return epoch + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        raise DataError("a timestamp is outside of the years that Python's have (1 to 9999)", sqlstate="22008") from None


def timestamp_of(microseconds: int) -> datetime.datetime:
    return _moment_of(_EPOCH, microseconds)


def timestamptz_of(microseconds: int) -> datetime.datetime:
    return _moment_of(_EPOCH_UTC, microseconds)


def time_of(microseconds: int) -> datetime.time:
    if not 0 <= microseconds < _US_PER_DAY:
        raise DataError("Python has no time 24:00:00", sqlstate="22008")
    return (datetime.datetime.min + datetime.timedelta(microseconds=microseconds)).time()


def bytes_of(text: str) -> bytes:
    return bytes.fromhex(text[2:])  # \x...


# What SQL says of a value that is sent as text.
FROM_TEXT: Dict[TypeId, Callable[[str], Any]] = {
    TypeId.UUID: uuid.UUID,
    TypeId.BYTEA: bytes_of,
    TypeId.JSONB: json.loads,
    TypeId.NUMERIC: decimal.Decimal,
}


def column_of(message: pb.Column) -> Column:
    sent = type_of(message.type)
    return Column(message.name, sent, type_of(message.declared) if message.HasField("declared") else sent)


def type_of(message: pb.Type) -> Type:
    return Type(TypeId(message.id), TypeId(message.element), message.precision, message.scale)


def element_of(type: Type) -> Type:
    return Type(type.element)


# --- from the node ---


def value_of(message: pb.Value, declared: Type) -> Any:
    kind = message.WhichOneof("kind")
    if kind is None:
        return None
    if kind == "text":
        text = message.text.decode("utf-8")
        convert = FROM_TEXT.get(declared.id)
        return text if convert is None else convert(text)
    if kind == "decimal":
        return decimal_of((message.decimal.high << 64) | message.decimal.low, message.decimal.scale)
    if kind == "date":
        return date_of(message.date)
    if kind == "timestamp":
        return {TypeId.TIMESTAMPTZ: timestamptz_of, TypeId.TIME: time_of}.get(declared.id, timestamp_of)(message.timestamp)
    if kind == "array":
        element = element_of(declared)
        return [value_of(value, element) for value in message.array.values]
    return getattr(message, kind)


def rows_of(messages: Sequence[pb.Row], columns: Sequence[Column]) -> List[Row]:
    types = [column.declared for column in columns]
    return [tuple(value_of(value, type) for value, type in zip(row.values, types)) for row in messages]


def result_of(message: pb.CallResult) -> Result:
    columns = [column_of(column) for column in message.columns]
    try:
        rows = rows_of(message.rows, columns)
    except DataError as error:
        error.detail = "The transaction was committed."
        raise
    return complete(Result(columns, rows), message)


def complete(result: Result, end: Union[pb.CallResult, pb.ExecuteResponse.Complete]) -> Result:
    """The result, with what the node says at its end."""
    result.command_tag = end.command_tag
    result.affected_rows = end.affected_rows
    result.notices = list(end.notices)
    return result


# --- to the node ---


def _refused(value: object, type: Type, index: int, more: str = "") -> ProgrammingError:
    found = f"{value.__class__.__module__}.{value.__class__.__qualname__}".replace("builtins.", "")
    return ProgrammingError(f"argument {index + 1} is for ${index + 1} of type {type.id.name.lower()}, which takes no {found}{more}", sqlstate="42804")


def _integer(value: Any, type: Type, index: int) -> int:
    if isinstance(value, bool):
        raise _refused(value, type, index)
    try:
        number = operator.index(value)  # numpy's integers, too
    except TypeError:
        raise _refused(value, type, index) from None
    if not -_INT8_MAX - 1 <= number <= _INT8_MAX:
        raise error_of("22003", "bigint out of range")
    return number


def _utf8(value: str) -> bytes:
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise error_of("22021", f"a text is not valid Unicode: {error}") from None


def _encode_numeric(value: Any, type: Type, index: int) -> pb.Value:
    if isinstance(value, (decimal.Decimal, float)):
        return pb.Value(text=str(value).encode())
    if isinstance(value, str):
        return pb.Value(text=_utf8(value))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _INT8_MAX:
        return pb.Value(text=str(value).encode())
    return pb.Value(integer=_integer(value, type, index))


def _encode_moment(value: Any, type: Type, index: int) -> pb.Value:
    if not isinstance(value, datetime.datetime):
        raise _refused(value, type, index)
    if (value.tzinfo is not None) != (type.id == TypeId.TIMESTAMPTZ):
        raise _refused(value, type, index, " with a time zone" if value.tzinfo is not None else " without a time zone")
    since = value - (_EPOCH if value.tzinfo is None else _EPOCH_UTC)
    return pb.Value(timestamp=since // datetime.timedelta(microseconds=1))


def _encode_time(value: Any, type: Type, index: int) -> pb.Value:
    if not isinstance(value, datetime.time) or value.tzinfo is not None:
        raise _refused(value, type, index, " with a time zone" if isinstance(value, datetime.time) else "")
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return pb.Value(timestamp=seconds * 1_000_000 + value.microsecond)


def _encode_as_text(value: Any, type: Type, index: int) -> pb.Value:
    """Types that the node reads in PostgreSQL's input form."""
    if isinstance(value, str):
        return pb.Value(text=_utf8(value))
    if type.id == TypeId.UUID and isinstance(value, uuid.UUID):
        return pb.Value(text=str(value).encode())
    if type.id == TypeId.BYTEA and isinstance(value, (bytes, bytearray, memoryview)):
        return pb.Value(text=b"\\x" + bytes(value).hex().encode())
    if type.id == TypeId.INTERVAL and isinstance(value, datetime.timedelta):
        return pb.Value(text=f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds".encode())
    if type.id == TypeId.JSONB and isinstance(value, (dict, list, tuple, int, float)):
        return pb.Value(text=_utf8(json.dumps(value)))
    raise _refused(value, type, index)


def encode_value(value: Any, type: Type, index: int) -> pb.Value:
    id = type.id
    if value is None:
        return pb.Value()
    if id in _INTEGERS:
        return pb.Value(integer=_integer(value, type, index))
    if id == TypeId.NUMERIC:
        return _encode_numeric(value, type, index)
    if id in _STRINGS:
        if not isinstance(value, str):
            raise _refused(value, type, index)
        return pb.Value(text=_utf8(value))
    if id in _FLOATS:
        if not hasattr(value, "__float__") or isinstance(value, (bool, decimal.Decimal)):
            raise _refused(value, type, index)
        return pb.Value(real=float(value))
    if id == TypeId.BOOL:
        if not isinstance(value, bool):
            raise _refused(value, type, index)
        return pb.Value(boolean=value)
    if id == TypeId.DATE:
        if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
            raise _refused(value, type, index)
        return pb.Value(date=value.toordinal() - _EPOCH_DAY)
    if id in (TypeId.TIMESTAMP, TypeId.TIMESTAMPTZ):
        return _encode_moment(value, type, index)
    if id == TypeId.TIME:
        return _encode_time(value, type, index)
    if id == TypeId.ARRAY:
        if not isinstance(value, (list, tuple)):
            raise _refused(value, type, index)
        element = element_of(type)
        return pb.Value(array=pb.ValueArray(values=[encode_value(part, element, index) for part in value]))
    return _encode_as_text(value, type, index)


def encode_arguments(arguments: Sequence[Any], types: Sequence[Type]) -> List[pb.Value]:
    if len(arguments) != len(types):
        raise ProgrammingError(f"the call supplies {len(arguments)} arguments, but the statement requires {len(types)}", sqlstate="08P01")
    return [encode_value(value, type, index) for index, (value, type) in enumerate(zip(arguments, types))]
