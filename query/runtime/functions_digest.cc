#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/function_body.h"
#include "types/binary.h"
#include "types/md5.h"

// digest() and hmac(), as pgcrypto has them. Sources: FIPS 180-4 (SHA-1), RFC 2104 (HMAC).
namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_binary.cc).
extern const ir::External k_fn_digest;
extern const ir::External k_fn_hmac;

namespace {

void add_sha1_block(const char* block, uint32_t (*state)[5]) {
  constexpr int kRounds = 80, kWords = 16;
  uint32_t words[kRounds];
  for (int i = 0; i < kWords; i++) {
    std::memcpy(&words[i], block + 4 * i, 4);
    words[i] = __builtin_bswap32(words[i]);
  }
  for (int i = kWords; i < kRounds; i++)
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  uint32_t a = (*state)[0], b = (*state)[1], c = (*state)[2], d = (*state)[3], e = (*state)[4];
  for (int i = 0; i < kRounds; i++) {
    const uint32_t mixed = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999u
                           : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1u
                           : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu
                                    : (b ^ c ^ d) + 0xca62c1d6u;
    const uint32_t next = std::rotl(a, 5) + mixed + e + words[i];
    e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
  }
  (*state)[0] += a, (*state)[1] += b, (*state)[2] += c, (*state)[3] += d, (*state)[4] += e;
}

std::string sha1(std::string_view bytes) {
  constexpr size_t kBlock = 64;
  uint32_t state[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
  std::string padded(bytes);
  padded += '\x80';
  while (padded.size() % kBlock != kBlock - 8) padded += '\0';
  const uint64_t bits = __builtin_bswap64(uint64_t{bytes.size()} * 8);
  padded.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  for (size_t at = 0; at < padded.size(); at += kBlock) add_sha1_block(padded.data() + at, &state);
  for (uint32_t& word : state) word = __builtin_bswap32(word);
  return {reinterpret_cast<const char*>(state), sizeof(state)};
}

std::string md5(std::string_view bytes) {
  const std::string hex = md5_hex(bytes);
  std::string out;
  const auto digit = [&](size_t i) { return hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10; };
  for (size_t i = 0; i < hex.size(); i += 2) out += static_cast<char>(digit(i) * 16 + digit(i + 1));
  return out;
}

struct Algorithm {
  std::string_view name;
  std::string (*run)(std::string_view);
  size_t block_bytes;
};
constexpr Algorithm kAlgorithms[] = {
    {"md5", md5, 64},
    {"sha1", sha1, 64},
    {"sha224", [](std::string_view bytes) { return sha2(bytes, 224); }, 64},
    {"sha256", [](std::string_view bytes) { return sha2(bytes, 256); }, 64},
    {"sha384", [](std::string_view bytes) { return sha2(bytes, 384); }, 128},
    {"sha512", [](std::string_view bytes) { return sha2(bytes, 512); }, 128},
};

std::string lower_name(std::string_view name) {
  std::string lower;
  for (char letter : name) lower += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
  return lower;
}

const Algorithm* algorithm_of(const Datum& name) {
  for (const Algorithm& known : kAlgorithms)
    if (known.name == lower_name(text_of(name))) return &known;
  return nullptr;
}

int32_t fail_algorithm(ExecContext* c, const Datum& name) {
  return c->fail("22023", "Cannot use \"" + lower_name(text_of(name)) + "\": No such hash algorithm");
}

std::string hmac_of(const Algorithm& algorithm, std::string_view bytes, std::string_view given) {
  std::string key(given.size() > algorithm.block_bytes ? algorithm.run(given) : std::string(given));
  key.resize(algorithm.block_bytes);
  std::string inner = key, outer = key;
  for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
  for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5c);
  return algorithm.run(outer + algorithm.run(inner.append(bytes)));
}

extern "C" {

SCYPER_FUNCTION(digest) {
  const Algorithm* algorithm = algorithm_of(args[1]);
  if (algorithm == nullptr) return fail_algorithm(c, args[1]);
  return give_copy(c, out, algorithm->run(text_of(args[0])));
}
SCYPER_FUNCTION(hmac) {
  const Algorithm* algorithm = algorithm_of(args[2]);
  if (algorithm == nullptr) return fail_algorithm(c, args[2]);
  return give_copy(c, out, hmac_of(*algorithm, text_of(args[0]), text_of(args[1])));
}

}  // extern "C"
}  // namespace

SCYPER_DEFINE_FUNCTION(digest)
SCYPER_DEFINE_FUNCTION(hmac)

}  // namespace scyper::query
