#include "replication/datagram_cipher.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace scyper::replication {

namespace {

constexpr size_t kNonceBytes = 12;
// Terms and incarnations of primaries that overlap; the least recently used one goes.
constexpr size_t kSendersMax = 8;
constexpr std::string_view kDatagramPurpose = "scyper datagram 1";
constexpr std::string_view kFingerprintPurpose = "scyper fingerprint 1";

// RFC 5869, with SHA-256. OpenSSL fails here only without memory or without its own provider.
void derive_bytes(const std::array<uint8_t, DatagramKey::kBytes>& secret, const ClusterId& cluster, std::string info,
                  uint8_t* out, size_t size) {
  static EVP_KDF* const kHkdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  CHECK(kHkdf != nullptr);
  EVP_KDF_CTX* context = EVP_KDF_CTX_new(kHkdf);
  CHECK(context != nullptr);
  char digest[] = "SHA256";
  ClusterId salt = cluster;
  std::array<uint8_t, DatagramKey::kBytes> key = secret;
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.words, sizeof(salt.words)),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()), OSSL_PARAM_construct_end()};
  CHECK(EVP_KDF_derive(context, out, size, parameters) == 1);
  EVP_KDF_CTX_free(context);
}

const EVP_CIPHER* cipher() {
  static const EVP_CIPHER* const kCipher = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  CHECK(kCipher != nullptr);
  return kCipher;
}

