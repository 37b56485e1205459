#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "bind/bound.h"
#include "codegen/aggregate_state.h"
#include "runtime/memory.h"
#include "runtime/ordered_sets.h"
#include "runtime/runtime.h"
#include "types/big_number.h"
#include "types/datum_text.h"
#include "types/decimal.h"
#include "types/interval.h"
#include "types/scalar.h"

// Aggregates that are called, not generated: statistics, sums of intervals, ordered sets. States:
// codegen/aggregate_state.h.
namespace scyper::query {

extern "C" {
uint8_t rt_rows_same(const RowBuffer* rows, int64_t row, int64_t columns) noexcept;
int32_t rt_array_make(ExecContext* c, const SqlType* element, const Datum* items, int64_t count) noexcept;
}

namespace {

// Sums of squared deviations by Youngs and Cramer, as PostgreSQL keeps them (float.c): bit-equal results.
struct FloatState {
  double sum_x, sum_xx, sum_y;
  int64_t count;
  double sum_yy, sum_xy;
};
static_assert(sizeof(FloatState) <= kAggregateStateBytes);
static_assert(offsetof(FloatState, count) == kAggregateCount);

// Exact sums of numerics; sum_squares has twice the scale. Where 38 digits do not hold them, scale is kBigScale and sum
// the address of BigSums in the transaction's memory.
// States lie at multiples of 8, where __int128 wants 16: copied in and out.
struct DecimalState {
  int128 sum;
  int64_t scale;
  int64_t count;
  int128 sum_squares;
};
static_assert(sizeof(DecimalState) == kAggregateStateBytes);
static_assert(offsetof(DecimalState, count) == kAggregateCount);

struct BigSums {
  Decimal sum, squares;
};

struct IntervalState {
  Interval sum;
  int64_t unused;
  int64_t count;
};
static_assert(offsetof(IntervalState, count) == kAggregateCount);

int32_t finish_with(ExecContext* c, ValueError error) {
  if (error == ValueError::kNone) return 0;
  return error == ValueError::kOutOfMemory ? fail_memory(c) : c->fail(error_status(error));
}

// A running sum of squares takes a value; before: how many there were.
ValueError add_square(double value, double before, double* sum, double* squares) {
  double old = *sum;
  double n = before + 1;
  *sum += value;
  if (before > 0) {
    double difference = value * n - *sum;
    *squares += difference * difference / (n * before);
    if (std::isinf(*sum) || std::isinf(*squares)) {
      if (!std::isinf(old) && !std::isinf(value)) return ValueError::kFloatOverflow;
      *squares = std::nan("");
    }
  } else if (std::isnan(value) || std::isinf(value)) {
    *squares = std::nan("");
  }
  return ValueError::kNone;
}

// (y, x), as the arguments stand.
ValueError add_pair(double y, double x, FloatState* s) {
  double before = static_cast<double>(s->count), n = before + 1;
  double old_x = s->sum_x, old_y = s->sum_y;
  s->sum_x += x;
  s->sum_y += y;
  if (before > 0) {
    double dx = x * n - s->sum_x, dy = y * n - s->sum_y;
    double scale = 1.0 / (n * before);
    s->sum_xx += dx * dx * scale;
    s->sum_yy += dy * dy * scale;
    s->sum_xy += dx * dy * scale;
    bool infinite = std::isinf(s->sum_x) || std::isinf(s->sum_xx) || std::isinf(s->sum_y) || std::isinf(s->sum_yy) ||
                    std::isinf(s->sum_xy);
    if (infinite) {
      bool by_x = (std::isinf(s->sum_x) || std::isinf(s->sum_xx)) && !std::isinf(old_x) && !std::isinf(x);
      bool by_y = (std::isinf(s->sum_y) || std::isinf(s->sum_yy)) && !std::isinf(old_y) && !std::isinf(y);
      bool by_both =
          std::isinf(s->sum_xy) && !std::isinf(old_x) && !std::isinf(x) && !std::isinf(old_y) && !std::isinf(y);
      if (by_x || by_y || by_both) return ValueError::kFloatOverflow;
      if (std::isinf(s->sum_xx)) s->sum_xx = std::nan("");
      if (std::isinf(s->sum_yy)) s->sum_yy = std::nan("");
      if (std::isinf(s->sum_xy)) s->sum_xy = std::nan("");
    }
  } else {
    if (std::isnan(x) || std::isinf(x)) s->sum_xx = s->sum_xy = std::nan("");
    if (std::isnan(y) || std::isinf(y)) s->sum_yy = s->sum_xy = std::nan("");
  }
  return ValueError::kNone;
}

ValueError add_big(const Decimal& value, BigSums* sums) {
  Decimal square;
  ValueError error = decimal_multiply(value, value, &square);
  if (error == ValueError::kNone) error = decimal_add(sums->sum, value, &sums->sum);
  if (error == ValueError::kNone) error = decimal_add(sums->squares, square, &sums->squares);
  return error;
}

// From now on as BigSums.
ValueError begin_big(ExecContext* c, const DecimalState& s, void* place) {
  char* memory = c->scratch->allocate(sizeof(BigSums));
  if (memory == nullptr) return ValueError::kOutOfMemory;
  const auto scale = static_cast<int32_t>(s.scale);
  auto* sums = new (memory) BigSums;
  // twice the scale may be more than short numbers have
  ValueError error = decimal_rescale({s.sum, scale}, scale, &sums->sum);
  if (2 * scale <= kMaxScale)
    sums->squares = {s.sum_squares, 2 * scale};
  else if (error == ValueError::kNone)
    error = decimal_multiply({s.sum_squares, scale}, {1, scale}, &sums->squares);
  DecimalState out = s;
  out.sum = reinterpret_cast<intptr_t>(sums);
  out.scale = kBigScale;
  std::memcpy(place, &out, sizeof(out));
  return error;
}

ValueError add_short(Decimal value, const DecimalState& from, void* place) {
  DecimalState copy = from;
  DecimalState* s = &copy;
  if (value.scale > s->scale) {
    int32_t up = value.scale - static_cast<int32_t>(s->scale);
    if (ValueError error = int128_scale_up(s->sum, up, &s->sum); error != ValueError::kNone) return error;
    if (ValueError error = int128_scale_up(s->sum_squares, 2 * up, &s->sum_squares); error != ValueError::kNone)
      return error;
    s->scale = value.scale;
  }
  int128 scaled = 0, square = 0;
  ValueError error = int128_scale_up(value.value, static_cast<int32_t>(s->scale) - value.scale, &scaled);
  if (error == ValueError::kNone) error = int128_multiply(scaled, scaled, &square);
  if (error == ValueError::kNone) error = int128_add(s->sum, scaled, &s->sum);
  if (error == ValueError::kNone) error = int128_add(s->sum_squares, square, &s->sum_squares);
  if (error == ValueError::kNone) std::memcpy(place, &copy, sizeof(copy));
  return error;
}

ValueError add_decimal(ExecContext* c, const Decimal& value, void* place) {
  DecimalState s;
  std::memcpy(&s, place, sizeof(s));
  if (s.scale != kBigScale) {
    if (is_short(value) && add_short(value, s, place) == ValueError::kNone) return ValueError::kNone;
    if (ValueError error = begin_big(c, s, place); error != ValueError::kNone) return error;
    std::memcpy(&s, place, sizeof(s));
  }
  return add_big(value, reinterpret_cast<BigSums*>(static_cast<intptr_t>(s.sum)));
}

bool is_pair(AggregateKind kind) { return kind >= AggregateKind::kCovarPop && kind <= AggregateKind::kRegrIntercept; }
bool is_sample(AggregateKind kind) { return kind == AggregateKind::kVarSamp || kind == AggregateKind::kStddevSamp; }
bool is_deviation(AggregateKind kind) {
  return kind == AggregateKind::kStddevPop || kind == AggregateKind::kStddevSamp;
}

// The square root rounded to `scale` digits behind the point.
ValueError square_root_to(const Decimal& a, int32_t scale, Decimal* out) {
  int32_t shift = 2 * (scale + 1) - a.scale;
  if (shift < 0 || shift > kMaxPrecision) return ValueError::kNumericOverflow;
  uint128 root = square_root(multiply_wide(static_cast<uint128>(a.value), kPowersOfTen[shift]));
  *out = {static_cast<int128>((root + 5) / 10), scale};
  return ValueError::kNone;
}

// numeric_stddev_internal() of numeric.c.
ValueError finish_decimal(AggregateKind kind, const void* place, Datum* out) {
  DecimalState s;
  std::memcpy(&s, place, sizeof(s));
  *out = null_datum();
  if (s.count < (is_sample(kind) ? 2 : 1)) return ValueError::kNone;
  if (s.scale == kBigScale) {
    const auto* sums = reinterpret_cast<const BigSums*>(static_cast<intptr_t>(s.sum));
    Decimal result;
    ValueError error = big_variance(sums->sum, sums->squares, s.count, is_sample(kind), is_deviation(kind), &result);
    *out = datum_of(result);
    return error;
  }
  int32_t scale = static_cast<int32_t>(s.scale);
  Decimal count = decimal_of_int(s.count), squares, square, numerator, divisor, result;
  ValueError error = decimal_multiply({s.sum, scale}, {s.sum, scale}, &square);
  if (error == ValueError::kNone) error = decimal_multiply(count, {s.sum_squares, 2 * scale}, &squares);
  if (error == ValueError::kNone) error = decimal_subtract(squares, square, &numerator);
  if (error != ValueError::kNone) return error;
  if (sign_of(numerator) <= 0) return *out = datum_of(Decimal{0, 0}), ValueError::kNone;
  error = decimal_multiply(count, decimal_of_int(is_sample(kind) ? s.count - 1 : s.count), &divisor);
  if (error == ValueError::kNone) error = decimal_divide(numerator, divisor, &result);
  if (error == ValueError::kNone && is_deviation(kind))
    error = is_short(result) ? square_root_to(result, result.scale, &result) : ValueError::kNumericOverflow;
  if (error == ValueError::kNumericOverflow)
    error =
        big_variance({s.sum, scale}, {s.sum_squares, 2 * scale}, s.count, is_sample(kind), is_deviation(kind), &result);
  *out = datum_of(result);
  return error;
}

void finish_float(AggregateKind kind, const FloatState& s, Datum* out) {
  *out = null_datum();
  if (s.count < (is_sample(kind) ? 2 : 1)) return;
  double n = static_cast<double>(s.count);
  double variance = s.sum_xx / (is_sample(kind) ? n - 1.0 : n);
  *out = float_datum(is_deviation(kind) ? std::sqrt(variance) : variance);
}

void finish_pair(AggregateKind kind, const FloatState& s, Datum* out) {
  double n = static_cast<double>(s.count);
  *out = null_datum();
  if (kind == AggregateKind::kRegrCount) {
    *out = int_datum(s.count);
    return;
  }
  if (s.count < (kind == AggregateKind::kCovarSamp ? 2 : 1)) return;
  bool needs_x = kind == AggregateKind::kCorr || kind == AggregateKind::kRegrR2 || kind == AggregateKind::kRegrSlope ||
                 kind == AggregateKind::kRegrIntercept;
  if (needs_x && s.sum_xx == 0) return;
  switch (kind) {
    case AggregateKind::kCovarPop:
      return void(*out = float_datum(s.sum_xy / n));
    case AggregateKind::kCovarSamp:
      return void(*out = float_datum(s.sum_xy / (n - 1.0)));
    case AggregateKind::kCorr:
      if (s.sum_yy != 0) *out = float_datum(s.sum_xy / std::sqrt(s.sum_xx * s.sum_yy));
      return;
    case AggregateKind::kRegrSxx:
      return void(*out = float_datum(s.sum_xx));
    case AggregateKind::kRegrSyy:
      return void(*out = float_datum(s.sum_yy));
    case AggregateKind::kRegrSxy:
      return void(*out = float_datum(s.sum_xy));
    case AggregateKind::kRegrAvgx:
      return void(*out = float_datum(s.sum_x / n));
    case AggregateKind::kRegrAvgy:
      return void(*out = float_datum(s.sum_y / n));
    case AggregateKind::kRegrR2:
      return void(*out = float_datum(s.sum_yy == 0 ? 1.0 : (s.sum_xy * s.sum_xy) / (s.sum_xx * s.sum_yy)));
    case AggregateKind::kRegrSlope:
      return void(*out = float_datum(s.sum_xy / s.sum_xx));
    default:
      return void(*out = float_datum((s.sum_y - s.sum_x * s.sum_xy / s.sum_xx) / n));
  }
}

double float8(const Datum& datum) { return __builtin_bit_cast(double, datum.lo); }

int32_t interpolate(ExecContext* c, const SqlType& type, const Datum& low, const Datum& high, double share,
                    Datum* out) {
  if (type.id != TypeId::kInterval) {
    *out = float_datum(float8(low) + share * (float8(high) - float8(low)));
    return 0;
  }
  Interval a = interval_of(low), b = interval_of(high), negative, difference, result;
  ValueError error = interval_negate(a, &negative);
  if (error == ValueError::kNone) error = interval_add(b, negative, &difference);
  if (error == ValueError::kNone) error = interval_multiply(difference, share, &difference);
  if (error == ValueError::kNone) error = interval_add(difference, a, &result);
  *out = datum_of(result);
  return finish_with(c, error);
}

void find_mode(const RowBuffer& rows, Datum* out) {
  int64_t best = 0, run = 0;
  for (int64_t i = 0; i < rows.count; i++) {
    const Datum& value = rows.rows[i * rows.width];
    bool same = i > 0 && equal_datums(rows.types[0], value, rows.rows[(i - 1) * rows.width]);
    run = same ? run + 1 : 1;
    if (run <= best) continue;
    best = run;
    *out = rows.rows[(i - run + 1) * rows.width];
  }
}

}  // namespace

int32_t pick_percentile(ExecContext* c, AggregateKind which, const SqlType& type, double count, double fraction,
                        const std::function<Datum(double)>& value, Datum* out) {
  if (!(fraction >= 0 && fraction <= 1)) {
    char message[80];
    std::snprintf(message, sizeof(message), "percentile value %g is not between 0 and 1", fraction);
    return c->fail("22003", message);
  }
  if (which == AggregateKind::kPercentileDisc) {
    double row = std::ceil(fraction * count);
    *out = value(row < 1 ? 0 : row - 1);
    return 0;
  }
  double position = fraction * (count - 1);
  double first = std::floor(position), second = std::ceil(position);
  if (first == second) return *out = value(first), 0;
  return interpolate(c, type, value(first), value(second), position - first, out);
}

int32_t find_percentiles(ExecContext* c, AggregateKind which, const SqlType& type, const Datum& fraction,
                         const SqlType& fraction_type, const std::function<int32_t(double, Datum*)>& find, Datum* out) {
  *out = null_datum();
  if (fraction.null) return 0;
  if (fraction_type.id != TypeId::kArray) return find(float8(fraction), out);
  const ArrayValue* fractions = array_of(fraction);
  SqlType element =
      which == AggregateKind::kPercentileCont && type.id != TypeId::kInterval ? make_type(TypeId::kFloat8) : type;
  std::vector<Datum> results(static_cast<size_t>(fractions->size), null_datum());
  for (size_t i = 0; i < results.size(); i++) {
    if (fractions->elements[i].null) continue;
    int32_t failed = find(float8(fractions->elements[i]), &results[i]);
    if (failed != 0) return failed;
  }
  int32_t failed = rt_array_make(c, &element, results.data(), static_cast<int64_t>(results.size()));
  if (failed == 0) *out = Datum{c->value[0], 0, 0, 0, {}};
  return failed;
}

// Order of a row and of the one that is not there.
int compare_place(const RowBuffer& rows, const SortKey* keys, const Datum* row) {
  for (int64_t k = 0; k < rows.width / 2; k++) {
    const Datum& mine = row[k];
    const Datum& other = row[rows.width / 2 + k];
    if (mine.null || other.null) {
      if (mine.null == other.null) continue;
      return (mine.null != 0) == (keys[k].nulls_first != 0) ? -1 : 1;
    }
    int order = compare_datums(rows.types[k], mine, other);
    if (order != 0) return keys[k].descending != 0 ? -order : order;
  }
  return 0;
}

void find_place(AggregateKind which, const RowBuffer& rows, const SortKey* keys, Datum* out) {
  int64_t before = 0, equal = 0, distinct = 0;
  for (int64_t i = 0; i < rows.count; i++) {
    const Datum* row = rows.rows + i * rows.width;
    int order = compare_place(rows, keys, row);
    if (order > 0) break;
    (order < 0 ? before : equal)++;
    if (order < 0 && (i == 0 || rt_rows_same(&rows, i, rows.width / 2) == 0)) distinct++;
  }
  double count = static_cast<double>(rows.count);
  switch (which) {
    case AggregateKind::kHypotheticalRank:
      *out = int_datum(before + 1);
      break;
    case AggregateKind::kHypotheticalDenseRank:
      *out = int_datum(distinct + 1);
      break;
    case AggregateKind::kHypotheticalPercentRank:
      *out = float_datum(static_cast<double>(before) / count);
      break;
    default:
      *out = float_datum(static_cast<double>(before + equal + 1) / (count + 1));
      break;
  }
}

extern "C" {

uint8_t rt_rows_same(const RowBuffer* rows, int64_t row, int64_t columns) noexcept {
  if (row == 0) return 0;
  const Datum* b = rows->rows + row * rows->width;
  const Datum* a = b - rows->width;
  for (int64_t i = 0; i < columns; i++) {
    if (a[i].null != b[i].null) return 0;
    if (!a[i].null && !equal_datums(rows->types[i], a[i], b[i])) return 0;
  }
  return 1;
}

int32_t rt_aggregate_step(ExecContext* c, void* state, int64_t kind, const Datum* args, const SqlType* type) noexcept {
  auto which = static_cast<AggregateKind>(kind);
  if (which == AggregateKind::kSumInterval || which == AggregateKind::kAvgInterval) {
    auto* s = static_cast<IntervalState*>(state);
    return finish_with(c, interval_add(s->sum, interval_of(args[0]), &s->sum));
  }
  if (is_pair(which))
    return finish_with(c, add_pair(float8(args[0]), float8(args[1]), static_cast<FloatState*>(state)));
  if (is_float(type->id)) {
    auto* s = static_cast<FloatState*>(state);
    return finish_with(c, add_square(float8(args[0]), static_cast<double>(s->count), &s->sum_x, &s->sum_xx));
  }
  Decimal value = type->id == TypeId::kNumeric ? decimal_of(args[0]) : decimal_of_int(args[0].lo);
  return finish_with(c, add_decimal(c, value, state));
}

int32_t rt_aggregate_finish(ExecContext* c, const void* state, int64_t kind, const SqlType* type, Datum* out) noexcept {
  auto which = static_cast<AggregateKind>(kind);
  if (which == AggregateKind::kSumInterval || which == AggregateKind::kAvgInterval) {
    const auto* s = static_cast<const IntervalState*>(state);
    *out = null_datum();
    if (s->count == 0) return 0;
    Interval result = s->sum;
    ValueError error = ValueError::kNone;
    if (which == AggregateKind::kAvgInterval) error = interval_divide(s->sum, static_cast<double>(s->count), &result);
    *out = datum_of(result);
    return finish_with(c, error);
  }
  if (is_pair(which)) return finish_pair(which, *static_cast<const FloatState*>(state), out), 0;
  if (is_float(type->id)) return finish_float(which, *static_cast<const FloatState*>(state), out), 0;
  return finish_with(c, finish_decimal(which, state, out));
}

// The rows: the value, then the fraction or fractions (the same in all); of hypothetical sets: keys, then as many
// values that stand for the row that is not there.
int32_t rt_ordered_set(ExecContext* c, int64_t kind, const RowBuffer* rows, const SortKey* keys, Datum* out) noexcept {
  *out = null_datum();
  if (rows->count == 0) return 0;
  auto which = static_cast<AggregateKind>(kind);
  if (is_hypothetical(which)) return find_place(which, *rows, keys, out), 0;
  if (which == AggregateKind::kMode) return find_mode(*rows, out), 0;
  const auto value = [&](double row) -> Datum { return rows->rows[static_cast<int64_t>(row) * rows->width]; };
  const auto find = [&](double fraction, Datum* result) {
    return pick_percentile(c, which, rows->types[0], static_cast<double>(rows->count), fraction, value, result);
  };
  return find_percentiles(c, which, rows->types[0], rows->rows[1], rows->types[1], find, out);
}

}  // extern "C"

}  // namespace scyper::query
