#include "postgres/scram.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/check.h"

namespace scyper::server::postgres {

namespace {

constexpr uint32_t kIterations = 4096, kIterationsMax = 10'000'000;  // PostgreSQL's, and what we wait for
constexpr size_t kSaltBytes = 16, kNonceBytes = 18, kClientNonceMax = 512;

Status malformed() { return sql_error("08P01", "malformed SCRAM message"); }

Sha256 hash_of(std::string_view text) {
  Sha256 hash;
  unsigned size = 0;
  CHECK(EVP_Digest(text.data(), text.size(), hash.data(), &size, EVP_sha256(), nullptr) == 1 && size == hash.size());
  return hash;
}

std::string_view view(const Sha256& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Sha256 hmac_of(std::string_view key, std::string_view text) {
  Sha256 code;
  unsigned size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const uint8_t*>(text.data()),
             text.size(), code.data(), &size) != nullptr);
  return code;
}

std::string to_base64(std::string_view bytes) { return absl::Base64Escape({bytes.data(), bytes.size()}); }

bool from_base64(std::string_view text, std::string* out) {
  return absl::Base64Unescape({text.data(), text.size()}, out);
}

bool from_base64(std::string_view text, Sha256* out) {
  std::string bytes;
  if (!from_base64(text, &bytes) || bytes.size() != out->size()) return false;
  std::copy(bytes.begin(), bytes.end(), out->begin());
  return true;
}

// What stands before `mark`, which is taken too.
bool take_until(std::string_view* text, char mark, std::string_view* part) {
  const size_t end = text->find(mark);
  if (end == std::string_view::npos) return false;
  *part = text->substr(0, end);
  text->remove_prefix(end + 1);
  return true;
}

// "r=value" up to a comma or the end.
bool take_attribute(std::string_view* text, char name, std::string_view* value) {
  if (text->size() < 2 || (*text)[0] != name || (*text)[1] != '=') return false;
  text->remove_prefix(2);
  const size_t end = std::min(text->find(','), text->size());
  *value = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return true;
}

ScramVerifier derive(std::string_view password, std::string salt, uint32_t iterations) {
  Sha256 salted;
  CHECK(PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()),
                          reinterpret_cast<const uint8_t*>(salt.data()), static_cast<int>(salt.size()),
                          static_cast<int>(iterations), EVP_sha256(), static_cast<int>(salted.size()),
                          salted.data()) == 1);
  ScramVerifier verifier;
  verifier.iterations = iterations;
  verifier.salt = std::move(salt);
  verifier.stored_key = hash_of(view(hmac_of(view(salted), "Client Key")));
  verifier.server_key = hmac_of(view(salted), "Server Key");
  return verifier;
}

}  // namespace

std::string random_bytes(size_t size) {
  std::string bytes(size, '\0');
  CHECK(RAND_bytes(reinterpret_cast<uint8_t*>(bytes.data()), static_cast<int>(size)) == 1);
  return bytes;
}

StatusOr<ScramVerifier> ScramVerifier::parse(std::string_view text) {
  ScramVerifier verifier;
  std::string_view mechanism, iterations, salt, stored_key;
  const bool is_cut = take_until(&text, '$', &mechanism) && take_until(&text, ':', &iterations) &&
                      take_until(&text, '$', &salt) && take_until(&text, ':', &stored_key);
  const auto [end, error] =
      std::from_chars(iterations.data(), iterations.data() + iterations.size(), verifier.iterations);
  if (!is_cut || mechanism != kScram || error != std::errc() || end != iterations.data() + iterations.size() ||
      verifier.iterations == 0 || verifier.iterations > kIterationsMax || !from_base64(salt, &verifier.salt) ||
      !from_base64(stored_key, &verifier.stored_key) || !from_base64(text, &verifier.server_key)) {
    return absl::InvalidArgumentError("not a SCRAM-SHA-256 verifier");
  }
  return verifier;
}

