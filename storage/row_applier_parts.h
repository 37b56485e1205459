#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "row_change_format.h"
#include "storage/row_apply.h"

// What RowApplier is made of, for the sources that apply and that only check.
namespace scyper::storage {

inline Status damaged_redo(const char* what) { return sql_error("XX001", std::string("damaged redo record: ") + what); }

// The bytes that are left. Remembers its first failure: what is read after it is zero.
struct RowApplier::Input {
  const char* at;
  const char* end;
  bool ok = true;
  const char* damage = nullptr;  // what is wrong, when nullptr or kNoTid was returned for it
  std::vector<std::unique_ptr<std::vector<Datum>>> elements;  // of arrays
  Status unreadable = {};                                     // rather than damage: what the tier says

  size_t left() const { return static_cast<size_t>(end - at); }
  uint64_t varint() {
    if (at < end) [[likely]] {
      const auto first = static_cast<uint8_t>(*at);
      if (first < 0x80) {
        ++at;
        return first;
      }
    }
    uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at++);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    ok = false;
    return 0;
  }
  int64_t signed64() {
    const uint64_t bits = varint();
    return static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
  }
  const char* bytes(uint64_t size) {
    if (size > left()) {
      ok = false;
      return nullptr;
    }
    return std::exchange(at, at + size);
  }
  StringRef string() {
    const uint64_t size = varint();
    const char* text = bytes(size);
    return {text, ok ? size : 0};
  }
  Datum value(const SqlType& type);
  ArrayValue array(const SqlType& type);
};

// How values of fixed width get into their cells: those whose cells hold the same bytes, without NULL, by width, so
// that each takes a load and a store; then the rest.
struct RowApplier::Moves {
  struct Move {
    uint64_t cell;  // of the chunk's first tuple
    uint32_t stride;
    uint32_t at;
  };
  std::vector<Move> of2, of4, of8, of16;
  std::vector<RowValues::Column> rest;

  explicit Moves(const RowValues& values) {
    for (const RowValues::Column& column : values.fixed) {
      const ColumnAccess& access = column.access;
      std::vector<Move>* moves = column.bytes == 2    ? &of2
                                 : column.bytes == 4  ? &of4
                                 : column.bytes == 8  ? &of8
                                 : column.bytes == 16 ? &of16
                                                      : nullptr;
      const bool is_plain =
          access.null_offset == 0 && access.kind != CellKind::kBool && access.kind != CellKind::kDecimal;
      if (is_plain && moves != nullptr) {
        moves->push_back({access.value_offset, static_cast<uint32_t>(access.value_stride), column.at});
      } else {
        rest.push_back(column);
      }
    }
  }

  template <typename T>
  static void run(const std::vector<Move>& moves, const char* base, char* chunk, uint32_t offset) {
    for (const Move& move : moves) {
      save_cell(chunk + move.cell + uint64_t{offset} * move.stride, load_cell<T>(base + move.at));
    }
  }
  void run(const char* base, char* chunk, uint32_t offset) const {
    run<uint64_t>(of8, base, chunk, offset);
    run<uint32_t>(of4, base, chunk, offset);
    run<uint16_t>(of2, base, chunk, offset);
    run<unsigned __int128>(of16, base, chunk, offset);
  }
};

// Updates of one set of columns.
struct RowApplier::UpdatePlan {
  std::string prefix;  // kind, table, columns: as the record begins
  RowValues values;
  std::unique_ptr<Moves> moves;
  uint32_t affected = 0;  // bit i: index i has one of the columns
};

// What is worked out once per table.
struct RowApplier::Target {
  Table* table = nullptr;
  const RowPlan* plan = nullptr;
  std::unique_ptr<Moves> moves;  // of whole rows
  bool is_shared = false;
  uint32_t key_index = 0;  // the primary key's
  bool has_key = false;
  bool has_simple_key = false;            // fixed width, no NULLs, all ascending
  std::vector<uint32_t> affected;         // by column: bit i = index i has it
  std::unique_ptr<KeyFormat> key_format;  // of keys that are not simple
  std::vector<std::unique_ptr<UpdatePlan>> updates;
  // Tables without primary key: where the rows are, per partition. Filled by the first change that needs it.
  std::vector<std::unordered_map<uint64_t, Tid>> row_ids;
  std::vector<bool> has_row_ids;
};

}  // namespace scyper::storage
