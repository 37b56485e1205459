#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

// SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side, with and without channel binding to the TLS connection.
namespace scyper::server::postgres {

using Sha256 = std::array<uint8_t, 32>;

// What a server keeps of a password: it can check who has the password, not who has this.
struct ScramVerifier {
  uint32_t iterations = 0;
  std::string salt;
  Sha256 stored_key{};
  Sha256 server_key{};

  // PostgreSQL's form, as in pg_authid: SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>, in base 64.
  static StatusOr<ScramVerifier> parse(std::string_view text);
  // Of a password of printable ASCII characters (others would need SASLprep); the salt is drawn.
  static StatusOr<ScramVerifier> make(std::string_view password);
  // For a user who does not exist: always the same for one name and process, so that nobody learns who exists.
  static ScramVerifier make_up(std::string_view user, std::string_view secret);
  std::string text() const;
};

// The text of the verifier of a password, for roles (query/role.h).
StatusOr<std::string> scram_verifier_of(std::string_view password);

// One exchange. Order: first(), then final(). Threads: one.
class ScramExchange {
 public:
  // binding: the server's certificate hash (tls-server-end-point), empty without TLS. is_real: false for a verifier
  // that was made up; the exchange then fails at its end.
  ScramExchange(ScramVerifier verifier, std::string binding, bool is_real)
      : verifier_(std::move(verifier)), binding_(std::move(binding)), is_real_(is_real) {}

  // The client's first message, by the mechanism it chose; gives the server's. 08P01 when malformed.
  StatusOr<std::string> first(std::string_view mechanism, std::string_view message);
  // Its last one; gives the server's proof, or fails with 28P01 (without a message for the client).
  StatusOr<std::string> final(std::string_view message);

 private:
  Status check_binding(std::string_view mechanism, std::string_view header);

  const ScramVerifier verifier_;
  const std::string binding_;
  const bool is_real_;
  std::string header_;        // GS2, as the client sent it
  bool is_bound_ = false;     // to the TLS connection
  std::string nonce_;         // both halves
  std::string client_first_;  // without the header
  std::string server_first_;
};

constexpr char kScram[] = "SCRAM-SHA-256";
constexpr char kScramPlus[] = "SCRAM-SHA-256-PLUS";

// Bytes nobody can guess.
std::string random_bytes(size_t size);

}  // namespace scyper::server::postgres
