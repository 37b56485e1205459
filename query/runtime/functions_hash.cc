#include <cstdint>
#include <cstring>

#include "runtime/function_body.h"

// hashtext() and hashtextextended(), with PostgreSQL's values: kits lock by them and spread rows over queues.
// Source: Bob Jenkins, lookup3 (public domain), as hash_bytes() of PostgreSQL has it on little-endian machines.
namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_sequence.cc).
extern const ir::External k_fn_hashtext;
extern const ir::External k_fn_hashtextextended;

namespace {

struct HashState {
  uint32_t a, b, c;

  static uint32_t rotate(uint32_t x, int by) { return (x << by) | (x >> (32 - by)); }
  void mix() {
    a -= c, a ^= rotate(c, 4), c += b;
    b -= a, b ^= rotate(a, 6), a += c;
    c -= b, c ^= rotate(b, 8), b += a;
    a -= c, a ^= rotate(c, 16), c += b;
    b -= a, b ^= rotate(a, 19), a += c;
    c -= b, c ^= rotate(b, 4), b += a;
  }
  void finish() {
    c ^= b, c -= rotate(b, 14);
    a ^= c, a -= rotate(c, 11);
    b ^= a, b -= rotate(a, 25);
    c ^= b, c -= rotate(b, 16);
    a ^= c, a -= rotate(c, 4);
    b ^= a, b -= rotate(a, 14);
    c ^= b, c -= rotate(b, 24);
  }
};

HashState hash_of(std::string_view text, uint64_t seed) {
  constexpr uint32_t kStart = 0x9e3779b9u + 3923095u;
  HashState h{};
  h.a = h.b = h.c = kStart + static_cast<uint32_t>(text.size());
  if (seed != 0) {
    h.a += static_cast<uint32_t>(seed >> 32);
    h.b += static_cast<uint32_t>(seed);
    h.mix();
  }
  constexpr size_t kRound = 12;
  uint32_t words[3];
  for (; text.size() >= kRound; text.remove_prefix(kRound)) {
    std::memcpy(words, text.data(), kRound);
    h.a += words[0], h.b += words[1], h.c += words[2];
    h.mix();
  }
  char rest[kRound] = {};  // its last word lies one byte higher: the lowest byte of c is the length's
  if (!text.empty()) std::memcpy(rest, text.data(), text.size());
  std::memcpy(words, rest, kRound);
  h.a += words[0], h.b += words[1], h.c += words[2] << 8;
  h.finish();
  return h;
}

extern "C" {

SCYPER_FUNCTION(hashtext) { return give(out, int64_t{static_cast<int32_t>(hash_of(text_of(args[0]), 0).c)}); }
SCYPER_FUNCTION(hashtextextended) {
  const HashState h = hash_of(text_of(args[0]), static_cast<uint64_t>(args[1].lo));
  return give(out, static_cast<int64_t>(uint64_t{h.b} << 32 | h.c));
}

}  // extern "C"
}  // namespace

SCYPER_DEFINE_FUNCTION(hashtext)
SCYPER_DEFINE_FUNCTION(hashtextextended)

}  // namespace scyper::query
