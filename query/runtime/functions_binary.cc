#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "query/text_converter.h"
#include "runtime/drawn_function.h"
#include "runtime/function_body.h"
#include "types/binary.h"
#include "types/digits.h"
#include "types/text.h"

// uuid and bytea.
namespace scyper::query {

namespace {

Status wrong_index(int64_t index, int64_t most) {
  return sql_error("2202E", "index " + std::to_string(index) + " out of valid range, 0.." + std::to_string(most));
}

// A copy that may be changed. nullptr: no room.
char* changeable(ExecContext* c, const Datum& bytes, Datum* out) {
  char* copy = c->scratch->allocate(bytes.size() + 1);
  if (copy == nullptr) return nullptr;
  if (bytes.size() > 0) std::memcpy(copy, bytes.data(), bytes.size());
  *out = string_datum(copy, bytes.size());
  return copy;
}

// substring()'s part: from counts from 1 and may lie before the start.
std::string_view part_of(std::string_view bytes, int64_t from, int64_t length) {
  int64_t size = static_cast<int64_t>(bytes.size());
  int64_t begin = std::clamp<int64_t>(from - 1, 0, size);
  int64_t end = std::clamp<int64_t>(from - 1 + length, begin, size);
  return bytes.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
}

int32_t trim_bytes(const Datum* args, bool left, bool right, Datum* out) {
  std::string_view bytes = text_of(args[0]), set = text_of(args[1]);
  auto is_cut = [&](char c) { return set.find(c) != std::string_view::npos; };
  while (left && !bytes.empty() && is_cut(bytes.front())) bytes.remove_prefix(1);
  while (right && !bytes.empty() && is_cut(bytes.back())) bytes.remove_suffix(1);
  return give(out, bytes);
}

StatusOr<const Encoding*> encoding_named(std::string_view name, bool is_source) {
  if (const Encoding* encoding = find_encoding(name); encoding != nullptr) return encoding;
  return sql_error("22023", std::string("invalid ") + (is_source ? "source" : "destination") + " encoding name \"" +
                                std::string(name) + "\"");
}

// From the encoding to UTF-8, or back. Of SQL_ASCII nothing is converted.
Status convert_text(std::string_view name, TextConverter::Direction direction, std::string_view text,
                    std::string* out) {
  const bool is_source = direction == TextConverter::Direction::kToUtf8;
  SCYPER_ASSIGN_OR_RETURN(const Encoding* encoding, encoding_named(name, is_source));
  if (encoding->number == kUtf8Encoding || encoding->number == kSqlAsciiEncoding) return *out = text, absl::OkStatus();
  const auto converter = TextConverter::make(*encoding, direction);
  if (converter != nullptr) return converter->append(text, out);
  const std::string known = "\"" + std::string(encoding->name) + "\"", utf8 = "\"UTF8\"";
  return sql_error("42883", "default conversion function for encoding " + (is_source ? known : utf8) + " to " +
                                (is_source ? utf8 : known) + " does not exist");
}

extern "C" {

SCYPER_FUNCTION(drawn_uuid) {
  uint8_t bytes[kUuidBytes];  // of the system: children of one process never draw the same
  if (getentropy(bytes, sizeof(bytes)) != 0) return c->fail("58000", "the system gives no random bytes");
  bytes[6] = static_cast<uint8_t>((bytes[6] & 0x0f) | 0x40);  // RFC 4122: version 4, variant 1
  bytes[8] = static_cast<uint8_t>((bytes[8] & 0x3f) | 0x80);
  return *out = datum_of_uuid(bytes), 0;
}
// Programs that call it are logged as row changes: what was drawn is in them.
SCYPER_FUNCTION(gen_random_uuid) {
  return drawn_call<&fn_drawn_uuid, TypeId::kUuid, kNoText>(c, args, count, out, types);
}
SCYPER_FUNCTION(encode) {
  std::string text;
  Status status = encode_bytes(text_of(args[0]), text_of(args[1]), &text);
  return status.ok() ? give_copy(c, out, text) : c->fail(status);
}
SCYPER_FUNCTION(decode) {
  std::string bytes;
  Status status = decode_bytes(text_of(args[0]), text_of(args[1]), &bytes);
  return status.ok() ? give_copy(c, out, bytes) : c->fail(status);
}
SCYPER_FUNCTION(get_byte) {
  int64_t size = static_cast<int64_t>(args[0].size()), at = args[1].lo;
  if (at < 0 || at >= size) return c->fail(wrong_index(at, size - 1));
  return give(out, int64_t{static_cast<uint8_t>(args[0].data()[at])});
}
SCYPER_FUNCTION(set_byte) {
  int64_t size = static_cast<int64_t>(args[0].size()), at = args[1].lo;
  if (at < 0 || at >= size) return c->fail(wrong_index(at, size - 1));
  char* bytes = changeable(c, args[0], out);
  if (bytes == nullptr) return fail_memory(c);
  bytes[at] = static_cast<char>(args[2].lo);
  return 0;
}
SCYPER_FUNCTION(get_bit) {
  int64_t bits = static_cast<int64_t>(args[0].size()) * 8, at = args[1].lo;
  if (at < 0 || at >= bits) return c->fail(wrong_index(at, bits - 1));
  return give(out, int64_t{static_cast<uint8_t>(args[0].data()[at / 8]) >> (at % 8) & 1});
}
SCYPER_FUNCTION(set_bit) {
  int64_t bits = static_cast<int64_t>(args[0].size()) * 8, at = args[1].lo;
  if (at < 0 || at >= bits) return c->fail(wrong_index(at, bits - 1));
  if (args[2].lo != 0 && args[2].lo != 1) return c->fail("22023", "new bit must be 0 or 1");
  char* bytes = changeable(c, args[0], out);
  if (bytes == nullptr) return fail_memory(c);
  int mask = 1 << (at % 8);
  bytes[at / 8] = static_cast<char>(args[2].lo != 0 ? bytes[at / 8] | mask : bytes[at / 8] & ~mask);
  return 0;
}
SCYPER_FUNCTION(sha224) { return give_copy(c, out, sha2(text_of(args[0]), 224)); }
SCYPER_FUNCTION(sha256) { return give_copy(c, out, sha2(text_of(args[0]), 256)); }
SCYPER_FUNCTION(sha384) { return give_copy(c, out, sha2(text_of(args[0]), 384)); }
SCYPER_FUNCTION(sha512) { return give_copy(c, out, sha2(text_of(args[0]), 512)); }
SCYPER_FUNCTION(substring_bytea) {
  int64_t length = count > 2 ? args[2].lo : INT32_MAX;
  if (length < 0) return done(c, ValueError::kNegativeSubstringLength);
  return give(out, part_of(text_of(args[0]), args[1].lo, count > 2 ? length : int64_t{1} << 40));
}
SCYPER_FUNCTION(overlay_bytea) {
  int64_t from = args[2].lo, length = count > 3 ? args[3].lo : static_cast<int64_t>(args[1].size());
  if (from <= 0) return done(c, ValueError::kNegativeSubstringLength);
  std::string bytes(part_of(text_of(args[0]), 1, from - 1));
  bytes += text_of(args[1]);
  bytes += part_of(text_of(args[0]), from + length, int64_t{1} << 40);
  return give_copy(c, out, bytes);
}
SCYPER_FUNCTION(position_bytea) {
  size_t at = text_of(args[0]).find(text_of(args[1]));
  return give(out, at == std::string_view::npos ? int64_t{0} : static_cast<int64_t>(at) + 1);
}
SCYPER_FUNCTION(trim_bytea) { return trim_bytes(args, true, true, out); }
SCYPER_FUNCTION(trim_left_bytea) { return trim_bytes(args, true, false, out); }
SCYPER_FUNCTION(trim_right_bytea) { return trim_bytes(args, false, true, out); }
SCYPER_FUNCTION(bit_count) {
  int64_t bits = 0;
  for (char byte : text_of(args[0])) bits += std::popcount(static_cast<uint8_t>(byte));
  return give(out, bits);
}
SCYPER_FUNCTION(convert_from) {
  std::string text;
  Status status = convert_text(text_of(args[1]), TextConverter::Direction::kToUtf8, text_of(args[0]), &text);
  if (!status.ok()) return c->fail(status);
  std::string_view wrong;
  const ValueError error = utf8_check(text, &wrong);
  return error == ValueError::kNone ? give_copy(c, out, text) : done(c, error, wrong);
}
SCYPER_FUNCTION(convert_to) {
  std::string bytes;
  Status status = convert_text(text_of(args[1]), TextConverter::Direction::kFromUtf8, text_of(args[0]), &bytes);
  return status.ok() ? give_copy(c, out, bytes) : c->fail(status);
}

}  // extern "C"

}  // namespace

SCYPER_BINARY_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
