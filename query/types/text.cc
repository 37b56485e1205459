#include "types/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/bounded_work.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

// Where `part` (not empty) begins in `text`, npos = nowhere. Sixteen places at once are looked at for its first and its
// last byte (Mula, "SIMD-friendly algorithms for substring searching"); texts too short for that go to memmem. So does
// the rest of a text where many places were looked at in vain: memmem's time is linear in the worst case, too.
size_t find_bytes(std::string_view text, std::string_view part) noexcept {
#ifdef __SSE2__
  constexpr size_t kLanes = 16;
  // A comparison in vain may look at all of the part: so much for the text that has been passed, then memmem.
  constexpr size_t kFreeBytes = 4096, kBytesPerByte = 4;
  const size_t behind = part.size() - 1;
  size_t start = 0, in_vain_bytes = 0;
  if (text.size() >= behind + kLanes) {
    const __m128i first = _mm_set1_epi8(part.front());
    const __m128i last = _mm_set1_epi8(part.back());
    const size_t final_start = text.size() - behind - kLanes;
    for (size_t at = 0;; at = std::min(at + kLanes, final_start)) {
      const char* block = text.data() + at;
      const __m128i starts = _mm_cmpeq_epi8(first, _mm_loadu_si128(reinterpret_cast<const __m128i*>(block)));
      const __m128i ends = _mm_cmpeq_epi8(last, _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + behind)));
      auto places = static_cast<uint32_t>(_mm_movemask_epi8(_mm_and_si128(starts, ends)));
      for (; places != 0; places &= places - 1) {
        const auto place = static_cast<size_t>(std::countr_zero(places));
        if (std::memcmp(block + place, part.data(), part.size()) == 0) return at + place;
        in_vain_bytes += part.size();
      }
      if (at == final_start) return std::string_view::npos;
      if (in_vain_bytes > kFreeBytes + kBytesPerByte * at) {
        start = at;
        break;
      }
    }
  }
#else
  const size_t start = 0;