void fill_nonce(uint64_t counter, uint8_t* nonce) {
  std::memset(nonce, 0, kNonceBytes);
  std::memcpy(nonce, &counter, sizeof(counter));
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void CipherContextDeleter::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

StatusOr<DatagramKey> DatagramKey::read(const std::string& path) {
  struct stat about;
  std::ifstream file(path, std::ios::binary);
  if (!file || ::stat(path.c_str(), &about) != 0) {
    return sql_error("58030", absl::StrCat("the key file ", path, " cannot be read"));
  }
  if ((about.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
    return with_hint(sql_error("42501", absl::StrCat("the key file ", path, " can be read or changed by others")),
                     "chmod 600 it.");
  }
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  std::array<uint8_t, kBytes> bytes;
  bool fits = text.size() == 2 * kBytes;
  for (size_t i = 0; fits && i < kBytes; ++i) {
    const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
    fits = high >= 0 && low >= 0;
    bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  if (fits) return DatagramKey(bytes);
  return with_hint(sql_error("22023", absl::StrCat("the key file ", path, " does not hold 64 hexadecimal digits")),
                   "Make one with: openssl rand -hex 32");
}

uint64_t DatagramKey::fingerprint(const ClusterId& cluster) const {
  uint64_t out = 0;
  derive_bytes(bytes_, cluster, std::string(kFingerprintPurpose), reinterpret_cast<uint8_t*>(&out), sizeof(out));
  return out;
}

std::array<uint8_t, DatagramKey::kBytes> DatagramKey::derive(const ClusterId& cluster, uint64_t term,
                                                             uint64_t source) const {
  std::string info(kDatagramPurpose);
  info.append(reinterpret_cast<const char*>(&term), sizeof(term));
  info.append(reinterpret_cast<const char*>(&source), sizeof(source));
  std::array<uint8_t, kBytes> out;
  derive_bytes(bytes_, cluster, std::move(info), out.data(), out.size());
  return out;
}

void DatagramSealer::seal(std::string_view datagram, uint64_t term, std::string* out) {
  if (context_ == nullptr || term != term_) {
    const auto key = key_.derive(cluster_, term, source_);
    context_.reset(EVP_CIPHER_CTX_new());
    CHECK(context_ != nullptr);
    CHECK(EVP_EncryptInit_ex2(context_.get(), cipher(), key.data(), nullptr, nullptr) == 1);
    term_ = term;
  }
  SealedHeader header;
  header.term = term;
  header.source = source_;
  header.counter = ++counter_;
  CHECK(header.counter != 0);  // it has never come round
  uint8_t nonce[kNonceBytes];
  fill_nonce(header.counter, nonce);
  out->resize(kSealOverheadBytes + datagram.size());
  std::memcpy(out->data(), &header, sizeof(header));
  auto* sealed = reinterpret_cast<uint8_t*>(out->data()) + sizeof(header);
  EVP_CIPHER_CTX* context = context_.get();
  int size = 0, rest = 0;
  bool ok = EVP_EncryptInit_ex2(context, nullptr, nullptr, nonce, nullptr) == 1;
  ok = ok && EVP_EncryptUpdate(context, nullptr, &size, reinterpret_cast<const uint8_t*>(&header), sizeof(header)) == 1;
  ok = ok && EVP_EncryptUpdate(context, sealed, &size, reinterpret_cast<const uint8_t*>(datagram.data()),
                               static_cast<int>(datagram.size())) == 1;
  ok = ok && EVP_EncryptFinal_ex(context, sealed + size, &rest) == 1;
  ok = ok && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kSealTagBytes, sealed + datagram.size()) == 1;
  CHECK(ok && static_cast<size_t>(size + rest) == datagram.size());
}

bool ReplayWindow::has_seen(uint64_t counter) const {
  if (counter == 0 || counter + kCounters <= highest_) return true;
  if (counter > highest_) return false;
  return (seen_[counter % kCounters / 64] >> (counter % 64) & 1) != 0;
}

void ReplayWindow::note(uint64_t counter) {
  if (counter > highest_) {
    if (counter - highest_ >= kCounters) {
      std::fill(seen_.begin(), seen_.end(), 0);
    } else {
      for (uint64_t i = highest_ + 1; i < counter; ++i) seen_[i % kCounters / 64] &= ~(uint64_t{1} << (i % 64));
    }
    highest_ = counter;
  }
  seen_[counter % kCounters / 64] |= uint64_t{1} << (counter % 64);
}

DatagramOpener::Sender* DatagramOpener::find(const Name& name) {
  for (auto& [known, sender] : senders_) {
    if (known == name) return &sender;
  }
  return nullptr;
}

void DatagramOpener::keep(const Name& name, Sender sender) {
  if (senders_.size() >= kSendersMax) {
    senders_.erase(std::min_element(senders_.begin(), senders_.end(), [](const auto& a, const auto& b) {
      return a.second.last_use < b.second.last_use;
    }));
  }
  senders_.emplace_back(name, std::move(sender));
}

DatagramOpener::Verdict DatagramOpener::open(std::string_view sealed, SealedHeader* header, std::string* datagram) {
  if (sealed.size() < kSealOverheadBytes) return Verdict::kForged;
  std::memcpy(header, sealed.data(), sizeof(*header));
  if (header->magic != kSealedMagic || header->version != kSealedVersion) return Verdict::kForged;
  const Name name(header->term, header->source);
  Sender* sender = find(name);
  Sender candidate;  // of a sender that has not shown yet that it has the key
  if (sender == nullptr) {
    const auto key = key_.derive(cluster_, header->term, header->source);
    candidate.context.reset(EVP_CIPHER_CTX_new());
    CHECK(candidate.context != nullptr);
    CHECK(EVP_DecryptInit_ex2(candidate.context.get(), cipher(), key.data(), nullptr, nullptr) == 1);
  } else if (sender->window.has_seen(header->counter)) {
    return Verdict::kReplayed;
  }
  EVP_CIPHER_CTX* context = sender != nullptr ? sender->context.get() : candidate.context.get();
  const size_t size = sealed.size() - kSealOverheadBytes;
  const auto* from = reinterpret_cast<const uint8_t*>(sealed.data()) + sizeof(*header);
  uint8_t nonce[kNonceBytes], tag[kSealTagBytes];
  fill_nonce(header->counter, nonce);
  std::memcpy(tag, from + size, sizeof(tag));
  datagram->resize(size);
  int written = 0, rest = 0;
  bool ok = EVP_DecryptInit_ex2(context, nullptr, nullptr, nonce, nullptr) == 1;
  ok = ok && EVP_DecryptUpdate(context, nullptr, &written, reinterpret_cast<const uint8_t*>(sealed.data()),
                               sizeof(*header)) == 1;
  ok = ok && EVP_DecryptUpdate(context, reinterpret_cast<uint8_t*>(datagram->data()), &written, from,
                               static_cast<int>(size)) == 1;
  ok = ok && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kSealTagBytes, tag) == 1;
  ok = ok && EVP_DecryptFinal_ex(context, reinterpret_cast<uint8_t*>(datagram->data()) + size, &rest) == 1;
  if (!ok || header->counter == 0) {
    datagram->clear();
    return Verdict::kForged;
  }
  if (sender == nullptr) {
    keep(name, std::move(candidate));
    sender = &senders_.back().second;
  }
  sender->window.note(header->counter);
  sender->last_use = ++uses_;
  return Verdict::kOpened;
}

}  // namespace scyper::replication
