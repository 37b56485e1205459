#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "storage/cell.h"
#include "storage/schema.h"

namespace scyper::storage {

class RelationDictionary;

// How the entries of a frozen vector are held. Entries are its positions, or its runs (FrozenHeader::has_runs).
enum class FrozenScheme : uint8_t {
  kPlain,       // as in a hot chunk; texts: their ends, then their bytes
  kConstant,    // all the same
  kPacked,      // frame of reference: value - reference, bit-packed
  kDictionary,  // distinct values in SQL order; their numbers, bit-packed
};
constexpr uint32_t kFrozenSchemes = 4;

enum class NullForm : uint8_t { kNone, kAll, kRanges, kBits };

// At the start of a vector's image. All *_at count from it; an image has no pointers, so that it may be moved and
// stored. docs/compaction.md has a worked example.
struct FrozenHeader {
  FrozenScheme scheme;
  CellKind kind;
  TypeId type;
  NullForm null_form;
  uint8_t code_bits;  // packed, dictionary
  uint8_t has_runs;
  uint8_t has_shared_text;  // the values are keys of the relation's dictionary
  uint8_t has_bounds;       // min, max
  uint8_t has_sum;
  uint8_t slot_bits;  // leading ones of a code: codes are looked up by position (position_slots()); 0: they are not
  uint8_t padding[2];
  int32_t scale;
  uint32_t cell_bytes;
  uint32_t count;        // positions; at most kChunkTuples
  uint32_t entries;      // positions or runs
  uint32_t values;       // distinct ones of a dictionary, texts of a plain vector, 1 of a constant
  uint32_t null_count;   // positions that are NULL
  uint32_t null_ranges;  // uint16 pairs [begin, end) at nulls_at
  uint32_t bytes;        // of the image, a multiple of 8
  uint32_t nulls_at;
  uint32_t run_ends_at;  // uint16[entries]: position behind each run
  uint32_t codes_at;     // before it uint16[2 << slot_bits]: entries [begin, end) where codes of each slot lie
  uint32_t values_at;    // cells; texts: uint32[values + 1] borders, then the bytes; shared texts: uint32[values] keys
  // Integers of 128 bits, low half first. Of numbers: of all that are not NULL (doubles as order_key()); of texts: min
  // and max are numbers of values. reference: packed and constant numbers.
  uint64_t reference[2];
  uint64_t min[2];
  uint64_t max[2];
  uint64_t sum[2];
};
static_assert(sizeof(FrozenHeader) == 128);

// A condition on one attribute. Bounds have the attribute's type and scale; a NULL bound is none.
struct FrozenPredicate {
  enum class Kind : uint8_t { kIsNull, kIsNotNull, kRange, kPrefix };
  Kind kind = Kind::kRange;
  bool low_included = true;
  bool high_included = true;
  Datum low;  // kPrefix: the bytes that a text begins with
  Datum high;

  static FrozenPredicate equal(const Datum& value) { return {Kind::kRange, true, true, value, value}; }
  static FrozenPredicate between(const Datum& low, const Datum& high) { return {Kind::kRange, true, true, low, high}; }
  static FrozenPredicate below(const Datum& high, bool included) { return {Kind::kRange, true, included, {}, high}; }
  static FrozenPredicate above(const Datum& low, bool included) { return {Kind::kRange, included, true, low, {}}; }
  static FrozenPredicate prefix(const Datum& bytes) { return {Kind::kPrefix, true, true, bytes, {}}; }
  static FrozenPredicate is_null(bool wanted) {
    return {wanted ? Kind::kIsNull : Kind::kIsNotNull, true, true, {}, {}};
  }
};

// A selection: a bit per position, lowest first.
constexpr uint32_t selection_words(uint32_t count) { return (count + 63) / 64; }
void clear_selection(uint64_t* selection, uint32_t begin, uint32_t end) noexcept;
void set_selection(uint64_t* selection, uint32_t begin, uint32_t end) noexcept;
// The selected positions in order; returns how many. positions: room for all of [0, count).
uint32_t selected_positions(const uint64_t* selection, uint32_t count, uint32_t* positions) noexcept;

// One attribute of a frozen chunk: reads an image, owns nothing.
// Threads: any; the image never changes. Fork: the child may call everything.
// Source: Funke et al., VLDB 2012, 3.4 (position-based run length, dictionary). We add frame of reference, small
// materialised aggregates (its section 6), dictionaries in the order of values within a vector, and the positional
// lookup of Lang et al., Data Blocks (SIGMOD 2016, 3.2), by leading bits of codes instead of bytes of values.
class FrozenVector {
 public:
  // dictionary: the relation's, where the vector has shared texts.
  explicit FrozenVector(const char* image, const RelationDictionary* dictionary = nullptr)
      : image_(image), dictionary_(dictionary) {}

