#include "storage/frozen_vector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/test_seed.h"
#include "bit_packing.h"
#include "frozen_format.h"
#include "storage/relation_dictionary.h"

// Random vectors of every type in every scheme against the values that they were made of.
namespace scyper::storage {
namespace {

// A column as it lies in a chunk, texts that do not fit in cells held here.
struct Column {
  SqlType type;
  std::vector<Datum> values;  // NULL where dead, too
  std::vector<uint8_t> live;
  std::vector<std::unique_ptr<std::string>> texts;
  std::vector<char> chunk;
  ColumnAccess access{};

  uint32_t count() const { return static_cast<uint32_t>(values.size()); }

  const std::string& keep(std::string text) {
    texts.push_back(std::make_unique<std::string>(std::move(text)));
    return *texts.back();
  }
  void write_cells() {
    access = {cell_kind_of(type), cell_bytes_of(type), 0, cell_bytes_of(type), 0, 1};
    access.null_offset = access.cell_bytes * count();
    chunk.assign(uint64_t{access.cell_bytes} * count() + count(), '\xAB');
    for (uint32_t i = 0; i < count(); ++i) {
      chunk[access.null_offset + i] = values[i].null != 0 ? 1 : 0;
      char* cell = cell_of(access, chunk.data(), i);
      if (values[i].null != 0 && live[i] != 0) write_empty_cell(access.kind, cell, access.cell_bytes);
      if (values[i].null != 0) continue;
      if (holds_bytes(type.id)) {
        write_text(cell, values[i]);
      } else {
        write_plain_cell(access.kind, cell, values[i]);
      }
    }
  }
  void write_text(char* cell, const Datum& value) const {
    const bool is_short = access.kind == CellKind::kShortString;
    const auto size = static_cast<uint32_t>(value.size());
    if (is_short && size < access.cell_bytes) {
      *cell = static_cast<char>(size);
      std::memcpy(cell + 1, value.data(), size);
    } else if (is_short) {
      *cell = static_cast<char>(kShortStringInHeap);
      save_cell(cell + 4, size);
      save_cell(cell + 8, value.data());
    } else {
      save_cell(cell, size);
      std::memcpy(cell + 4, value.data(), std::min(size, size <= kLongStringInline ? size : 4));
      if (size > kLongStringInline) save_cell(cell + 8, value.data());
    }
  }
};

const std::vector<SqlType>& all_types() {
  static const std::vector<SqlType> types = {make_type(TypeId::kBool),
                                             make_type(TypeId::kInt2),
                                             make_type(TypeId::kInt4),
                                             make_type(TypeId::kInt8),
                                             make_type(TypeId::kFloat8),
                                             make_type(TypeId::kFloat4),
                                             make_numeric(4, 2),
                                             make_numeric(9, 2),
                                             make_numeric(18, 2),
                                             make_numeric(38, 5),
                                             make_numeric(0, 0),
                                             make_string(TypeId::kChar, 2),
                                             make_string(TypeId::kChar, 24),
                                             make_string(TypeId::kChar, 240),
                                             make_string(TypeId::kVarchar, 16),
                                             make_string(TypeId::kVarchar, 63),
                                             make_type(TypeId::kText),
                                             make_type(TypeId::kDate),
                                             make_type(TypeId::kTimestamp),
                                             make_type(TypeId::kTimestamptz),
                                             make_type(TypeId::kTime),
                                             make_type(TypeId::kUuid),
                                             make_type(TypeId::kBytea),
                                             make_type(TypeId::kJsonb),
                                             make_type(TypeId::kEnum)};
  return types;
}

// Characters of a string of the type.
uint64_t max_characters(const SqlType& type) { return type.length > 0 ? static_cast<uint64_t>(type.length) : 30; }

std::string random_text(Random* random, const SqlType& type) {
  const uint64_t size = type.id == TypeId::kChar ? max_characters(type) : random->below(max_characters(type) + 1);
  const uint64_t blanks = type.id == TypeId::kChar ? random->below(size + 1) : 0;
  const bool multibyte = random->one_in(10);
  std::string text;
  for (uint64_t i = 0; i < size; ++i) {
    if (i + blanks >= size) {
      text += ' ';
    } else if (multibyte) {
      text += "\xf0\x9f\x98\x80";
    } else {
      text += static_cast<char>(random->one_in(8) ? '\t' : 'a' + random->below(3));
    }
  }
  return text;
}

double random_double(Random* random) {
  switch (random->below(8)) {
    case 0:
      return random->one_in(2) ? 0.0 : -0.0;
    case 1:
      return std::numeric_limits<double>::infinity() * (random->one_in(2) ? 1 : -1);
    case 2:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      return (random->real() - 0.5) * std::pow(10, static_cast<double>(random->between(-5, 20)));
  }
}

__int128 random_number(Random* random, const SqlType& type, int shape) {
  const uint32_t bytes = cell_bytes_of(type);
  if (type.id == TypeId::kBool) return static_cast<__int128>(random->below(2));
  if (shape == 0) return random->between(-3, 100);                        // few bits
  if (shape == 1) return static_cast<__int128>(random->below(5)) * 6001;  // few values
  __int128 wide = static_cast<__int128>(static_cast<unsigned __int128>(random->next()) << 64 | random->next());
  if (bytes == 2) return static_cast<int16_t>(wide);
  if (bytes == 4) return static_cast<int32_t>(wide);
  if (bytes == 8) return static_cast<int64_t>(wide);
  return wide >> random->below(100);
}

Datum random_value(Random* random, Column* column, int shape) {
  const SqlType& type = column->type;
  if (holds_bytes(type.id)) {
    const std::string& text = column->keep(random_text(random, type));
    return string_datum(text.data(), text.size());
  }
  if (is_float(type.id)) return float_datum(shape == 0 ? static_cast<double>(random->below(9)) : random_double(random));
  Datum value = int128_datum(random_number(random, type, shape), type.scale);
  if (cell_kind_of(type) == CellKind::kDecimal) value.scale = static_cast<int32_t>(random->below(10));
  return value;
}

Column random_column(Random* random, const SqlType& type) {
  Column column;
  column.type = type;
  const uint64_t count = random->one_in(6) ? kChunkTuples : 1 + random->below(2000);
  const int shape = static_cast<int>(random->below(3));
  const uint64_t run_max = random->one_in(3) ? 1 : random->one_in(2) ? 20 : 1 + random->below(3000);
  const uint64_t pool_size = random->one_in(2) ? 0 : 1 + random->below(20);
  const uint64_t null_share = random->one_in(3) ? 0 : random->one_in(8) ? 1 : 1 + random->below(30);
  std::vector<Datum> pool;
  for (uint64_t i = 0; i < pool_size; ++i) pool.push_back(random_value(random, &column, shape));
  const bool has_dead = random->one_in(3);
  while (column.values.size() < count) {
    const Datum value = null_share != 0 && random->one_in(null_share) ? null_datum()
                        : pool.empty()                                ? random_value(random, &column, shape)
                                                                      : pool[random->below(pool.size())];
    for (uint64_t n = 1 + random->below(run_max); n > 0 && column.values.size() < count; --n) {
      const bool dead = has_dead && random->one_in(5);
      column.values.push_back(dead ? null_datum() : value);
      column.live.push_back(dead ? 0 : 1);
    }
  }
  column.write_cells();
  return column;
}

bool same(const SqlType& type, const Datum& a, const Datum& b) {
  if (a.null != b.null) return false;
  if (a.null != 0) return true;
  if (holds_bytes(type.id)) return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
  return a.lo == b.lo && (is_float(type.id) || a.hi == b.hi) && a.scale == b.scale;
}

void expect_same_values(const Column& column, const FrozenVector& vector, Random* random) {
  const uint32_t bytes = column.access.cell_bytes;
  for (int i = 0; i < 8; ++i) {
    const auto first = static_cast<uint32_t>(i == 0 ? 0 : random->below(column.count()));
    const auto count =
        static_cast<uint32_t>(i == 0 ? column.count() : random->below(uint64_t{column.count()} - first + 1));
    std::vector<char> cells(uint64_t{bytes} * count + 1);
    std::vector<uint8_t> nulls(count);
    vector.decode(first, count, cells.data());
    vector.decode_nulls(first, count, nulls.data());
    ASSERT_EQ(cells.back(), 0);  // nothing is written beyond
    for (uint32_t j = 0; j < count; ++j) {
      if (column.live[first + j] == 0) continue;
      const Datum& value = column.values[first + j];
      ASSERT_EQ(nulls[j], value.null) << first + j;
      if (value.null != 0) {
        if (holds_bytes(column.type.id)) ASSERT_EQ(read_string(column.access.kind, cells.data() + j * bytes).size, 0u);
        continue;
      }
      const Datum got = read_cell(column.access.kind, cells.data() + uint64_t{j} * bytes, column.type);
      ASSERT_TRUE(same(column.type, got, value)) << first + j;
    }
  }
  for (int i = 0; i < 200; ++i) {
    const auto position = static_cast<uint32_t>(random->below(column.count()));
    if (column.live[position] == 0) continue;
    ASSERT_EQ(vector.is_null(position), column.values[position].null != 0);
    ASSERT_TRUE(same(column.type, vector.get(position), column.values[position])) << position;
  }
}

// SQL's order, by other means than storage's.
int compare(const SqlType& type, const Datum& a, const Datum& b) {
  if (holds_bytes(type.id)) {
    std::string x(a.data(), a.size()), y(b.data(), b.size());
    if (type.id == TypeId::kChar) {
      x.erase(x.find_last_not_of(' ') + 1);
      y.erase(y.find_last_not_of(' ') + 1);
    }
    return x.compare(y);
  }
  if (!is_float(type.id)) return a.int128() < b.int128() ? -1 : a.int128() > b.int128();
  const auto x = __builtin_bit_cast(double, a.lo), y = __builtin_bit_cast(double, b.lo);
  if (std::isnan(x) || std::isnan(y)) return int{std::isnan(x)} - int{std::isnan(y)};
  return x < y ? -1 : x > y;
}

bool qualifies(const SqlType& type, const FrozenPredicate& predicate, const Datum& value) {
  if (predicate.kind == FrozenPredicate::Kind::kIsNull) return value.null != 0;
  if (value.null != 0) return false;
  if (predicate.kind == FrozenPredicate::Kind::kIsNotNull) return true;
  if (predicate.kind == FrozenPredicate::Kind::kPrefix) {
    return std::string_view(value.data(), value.size())
        .starts_with(std::string_view(predicate.low.data(), predicate.low.size()));
  }
  if (predicate.low.null == 0) {
    const int order = compare(type, value, predicate.low);
    if (order < 0 || (order == 0 && !predicate.low_included)) return false;
  }
  if (predicate.high.null != 0) return true;
  const int order = compare(type, value, predicate.high);
  return order < 0 || (order == 0 && predicate.high_included);
}

FrozenPredicate random_predicate(Random* random, Column* column) {
  const auto bound = [&] {
    if (random->one_in(3)) return random_value(random, column, static_cast<int>(random->below(3)));
    return column->values[random->below(column->count())];  // NULL: no bound
  };
  switch (random->below(8)) {
    case 0:
      return FrozenPredicate::is_null(random->one_in(2));
    case 1: {
      const Datum value = bound();
      if (value.null == 0) return FrozenPredicate::equal(value);
      return FrozenPredicate::is_null(true);
    }
    case 2:
    case 3:
      if (is_string(column->type.id)) {
        const Datum value = bound();
        if (value.null == 0) {
          return FrozenPredicate::prefix(string_datum(value.data(), random->below(value.size() + 1)));
        }
      }
      [[fallthrough]];
    default:
      return {FrozenPredicate::Kind::kRange, random->one_in(2), random->one_in(2), bound(), bound()};
  }
}

void expect_same_selections(Column* column, const FrozenVector& vector, Random* random, int count) {
  const bool has_order = cell_kind_of(column->type) != CellKind::kDecimal && column->type.id != TypeId::kJsonb;
  for (int i = 0; i < count; ++i) {
    const FrozenPredicate predicate = random_predicate(random, column);
    std::vector<uint64_t> selection(selection_words(column->count()), 0x5555);
    const bool by_null =
        predicate.kind == FrozenPredicate::Kind::kIsNull || predicate.kind == FrozenPredicate::Kind::kIsNotNull;
    ASSERT_EQ(vector.select(predicate, selection.data()), has_order || by_null);
    if (!has_order && !by_null) continue;
    bool any = false;
    for (uint32_t at = 0; at < column->count(); ++at) {
      if (column->live[at] == 0) continue;
      const bool wanted = qualifies(column->type, predicate, column->values[at]);
      any |= wanted;
      ASSERT_EQ((selection[at / 64] >> (at % 64)) & 1, wanted ? 1u : 0u)
          << at << " of " << column->count() << ", predicate " << static_cast<int>(predicate.kind);
    }
    if (column->count() % 64 != 0) ASSERT_EQ(selection.back() >> (column->count() % 64), 0u);
    if (any) ASSERT_FALSE(vector.can_skip(predicate));
  }
}

void expect_same_aggregates(const Column& column, const FrozenVector& vector) {
  Datum least = null_datum(), most = null_datum();
  unsigned __int128 sum = 0;
  uint32_t nulls = 0;
  bool any = false;
  for (uint32_t i = 0; i < column.count(); ++i) {
    if (column.live[i] == 0) continue;
    const Datum& value = column.values[i];
    nulls += value.null;
    if (value.null != 0) continue;
    any = true;
    sum += static_cast<unsigned __int128>(value.int128());
    if (least.null != 0 || compare(column.type, value, least) < 0) least = value;
    if (most.null != 0 || compare(column.type, value, most) > 0) most = value;
  }
  ASSERT_EQ(vector.header().null_count, nulls);
  if (cell_kind_of(column.type) == CellKind::kDecimal) return;
  ASSERT_EQ(vector.min().null, any ? 0 : 1);
  if (!any) return;
  ASSERT_EQ(compare(column.type, vector.min(), least), 0);
  ASSERT_EQ(compare(column.type, vector.max(), most), 0);
  if (vector.sum().has_value()) ASSERT_TRUE(static_cast<unsigned __int128>(*vector.sum()) == sum);
  const bool has_sum = !holds_bytes(column.type.id) && !is_float(column.type.id) && column.type.id != TypeId::kBool;
  if (has_sum && column.access.kind != CellKind::kInt128) ASSERT_TRUE(vector.sum().has_value());
  if (!vector.sum().has_value() || nulls > 0) return;
  if (std::count(column.live.begin(), column.live.end(), 0) > 0) return;
  ASSERT_TRUE(vector.sum(0, column.count()) == *vector.sum());
  const uint32_t half = column.count() / 2;
  if (column.access.kind == CellKind::kInt128) return;  // halves may overflow
  ASSERT_TRUE(vector.sum(0, half) + vector.sum(half, column.count() - half) == *vector.sum());
}

// Like values lie together, but for a few.
void cluster(Column* column, Random* random) {
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < column->count(); ++i) {
    if (column->values[i].null == 0) positions.push_back(i);
  }
  std::vector<Datum> values;
  for (const uint32_t position : positions) values.push_back(column->values[position]);
  std::sort(values.begin(), values.end(),
            [column](const Datum& a, const Datum& b) { return compare(column->type, a, b) < 0; });
  for (int i = 0; i < 3 && !values.empty(); ++i) {
    std::swap(values[random->below(values.size())], values[random->below(values.size())]);
  }
  for (size_t i = 0; i < positions.size(); ++i) column->values[positions[i]] = values[i];
  column->write_cells();
}

TEST(FrozenVectorTest, EveryTypeInEveryScheme) {
  Random random(test_seed());
  std::set<std::pair<FrozenScheme, bool>> seen;
  RelationDictionary dictionary;
  uint64_t shared = 0, looked_up = 0;
  const int rounds = std::getenv("SCYPER_TEST_FULL") != nullptr ? 60 : 4;
  for (int round = 0; round < rounds; ++round) {
    for (const SqlType& type : all_types()) {
      Column column = random_column(&random, type);
      if (random.one_in(2)) cluster(&column, &random);
      SCOPED_TRACE(type_name(type) + ", " + std::to_string(column.count()) + " values");
      for (int wish = 0; wish < 9; ++wish) {
        FreezeOptions options;
        if (wish > 0) {
          options.scheme = static_cast<FrozenScheme>((wish - 1) / 2);
          options.runs = wish % 2 == 0;
        }
        if (random.one_in(2)) options.dictionary = &dictionary;
        std::string image;
        const FrozenSource source{type, column.access, column.chunk.data(),
                                  reinterpret_cast<const char*>(column.live.data()), column.count()};
        freeze_vector(source, options, &image);
        const FrozenVector vector(image.data(), &dictionary);
        ASSERT_EQ(vector.header().bytes, image.size());
        ASSERT_TRUE(lies_within(vector.header(), vector.header().values_at, image.size()));
        ASSERT_FALSE(vector.header().scheme != FrozenScheme::kConstant &&
                     lies_within(vector.header(), vector.header().values_at, sizeof(FrozenHeader)));
        SCOPED_TRACE(std::string(scheme_name(vector.header().scheme)) + (vector.header().has_runs ? " runs" : ""));
        seen.insert({vector.header().scheme, vector.header().has_runs != 0});
        shared += vector.header().has_shared_text;
        looked_up += vector.header().slot_bits != 0 ? 1 : 0;
        expect_same_values(column, vector, &random);
        expect_same_aggregates(column, vector);
        expect_same_selections(&column, vector, &random, column.count() > 3000 ? 4 : 20);
        release_frozen(vector, &dictionary);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_EQ(seen.size(), 7u);  // a constant has no runs
  EXPECT_GT(shared, 0u);
  EXPECT_GT(looked_up, 0u);
  EXPECT_EQ(dictionary.values(), 0u);
}

// Codes that lie together are looked up by position; what the image says of that does not lead out of it.
TEST(FrozenVectorTest, PositionalLookup) {
  Random random(test_seed());
  for (const bool is_clustered : {true, false}) {
    Column column;
    column.type = make_type(TypeId::kInt4);
    for (uint32_t i = 0; i < kChunkTuples; ++i) {
      column.values.push_back(
          int_datum(static_cast<int64_t>((is_clustered ? i : random.below(kChunkTuples)) + random.below(200))));
      column.live.push_back(1);
    }
    column.write_cells();
    FreezeOptions options;
    options.scheme = FrozenScheme::kPacked;
    options.runs = false;
    std::string image;
    freeze_vector({column.type, column.access, column.chunk.data(), nullptr, column.count()}, options, &image);
    const FrozenVector vector(image.data());
    const FrozenHeader& head = vector.header();
    EXPECT_EQ(head.slot_bits, is_clustered ? kSlotBitsMax : 0u);
    if (!is_clustered) continue;
    expect_same_selections(&column, vector, &random, 100);
    for (uint32_t slot = 0; slot < 1u << head.slot_bits; ++slot) {
      EXPECT_LT(position_slots(head)[2 * slot + 1] - position_slots(head)[2 * slot], 800) << slot;
    }
    const size_t begin = head.codes_at - slots_bytes(head.slot_bits);
    std::vector<uint64_t> selection(selection_words(head.count));
    for (int i = 0; i < 300; ++i) {
      image[begin + random.below(slots_bytes(kSlotBitsMax))] = static_cast<char>(random.below(256));
      const auto low = static_cast<int64_t>(random.below(kChunkTuples));
      const FrozenPredicate wanted = FrozenPredicate::between(int_datum(low), int_datum(low + 300));
      ASSERT_TRUE(vector.select(wanted, selection.data()));
      for (uint32_t at = 0; at < head.count; ++at) {  // it may leave out, nothing else
        const int64_t value = static_cast<int64_t>(column.values[at].lo);
        if (((selection[at / 64] >> (at % 64)) & 1) != 0) ASSERT_TRUE(low <= value && value <= low + 300) << at;
      }
    }
  }
}

TEST(FrozenVectorTest, NegativeNanIsNotMisplaced) {
  Column column;
  column.type = make_type(TypeId::kFloat8);
  for (double value : {1.0, -std::numeric_limits<double>::quiet_NaN(), 2.0}) {
    column.values.push_back(float_datum(value));
    column.live.push_back(1);
  }
  column.write_cells();
  std::string image;
  freeze_vector({column.type, column.access, column.chunk.data(), nullptr, 3}, {}, &image);
  uint64_t selection;
  EXPECT_FALSE(FrozenVector(image.data()).select(FrozenPredicate::above(float_datum(1), true), &selection));
  EXPECT_FALSE(FrozenVector(image.data()).can_skip(FrozenPredicate::above(float_datum(5), true)));
}

TEST(FrozenVectorTest, ChoosesWhatIsSmall) {
  const auto scheme_of = [](auto value_at) {
    Column column;
    column.type = make_type(TypeId::kInt4);
    for (int i = 0; i < 10000; ++i) {
      column.values.push_back(int_datum(value_at(i)));
      column.live.push_back(1);
    }
    column.write_cells();
    std::string image;
    freeze_vector({column.type, column.access, column.chunk.data(), nullptr, 10000}, {}, &image);
    const FrozenHeader& head = FrozenVector(image.data()).header();
    return std::string(scheme_name(head.scheme)) + (head.has_runs != 0 ? " runs" : "");
  };
  Random random(test_seed());
  EXPECT_EQ(scheme_of([](int) { return 7; }), "constant");
  EXPECT_EQ(scheme_of([&](int) { return static_cast<int32_t>(random.next()); }), "plain");
  EXPECT_EQ(scheme_of([&](int) { return 1000000 + random.below(500); }), "packed");
  EXPECT_EQ(scheme_of([&](int) { return random.below(10) * 100000007 % 1000000009; }), "dictionary");
  EXPECT_EQ(scheme_of([](int i) { return i / 100; }), "packed runs");
}

// Long texts of which each is another one are the chunk's own, not the relation's for ever; those that repeat are.
TEST(FrozenVectorTest, SharesTextsThatRepeat) {
  for (const int distinct : {10000, 500}) {
    Column column;
    column.type = make_type(TypeId::kText);
    std::vector<std::string> texts;
    for (int i = 0; i < distinct; ++i) texts.push_back(std::to_string(i) + std::string(400, 'x'));
    for (int i = 0; i < 10000; ++i) {
      const std::string& text = texts[static_cast<size_t>(i % distinct)];
      column.values.push_back(string_datum(text.data(), text.size()));
      column.live.push_back(1);
    }
    column.write_cells();
    RelationDictionary dictionary;
    FreezeOptions options;
    options.dictionary = &dictionary;
    std::string image;
    freeze_vector({column.type, column.access, column.chunk.data(), nullptr, 10000}, options, &image);
    EXPECT_EQ(dictionary.values(), distinct == 500 ? 500u : 0u);
    release_frozen(FrozenVector(image.data(), &dictionary), &dictionary);
  }
}

TEST(FrozenVectorTest, SelectionsBecomePositions) {
  std::vector<uint64_t> selection(3);
  set_selection(selection.data(), 60, 130);
  clear_selection(selection.data(), 62, 128);
  std::vector<uint32_t> positions(192);
  positions.resize(selected_positions(selection.data(), 192, positions.data()));
  EXPECT_EQ(positions, (std::vector<uint32_t>{60, 61, 128, 129}));
}

// What is done of eight at a time is as one by one.
template <typename T>
void expect_sums(const PackedCodes& packed, const std::vector<uint64_t>& values, uint64_t first, uint64_t count) {
  std::vector<T> sums(count);
  const T reference = -5;
  const uint32_t done = unpack_eights(packed, first, static_cast<uint32_t>(count), reference, sums.data());
  ASSERT_LE(done, count);
  for (uint64_t i = 0; i < done; ++i) ASSERT_EQ(sums[i], static_cast<T>(values[first + i] - 5)) << packed.bits;
}

void expect_selection(const PackedCodes& packed, const std::vector<uint64_t>& values, uint32_t low, uint32_t span) {
  std::vector<uint64_t> words(selection_words(static_cast<uint32_t>(values.size())));
  for (uint32_t first = 0; first < values.size(); first += 128) {
    for (const uint32_t less : {0u, 70u}) {
      const uint32_t count =
          static_cast<uint32_t>(values.size()) - first - std::min(less, static_cast<uint32_t>(values.size()) - first);
      const uint32_t done = select_eights(packed, first, count, low, span, words.data() + first / 64);
      ASSERT_LE(done, count);
      ASSERT_EQ(done % 64, 0u);
      for (uint32_t i = first; i < first + done; ++i) {
        ASSERT_EQ((words[i / 64] >> (i % 64)) & 1, values[i] >= low && values[i] - low <= span ? 1u : 0u)
            << packed.bits;
      }
    }
  }
}

TEST(BitPackingTest, EightsAreAsOneByOne) {
  Random random(test_seed());
  for (uint32_t bits = 1; bits <= kMaxEightsBits; ++bits) {
    std::vector<uint64_t> values(1 + random.below(400));
    for (uint64_t& value : values) value = random.next() & ((uint64_t{1} << bits) - 1);
    std::vector<char> codes(packed_bytes(values.size(), bits));
    pack(values.data(), values.size(), bits, codes.data());
    const PackedCodes packed{codes.data(), values.size(), bits};
    for (int i = 0; i < 20; ++i) {
      const uint64_t first = random.below(values.size());
      const uint64_t count = random.below(values.size() - first + 1);
      expect_sums<int16_t>(packed, values, first, count);
      expect_sums<int32_t>(packed, values, first, count);
      expect_sums<int64_t>(packed, values, first, count);
      const auto low = static_cast<uint32_t>(values[random.below(values.size())]);
      expect_selection(packed, values, low, static_cast<uint32_t>(random.below((uint64_t{1} << bits) - low)));
    }
  }
}

TEST(BitPackingTest, EveryWidthFromEveryPlace) {
  Random random(test_seed());
  for (uint32_t bits = 0; bits <= kMaxPackedBits; ++bits) {
    std::vector<uint64_t> values(1 + random.below(300));
    for (uint64_t& value : values) value = random.next() & ((uint64_t{1} << bits) - 1);
    std::vector<char> codes(packed_bytes(values.size(), bits));
    pack(values.data(), values.size(), bits, codes.data());
    for (int i = 0; i < 20; ++i) {
      const uint64_t first = random.below(values.size());
      const uint64_t count = random.below(values.size() - first + 1);
      std::vector<uint64_t> wide(count);
      unpack(codes.data(), first, count, bits, wide.data());
      std::vector<uint32_t> narrow(count);
      if (bits <= 32) unpack(codes.data(), first, count, bits, narrow.data());
      for (uint64_t j = 0; j < count; ++j) {
        ASSERT_EQ(wide[j], values[first + j]) << bits;
        if (bits <= 32) ASSERT_EQ(narrow[j], values[first + j]) << bits;
        ASSERT_EQ(unpack_one(codes.data(), first + j, bits), values[first + j]);
      }
    }
  }
}

}  // namespace
}  // namespace scyper::storage
