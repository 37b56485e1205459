#include "postgres/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace scyper::server::postgres {

namespace {

// Dead clients are noticed within a minute.
constexpr int kKeepIdleS = 20, kKeepIntervalS = 10, kKeepCount = 4;

void set_option(int descriptor, int level, int name, int value) {
  ::setsockopt(descriptor, level, name, &value, sizeof value);
}

std::string last_tls_error() {
  char text[256] = "unknown error";
  const unsigned long code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

// Keys with a password are not asked for it at the terminal.
int give_no_password(char*, int, int, void*) { return 0; }

// False: there is none, or take() has refused one.
template <typename Take>
bool for_each_certificate(const std::string& pem, const Take& take) {
  BIO* text = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  bool has_any = false, goes_on = true;
  while (goes_on) {
    X509* certificate = PEM_read_bio_X509_AUX(text, nullptr, give_no_password, nullptr);
    if (certificate == nullptr) break;
    has_any = true;
    goes_on = take(certificate);
    X509_free(certificate);
  }
  BIO_free(text);
  if (goes_on) ERR_clear_error();  // how the text ends
  return has_any && goes_on;
}

// The certificate's own hash function, SHA-256 for those that are weaker.
std::string end_point_of(const X509* certificate) {
  int digest = NID_undef;
  if (X509_get_signature_info(const_cast<X509*>(certificate), &digest, nullptr, nullptr, nullptr) != 1 ||
      digest == NID_md5 || digest == NID_sha1 || digest == NID_undef) {
    digest = NID_sha256;
  }
  const EVP_MD* function = EVP_get_digestbynid(digest);
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (function == nullptr || X509_digest(certificate, function, hash, &size) != 1) return "";
  return std::string(reinterpret_cast<const char*>(hash), size);
}

}  // namespace

StatusOr<std::shared_ptr<TlsContext>> TlsContext::make(const TlsTexts& texts) {
  std::shared_ptr<TlsContext> tls(new TlsContext);
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  tls->context_ = context;
  const auto fail = [](const std::string& what) {
    return absl::InvalidArgumentError("postgres_listen: " + what + ": " + last_tls_error());
  };
  if (context == nullptr) return fail("no TLS");
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  bool is_own = true;
  if (!for_each_certificate(texts.certificate, [&](X509* certificate) {
        return std::exchange(is_own, false) ? SSL_CTX_use_certificate(context, certificate) == 1
                                            : SSL_CTX_add1_chain_cert(context, certificate) == 1;
      }))
    return fail("bad certificate");
  BIO* key_text = BIO_new_mem_buf(texts.key.data(), static_cast<int>(texts.key.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_text, nullptr, give_no_password, nullptr);
  BIO_free(key_text);
  const bool has_key = key != nullptr && SSL_CTX_use_PrivateKey(context, key) == 1;
  EVP_PKEY_free(key);
  if (!has_key || SSL_CTX_check_private_key(context) != 1) return fail("bad key");
  if (!texts.authorities.empty()) {
    const bool has_all = for_each_certificate(texts.authorities, [&](X509* certificate) {
      return X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate) == 1;
    });
    if (!has_all) return fail("bad authorities");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  tls->end_point_ = end_point_of(SSL_CTX_get0_certificate(context));
  return tls;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

StatusOr<std::shared_ptr<TlsContext>> TlsContexts::current() {
  const auto texts = files_->texts();
  absl::MutexLock lock(&mutex_);
  if (version_ == texts->version) return newest_;
  SCYPER_ASSIGN_OR_RETURN(newest_, TlsContext::make(*texts));
  version_ = texts->version;
  return newest_;
}

Transport::Transport(int descriptor) : descriptor_(descriptor) {
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleS);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalS);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, kKeepCount);
  const timeval patience{kWritePatienceS, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

Transport::~Transport() {
  if (tls_ != nullptr) {
    SSL_shutdown(tls_);  // says good-bye, does not wait for an answer
    SSL_free(tls_);
    ERR_clear_error();
  }
  ::close(descriptor_);
}

Status Transport::start_tls(const TlsContext& tls) {
  SSL* ssl = SSL_new(tls.context());
  if (ssl == nullptr || SSL_set_fd(ssl, descriptor_) != 1 || SSL_accept(ssl) != 1) {
    Status status = absl::UnavailableError("TLS: " + last_tls_error());
    SSL_free(ssl);
    return status;
  }
  tls_ = ssl;
  return {};
}

std::string Transport::certificate_name() const {
  X509* certificate = tls_ == nullptr ? nullptr : SSL_get1_peer_certificate(tls_);
  if (certificate == nullptr) return "";
  std::string name;
  X509_NAME* subject = X509_get_subject_name(certificate);
  const int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  unsigned char* text = nullptr;
  const int size =
      place < 0 ? -1 : ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place)));
  if (size > 0) name.assign(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
  OPENSSL_free(text);
  X509_free(certificate);
  return name;
}

size_t Transport::read(char* buffer, size_t size) {
  while (!is_ended_.load(std::memory_order_acquire)) {
    if (tls_ != nullptr) {
      const int count =
          SSL_read(tls_, buffer, static_cast<int>(std::min<size_t>(size, std::numeric_limits<int>::max())));
      if (count > 0) return static_cast<size_t>(count);
      const int reason = SSL_get_error(tls_, count);
      ERR_clear_error();
      if (reason != SSL_ERROR_WANT_READ) return 0;
      continue;
    }
    const ssize_t count = ::recv(descriptor_, buffer, size, 0);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) return 0;
  }
  return 0;
}

bool Transport::write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (tls_ != nullptr) {
      const int count = SSL_write(tls_, bytes.data(),
                                  static_cast<int>(std::min<size_t>(bytes.size(), std::numeric_limits<int>::max())));
      ERR_clear_error();
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
      continue;
    }
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void Transport::end_reading() {
  is_ended_.store(true, std::memory_order_release);
  ::shutdown(descriptor_, SHUT_RD);
}

void Transport::close_down() {
  is_ended_.store(true, std::memory_order_release);
  ::shutdown(descriptor_, SHUT_RDWR);
}

}  // namespace scyper::server::postgres