  const FrozenHeader& header() const { return *reinterpret_cast<const FrozenHeader*>(image_); }
  uint32_t count() const { return header().count; }

  bool is_null(uint32_t position) const noexcept;
  // Texts point into the image or the dictionary.
  Datum get(uint32_t position) const noexcept;
  // Cells as they lie in a hot chunk of column layout, one after the other. Texts that do not fit point into the image
  // or the dictionary.
  // What a cell of a NULL holds, texts excepted (empty), is not defined.
  void decode(uint32_t first, uint32_t count, char* cells) const noexcept;
  // The same of one position.
  void decode_one(uint32_t position, char* cell) const noexcept;
  void decode_nulls(uint32_t first, uint32_t count, uint8_t* nulls) const noexcept;

  // Writes all words of the selection. False: cannot tell (unconstrained numerics, ranges of jsonb, doubles with
  // negative NaNs); the caller decodes.
  bool select(const FrozenPredicate& predicate, uint64_t* selection) const;
  // By the aggregates alone: no position qualifies, all that were valid when the chunk was frozen do. False: cannot
  // tell.
  bool can_skip(const FrozenPredicate& predicate) const;
  bool holds_for_all(const FrozenPredicate& predicate) const;

  // The aggregates of all positions that are not NULL, those that are invalid today included if they were valid when
  // the chunk was frozen. NULL: none.
  Datum min() const noexcept;
  Datum max() const noexcept;
  std::optional<__int128> sum() const noexcept;
  // Sum of [first, first + count) where nothing is NULL; integers and numerics of fixed scale.
  __int128 sum(uint32_t first, uint32_t count) const noexcept;

 private:
  friend class FrozenSelection;
  friend class ValueFetch;
  const char* at(uint32_t offset) const { return image_ + offset; }
  const uint16_t* run_ends() const { return reinterpret_cast<const uint16_t*>(at(header().run_ends_at)); }
  uint32_t entry_of(uint32_t position) const noexcept;
  __int128 number(uint32_t entry) const noexcept;
  template <typename T>
  T cell_of_entry(uint32_t entry) const noexcept;
  StringRef text(uint32_t value) const noexcept;
  uint32_t value_of(uint32_t entry) const noexcept;
  Datum bound(const uint64_t* words) const noexcept;
  template <typename T>
  void decode_entries(uint32_t first, uint32_t count, T* out) const noexcept;
  template <typename T>
  void decode_numbers(uint32_t first, uint32_t count, T* out) const noexcept;
  void decode_texts(uint32_t first, uint32_t count, char* cells) const noexcept;
  void decode_codes(uint32_t first, uint32_t count, uint32_t* codes) const noexcept;
  template <typename T>
  __int128 sum_of(uint32_t first, uint32_t count) const noexcept;

  const char* image_;
  const RelationDictionary* dictionary_;
};

// Doubles as integers in the order of IEEE 754's total order, and back.
inline int64_t order_key(int64_t bits) { return bits ^ static_cast<int64_t>(static_cast<uint64_t>(bits >> 63) >> 1); }

// All types but arrays can be frozen.
constexpr bool can_freeze(CellKind kind) { return kind != CellKind::kArray; }

// What a vector is made of: the cells and NULL bytes of a hot chunk, or of a buffer laid out like one.
struct FrozenSource {
  SqlType type;
  ColumnAccess access;
  const char* chunk;
  const char* live = nullptr;  // one byte per position; null: all are. The values of dead positions do not matter
  uint32_t count = 0;
};

struct FreezeOptions {
  RelationDictionary* dictionary = nullptr;  // for texts
  // Instead of the best: for tests and figures. The nearest that fits the values is taken.
  std::optional<FrozenScheme> scheme;
  std::optional<bool> runs;
};

// The image of a vector, in the scheme that is best by size and cost of a scan: one byte per value counts as much as
// one nanosecond per value. Appends to *out, which begins aligned to 8 bytes. Keys of the dictionary are acquired:
// release_frozen() gives them back.
void freeze_vector(const FrozenSource& source, const FreezeOptions& options, std::string* out);
void release_frozen(const FrozenVector& vector, RelationDictionary* dictionary);

const char* scheme_name(FrozenScheme scheme);

}  // namespace scyper::storage