#endif
  const void* found = memmem(text.data() + start, text.size() - start, part.data(), part.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

constexpr size_t kStringBytesMax = 0x3fffffff - 4;  // PostgreSQL's: 1 GB less headers
constexpr uint64_t kHighBits = 0x8080808080808080u;

uint64_t load_word(const char* p) noexcept {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

ValueError allocate(const TextArena& arena, size_t size, char** out) noexcept {
  if (size > kStringBytesMax) return ValueError::kLengthTooLarge;
  *out = arena.allocate(size);
  return *out == nullptr ? ValueError::kOutOfMemory : ValueError::kNone;
}

// Where text's last character starts; text is not empty.
size_t last_character(std::string_view text) noexcept {
  size_t start = text.size() - 1;
  while (start > 0 && is_continuation(text[start])) --start;
  return start;
}

// The characters that trim() cuts off. ASCII ones are looked up in a map. Others are searched, so a set with many of
// them ends early once the work has to end.
class CharacterSet {
 public:
  explicit CharacterSet(std::string_view characters) noexcept : characters_(characters) {
    for (char c : characters) {
      if (is_ascii(c)) ascii_[static_cast<uint8_t>(c)] = true;
    }
  }
  bool has(std::string_view character) const noexcept {
    if (is_ascii(character[0])) return ascii_[static_cast<uint8_t>(character[0])];
    return !(characters_.size() > kLongSet && work_must_end()) && find_bytes(characters_, character) != npos;
  }

 private:
  static constexpr size_t kLongSet = 4096, npos = std::string_view::npos;
  static bool is_ascii(char c) noexcept { return static_cast<uint8_t>(c) < 0x80; }

  std::string_view characters_;
  std::array<bool, 0x80> ascii_{};
};

template <typename Map>
ValueError map_bytes(std::string_view text, const TextArena& arena, std::string_view* out, Map map) noexcept {
  char* bytes;
  if (ValueError error = allocate(arena, text.size(), &bytes); error != ValueError::kNone) return error;
  for (size_t i = 0; i < text.size(); ++i) bytes[i] = map(text[i]);
  *out = {bytes, text.size()};
  return ValueError::kNone;
}

// Bytes of the valid character at p, 0 when it is not valid.
size_t valid_character_size(const uint8_t* p, size_t size) noexcept {
  uint8_t first = p[0];
  if (first < 0x80) return first == 0 ? 0 : 1;
  size_t need = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (need == 0 || need > size) return 0;
  for (size_t i = 1; i < need; ++i) {
    if ((p[i] & 0xc0) != 0x80) return 0;
  }
  // overlong forms, surrogates, beyond U+10FFFF
  if ((first == 0xe0 && p[1] < 0xa0) || (first == 0xed && p[1] > 0x9f)) return 0;
  if ((first == 0xf0 && p[1] < 0x90) || (first == 0xf4 && p[1] > 0x8f)) return 0;
  return need;
}

struct Padding {
  std::string_view kept;   // of the text
  std::string_view whole;  // fill, repeated this many times
  size_t times = 0;
  std::string_view rest;  // and then cut
  size_t size() const noexcept { return kept.size() + whole.size() * times + rest.size(); }
};

ValueError plan_padding(std::string_view text, int32_t length, std::string_view fill, Padding* out) noexcept {
  constexpr int32_t kCharactersMax = 268435454;  // PostgreSQL reserves four bytes for each
  if (length > kCharactersMax) return ValueError::kLengthTooLarge;
  size_t wanted = length < 0 ? 0 : static_cast<size_t>(length);
  size_t present = character_count(text);
  out->kept = text.substr(0, prefix_size(text, wanted));
  if (present >= wanted || fill.empty()) return ValueError::kNone;
  size_t fill_count = character_count(fill);
  out->whole = fill;
  out->times = (wanted - present) / fill_count;
  out->rest = fill.substr(0, prefix_size(fill, (wanted - present) % fill_count));
  return ValueError::kNone;
}

char* append(char* out, std::string_view text) noexcept {
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

char* append_fill(char* out, const Padding& padding) noexcept {
  for (size_t i = 0; i < padding.times; ++i) out = append(out, padding.whole);
  return append(out, padding.rest);
}

}  // namespace

size_t find_text(std::string_view text, std::string_view part, size_t from) noexcept {
  const size_t at = find_bytes(text.substr(from), part);
  return at == std::string_view::npos ? at : from + at;
}

ValueError utf8_check(std::string_view text, std::string_view* wrong) noexcept {
  size_t i = 0;
  while (i < text.size()) {
    if (i + 8 <= text.size()) {
      uint64_t word = load_word(text.data() + i);
      bool has_zero = ((word - 0x0101010101010101u) & ~word & kHighBits) != 0;
      if ((word & kHighBits) == 0 && !has_zero) {
        i += 8;
        continue;
      }
    }
    size_t size = valid_character_size(reinterpret_cast<const uint8_t*>(text.data()) + i, text.size() - i);
    if (size == 0) {
      if (wrong != nullptr) *wrong = text.substr(i);
      return ValueError::kInvalidUtf8;
    }
    i += size;
  }
  return ValueError::kNone;
}

size_t character_count(std::string_view text) noexcept {
  size_t continuations = 0, i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word = load_word(text.data() + i);
    if ((word & kHighBits) == 0) continue;
    continuations += static_cast<size_t>(std::popcount(word & kHighBits & ~(word << 1)));  // top bits 10
  }
  for (; i < text.size(); ++i) continuations += is_continuation(text[i]) ? 1 : 0;
  return text.size() - continuations;
}

uint64_t text_hash(std::string_view text) noexcept {
  uint64_t hash = 0x9E3779B97F4A7C15u ^ text.size();
  auto mix = [&hash](uint64_t word) {
    unsigned __int128 product = static_cast<unsigned __int128>(hash ^ word) * 0xD6E8FEB86659FD93u;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) mix(load_word(text.data() + i));
  uint64_t rest = 0;
  if (i < text.size()) std::memcpy(&rest, text.data() + i, text.size() - i);
  mix(rest);
  mix(0xA0761D6478BD642Fu);
  return hash;
}

ValueError varchar_cast(std::string_view text, int32_t length, bool is_explicit, std::string_view* out) noexcept {
  *out = text;
  if (length < 0 || text.size() <= static_cast<size_t>(length)) return ValueError::kNone;
  size_t size = prefix_size(text, static_cast<size_t>(length));
  *out = text.substr(0, size);
  bool cuts_blanks_only = trim_blanks(text).size() <= size;
  return is_explicit || cuts_blanks_only ? ValueError::kNone : ValueError::kStringTooLong;
}

ValueError char_cast(std::string_view text, int32_t length, bool is_explicit, const TextArena& arena,
                     std::string_view* out) noexcept {
  if (ValueError error = varchar_cast(text, length, is_explicit, out); error != ValueError::kNone) return error;
  size_t present = character_count(*out);
  if (length < 0 || present >= static_cast<size_t>(length)) return ValueError::kNone;
  size_t blanks = static_cast<size_t>(length) - present;
  char* bytes;
  if (ValueError error = allocate(arena, out->size() + blanks, &bytes); error != ValueError::kNone) return error;
  std::memset(append(bytes, *out), ' ', blanks);
  *out = {bytes, out->size() + blanks};
  return ValueError::kNone;
}

std::string_view substring_from(std::string_view text, int32_t start) noexcept {
  return start <= 1 ? text : text.substr(prefix_size(text, static_cast<size_t>(start) - 1));
}

ValueError substring(std::string_view text, int32_t start, int32_t length, std::string_view* out) noexcept {
  if (length < 0) return ValueError::kNegativeSubstringLength;
  int64_t end = int64_t{start} + length;  // the first position behind
  int64_t first = start < 1 ? 1 : start;
  *out = end <= first
             ? std::string_view(text.data(), 0)
             : left(substring_from(text, start), static_cast<int32_t>(std::min<int64_t>(end - first, INT32_MAX)));
  return ValueError::kNone;
}

std::string_view right(std::string_view text, int32_t count) noexcept {
  int64_t total = static_cast<int64_t>(character_count(text));
  int64_t skipped = count < 0 ? -int64_t{count} : std::max<int64_t>(total - count, 0);
  return text.substr(prefix_size(text, static_cast<size_t>(skipped)));
}

int32_t position(std::string_view text, std::string_view part) noexcept {
  if (part.empty()) return 1;
  const size_t offset = find_bytes(text, part);
  if (offset == std::string_view::npos) return 0;
  return static_cast<int32_t>(character_count(text.substr(0, offset)) + 1);
}

std::string_view trim_left(std::string_view text, std::string_view characters) noexcept {
  const CharacterSet set(characters);
  while (!text.empty() && set.has(text.substr(0, character_size(text[0])))) {
    text.remove_prefix(std::min(character_size(text[0]), text.size()));
  }
  return text;
}

std::string_view trim_right(std::string_view text, std::string_view characters) noexcept {
  const CharacterSet set(characters);
  while (!text.empty()) {
    size_t last = last_character(text);
    if (!set.has(text.substr(last))) break;
    text = text.substr(0, last);
  }
  return text;
}

ValueError upper(std::string_view text, const TextArena& arena, std::string_view* out) noexcept {
  return map_bytes(text, arena, out, to_upper);
}

ValueError lower(std::string_view text, const TextArena& arena, std::string_view* out) noexcept {
  return map_bytes(text, arena, out, to_lower);
}

ValueError pad_left(std::string_view text, int32_t length, std::string_view fill, const TextArena& arena,
                    std::string_view* out) noexcept {
  Padding padding;
  char* bytes;
  if (ValueError error = plan_padding(text, length, fill, &padding); error != ValueError::kNone) return error;
  if (ValueError error = allocate(arena, padding.size(), &bytes); error != ValueError::kNone) return error;
  char* end = append(append_fill(bytes, padding), padding.kept);
  *out = {bytes, static_cast<size_t>(end - bytes)};
  return ValueError::kNone;
}

ValueError pad_right(std::string_view text, int32_t length, std::string_view fill, const TextArena& arena,
                     std::string_view* out) noexcept {
  Padding padding;
  char* bytes;
  if (ValueError error = plan_padding(text, length, fill, &padding); error != ValueError::kNone) return error;
  if (ValueError error = allocate(arena, padding.size(), &bytes); error != ValueError::kNone) return error;
  char* end = append_fill(append(bytes, padding.kept), padding);
  *out = {bytes, static_cast<size_t>(end - bytes)};
  return ValueError::kNone;
}

ValueError replace(std::string_view text, std::string_view from, std::string_view to, const TextArena& arena,
                   std::string_view* out) noexcept {
  *out = text;
  size_t matches = 0;
  if (from.empty()) return ValueError::kNone;
  for (size_t at = find_text(text, from, 0); at != std::string_view::npos; at = find_text(text, from, at + from.size()))
    ++matches;
  if (matches == 0) return ValueError::kNone;
  size_t size = text.size() - matches * from.size() + matches * to.size();
  char* bytes;
  if (ValueError error = allocate(arena, size, &bytes); error != ValueError::kNone) return error;
  char* end = bytes;
  size_t done = 0;
  for (; matches > 0; --matches) {
    size_t at = find_text(text, from, done);
    end = append(append(end, text.substr(done, at - done)), to);
    done = at + from.size();
  }
  append(end, text.substr(done));
  *out = {bytes, size};
  return ValueError::kNone;
}

ValueError repeat(std::string_view text, int32_t count, const TextArena& arena, std::string_view* out) noexcept {
  size_t times = count < 0 ? 0 : static_cast<size_t>(count);
  char* bytes;
  if (ValueError error = allocate(arena, text.size() * times, &bytes); error != ValueError::kNone) return error;
  char* end = bytes;
  for (size_t i = 0; i < times; ++i) end = append(end, text);
  *out = {bytes, text.size() * times};
  return ValueError::kNone;
}

ValueError reverse(std::string_view text, const TextArena& arena, std::string_view* out) noexcept {
  char* bytes;
  if (ValueError error = allocate(arena, text.size(), &bytes); error != ValueError::kNone) return error;
  char* end = bytes;
  for (std::string_view rest = text; !rest.empty();) {
    size_t last = last_character(rest);
    end = append(end, rest.substr(last));
    rest = rest.substr(0, last);
  }
  *out = {bytes, text.size()};
  return ValueError::kNone;
}

ValueError concatenate(const std::string_view* parts, size_t count, const TextArena& arena,
                       std::string_view* out) noexcept {
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) size += parts[i].size();
  char* bytes;
  if (ValueError error = allocate(arena, size, &bytes); error != ValueError::kNone) return error;
  char* end = bytes;
  for (size_t i = 0; i < count; ++i) end = append(end, parts[i]);
  *out = {bytes, size};
  return ValueError::kNone;
}