StatusOr<ScramVerifier> ScramVerifier::make(std::string_view password) {
  const bool is_printable = std::all_of(password.begin(), password.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (password.empty() || !is_printable) {
    return absl::InvalidArgumentError(
        "a password has printable ASCII characters only; give its SCRAM verifier instead");
  }
  return derive(password, random_bytes(kSaltBytes), kIterations);
}

ScramVerifier ScramVerifier::make_up(std::string_view user, std::string_view secret) {
  ScramVerifier verifier;
  verifier.iterations = kIterations;
  verifier.salt = std::string(view(hmac_of(secret, user)).substr(0, kSaltBytes));
  return verifier;
}

std::string ScramVerifier::text() const {
  return std::string(kScram) + "$" + std::to_string(iterations) + ":" + to_base64(salt) + "$" +
         to_base64(view(stored_key)) + ":" + to_base64(view(server_key));
}

StatusOr<std::string> scram_verifier_of(std::string_view password) {
  auto verifier = ScramVerifier::make(password);
  if (!verifier.ok())
    return with_hint(sql_error("0A000", "a password with other than printable ASCII characters is not supported"),
                     "Give its SCRAM-SHA-256 verifier instead.");
  return verifier->text();
}

// The client says whether it binds (p), could but thinks the server does not (y), or cannot (n).
Status ScramExchange::check_binding(std::string_view mechanism, std::string_view header) {
  const bool is_plus = mechanism == kScramPlus;
  if (!is_plus && mechanism != kScram)
    return sql_error("08P01", "client selected an invalid SASL authentication mechanism");
  if (is_plus && binding_.empty()) return sql_error("08P01", "channel binding needs TLS");
  if (header == "p=tls-server-end-point") {
    is_bound_ = true;
    return is_plus ? Status() : malformed();
  }
  if (is_plus || (header != "n" && header != "y")) return malformed();
  if (header == "y" && !binding_.empty()) {
    return sql_error("28000", "channel binding was offered and the client has not seen the offer");
  }
  return {};
}

StatusOr<std::string> ScramExchange::first(std::string_view mechanism, std::string_view message) {
  const std::string_view whole = message;
  std::string_view binding, authorization, user, nonce;
  if (!take_until(&message, ',', &binding) || !take_until(&message, ',', &authorization)) return malformed();
  SCYPER_RETURN_IF_ERROR(check_binding(mechanism, binding));
  if (!authorization.empty()) return sql_error("0A000", "client uses authorization identity, but it is not supported");
  header_ = whole.substr(0, whole.size() - message.size());
  client_first_ = message;
  // the name is the start message's: what is said here is not used, as in PostgreSQL
  if (!take_attribute(&message, 'n', &user) || !take_attribute(&message, 'r', &nonce)) return malformed();
  const bool is_printable = std::all_of(nonce.begin(), nonce.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (nonce.empty() || nonce.size() > kClientNonceMax || !is_printable) return malformed();
  nonce_ = std::string(nonce) + to_base64(random_bytes(kNonceBytes));
  server_first_ = "r=" + nonce_ + ",s=" + to_base64(verifier_.salt) + ",i=" + std::to_string(verifier_.iterations);
  return server_first_;
}

StatusOr<std::string> ScramExchange::final(std::string_view message) {
  const std::string_view whole = message;
  std::string_view binding, nonce;
  if (!take_attribute(&message, 'c', &binding) || !take_attribute(&message, 'r', &nonce)) return malformed();
  const size_t proof_at = whole.rfind(",p=");
  if (proof_at == std::string_view::npos) return malformed();
  Sha256 proof;
  if (!from_base64(whole.substr(proof_at + 3), &proof)) return malformed();
  if (nonce != nonce_ || binding != to_base64(header_ + (is_bound_ ? binding_ : ""))) {
    return sql_error("08P01", "SCRAM channel binding or nonce does not match");
  }
  const std::string signed_text = client_first_ + "," + server_first_ + "," + std::string(whole.substr(0, proof_at));
  const Sha256 signature = hmac_of(view(verifier_.stored_key), signed_text);
  Sha256 client_key;
  for (size_t i = 0; i < proof.size(); ++i) client_key[i] = static_cast<uint8_t>(proof[i] ^ signature[i]);
  const Sha256 stored = hash_of(view(client_key));
  const bool is_right = CRYPTO_memcmp(stored.data(), verifier_.stored_key.data(), stored.size()) == 0;
  if (!is_right || !is_real_) return sql_error("28P01", "password authentication failed");
  return "v=" + to_base64(view(hmac_of(view(verifier_.server_key), signed_text)));
}

}  // namespace scyper::server::postgres
