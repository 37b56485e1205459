#include "row_key.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "storage/trailer.h"

namespace scyper::storage {
namespace {

// Writes below kMaxKeyBytes, counts everything.
struct BoundedKey {
  char* out;
  uint64_t size = 0;

  void append(const char* bytes, uint64_t count) {
    if (size + count <= kMaxKeyBytes) std::memcpy(out + size, bytes, count);
    size += count;
  }
};

uint32_t encode_plain_part(KeyForm form, const char* cell, char* out) {
  char* end = out;
  switch (form) {
    case KeyForm::kBool:
      end = put_key_integer(out, load_cell<uint8_t>(cell));
      break;
    case KeyForm::kInt16:
      end = put_key_integer(out, load_cell<uint16_t>(cell));
      break;
    case KeyForm::kInt32:
      end = put_key_integer(out, load_cell<uint32_t>(cell));
      break;
    case KeyForm::kInt64:
      end = put_key_integer(out, load_cell<uint64_t>(cell));
      break;
    case KeyForm::kInt128:
      end = put_key_integer(out, load_cell<unsigned __int128>(cell));
      break;
    case KeyForm::kFloat64:
      end = put_key_float8(out, load_cell<double>(cell));
      break;
    case KeyForm::kDecimal:
      end = put_key_decimal(out, load_cell<__int128>(cell), load_cell<int32_t>(cell + 16));
      break;
    default:
      break;
  }
  return static_cast<uint32_t>(end - out);
}

}  // namespace

RowKey encode_row_key_general(const IndexPlan& plan, const char* chunk, uint32_t offset, Tid tid, char* out) noexcept {
  if (plan.partial && is_null(plan.parts[0].access, chunk, offset)) return {0, true, false};
  BoundedKey key{out};
  bool with_tid = !plan.unique;
  char buffer[kMaxDecimalKeyBytes] = {};
  for (const KeyPart& part : plan.parts) {
    const uint64_t start = key.size;
    const bool null = is_null(part.access, chunk, offset);
    if (part.access.null_offset != 0) {
      buffer[0] = null ? 1 : 0;
      key.append(buffer, 1);
    }
    const char* cell = cell_of(part.access, chunk, offset);
    if (null) {
      with_tid = true;
      std::memset(buffer, 0, part.value_bytes);
      key.append(buffer, part.value_bytes);
    } else if (part.form == KeyForm::kBytea || part.form == KeyForm::kTrailed) {
      const StringRef ref = read_string(part.access.kind, cell);
      const std::string_view whole(ref.data, ref.size);
      const std::string_view bytes = part.form == KeyForm::kTrailed ? ordered_part(whole) : whole;
      for (const char& byte : bytes) key.append(byte == 0 ? "\0\xff" : &byte, byte == 0 ? 2 : 1);
      key.append("\0", 2);
    } else if (part.form >= KeyForm::kString) {
      StringRef text = read_string(part.access.kind, cell);
      if (part.form == KeyForm::kPadded) text = trim_blanks(text);
      key.append(text.data, text.size);
      buffer[0] = 0;
      key.append(buffer, 1);
    } else {
      key.append(buffer, encode_plain_part(part.form, cell, buffer));
    }
    if (part.descending) {
      for (uint64_t i = start; i < std::min<uint64_t>(key.size, kMaxKeyBytes); ++i) out[i] = static_cast<char>(~out[i]);
    }
  }
  if (key.size > kMaxKeyBytes) return {static_cast<uint32_t>(std::min<uint64_t>(key.size, UINT32_MAX)), with_tid, true};
  if (with_tid) key.size = static_cast<uint64_t>(put_key_tid(out + key.size, tid) - out);
  return {static_cast<uint32_t>(key.size), with_tid, false};
}

}  // namespace scyper::storage