int32_t first_code_point(std::string_view text) noexcept {
  if (text.empty()) return 0;
  auto byte = [&text](size_t i) { return static_cast<int32_t>(static_cast<uint8_t>(text[i])); };
  switch (std::min(character_size(text[0]), text.size())) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    case 3:
      return (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    default:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
  }
}

ValueError character_of(int32_t code_point, char* out, size_t* size) noexcept {
  if (code_point < 0) return ValueError::kNegativeCharacter;
  if (code_point == 0) return ValueError::kNullCharacter;
  if (code_point > 0x10ffff) return ValueError::kCharacterTooLarge;
  if (code_point >= 0xd800 && code_point <= 0xdfff) return ValueError::kCharacterInvalid;
  *size = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  if (*size == 1) {
    out[0] = static_cast<char>(code_point);
    return ValueError::kNone;
  }
  for (size_t i = *size - 1; i > 0; --i) {
    out[i] = static_cast<char>(0x80 | (code_point & 0x3f));
    code_point >>= 6;
  }
  constexpr int kLead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  out[0] = static_cast<char>(kLead[*size] | code_point);
  return ValueError::kNone;
}

ValueError split_part(std::string_view text, std::string_view delimiter, int32_t field,
                      std::string_view* out) noexcept {
  if (field == 0) return ValueError::kFieldPositionZero;
  *out = text.substr(0, 0);
  if (text.empty()) return ValueError::kNone;
  if (delimiter.empty()) {
    if (field == 1 || field == -1) *out = text;
    return ValueError::kNone;
  }
  int64_t fields = 1;
  if (field < 0) {
    for (size_t at = find_text(text, delimiter, 0); at != std::string_view::npos;
         at = find_text(text, delimiter, at + delimiter.size())) {
      ++fields;
    }
  }
  int64_t wanted = field > 0 ? field : fields + field + 1;
  size_t start = 0;
  for (int64_t i = 1; i < wanted; ++i) {
    size_t at = find_text(text, delimiter, start);
    if (at == std::string_view::npos) return ValueError::kNone;
    start = at + delimiter.size();
  }
  if (wanted >= 1) *out = text.substr(start, std::min(find_text(text, delimiter, start), text.size()) - start);
  return ValueError::kNone;
}

}  // namespace scyper::query
