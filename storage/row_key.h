#pragma once

#include <cstdint>

#include "row_plan.h"
#include "storage/key.h"

namespace scyper::storage {

struct RowKey {
  uint32_t size;   // bytes written; 0: the index has no entry of this tuple; too_large: what it would take
  bool with_tid;   // the entry ends with the Tid
  bool too_large;  // over kMaxKeyBytes; written in part
};

// The index entry of a tuple (key.h), at `out` with kMaxIndexKeyBytes of room.
RowKey encode_row_key_general(const IndexPlan& plan, const char* chunk, uint32_t offset, Tid tid, char* out) noexcept;

inline RowKey encode_row_key(const IndexPlan& plan, const char* chunk, uint32_t offset, Tid tid, char* out) noexcept {
  if (!plan.simple) return encode_row_key_general(plan, chunk, offset, tid, out);
  char* end = out;
  for (const KeyPart& part : plan.parts) {
    const char* cell = cell_of(part.access, chunk, offset);
    switch (part.value_bytes) {
      case 4:
        end = put_key_integer(end, load_cell<uint32_t>(cell));
        break;
      case 2:
        end = put_key_integer(end, load_cell<uint16_t>(cell));
        break;
      case 8:
        end = put_key_integer(end, load_cell<uint64_t>(cell));
        break;
      case 1:
        end = put_key_integer(end, load_cell<uint8_t>(cell));
        break;
      default:
        end = put_key_integer(end, load_cell<unsigned __int128>(cell));
    }
  }
  if (!plan.unique) end = put_key_tid(end, tid);
  return {static_cast<uint32_t>(end - out), !plan.unique, false};
}

}  // namespace scyper::storage
