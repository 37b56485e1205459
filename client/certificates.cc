#include "certificates.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "programs.h"

namespace scyper::client {

namespace {

constexpr char kAuthority[] = "ca";
constexpr int kAuthorityDays = 3650;
constexpr int64_t kSecondsPerDay = 86'400, kClockSkewS = 300;  // clocks of other machines may be behind

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

struct Pair {
  Key key;
  Certificate certificate;
};

// What a certificate says.
struct Subject {
  std::string name;
  std::vector<std::string> hosts = {};  // names and addresses
  bool is_authority = false;
  bool serves = false;
  int days = 0;
};

Status failed(const std::string& what) {
  char text[256] = "unknown error";
  const unsigned long code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return absl::InternalError(what + ": " + text);
}

Status add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool is_added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return is_added ? Status() : failed("certificate's extension " + value);
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts) {
    unsigned char address[sizeof(in6_addr)];
    const bool is_address =
        inet_pton(AF_INET, host.c_str(), address) == 1 || inet_pton(AF_INET6, host.c_str(), address) == 1;
    absl::StrAppend(&names, names.empty() ? "" : ",", is_address ? "IP:" : "DNS:", host);
  }
  return names;
}

Status add_extensions(const Subject& subject, X509* certificate, X509* issuer) {
  SCYPER_RETURN_IF_ERROR(add_extension(certificate, issuer, NID_basic_constraints,
                                       subject.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE"));
  SCYPER_RETURN_IF_ERROR(add_extension(certificate, issuer, NID_key_usage,
                                       subject.is_authority ? "critical,keyCertSign,cRLSign" : "digitalSignature"));
  SCYPER_RETURN_IF_ERROR(add_extension(certificate, issuer, NID_subject_key_identifier, "hash"));
  SCYPER_RETURN_IF_ERROR(add_extension(certificate, issuer, NID_authority_key_identifier, "keyid"));
  if (subject.is_authority) return {};
  SCYPER_RETURN_IF_ERROR(
      add_extension(certificate, issuer, NID_ext_key_usage, subject.serves ? "serverAuth,clientAuth" : "clientAuth"));
  return add_extension(certificate, issuer, NID_subject_alt_name, alternative_names(subject.hosts));
}

// Signed by the issuer, or by itself.
StatusOr<Pair> make_pair(const Subject& subject, const Pair* issuer) {
  Pair pair{Key(EVP_EC_gen("P-256")), Certificate(X509_new())};
  X509* certificate = pair.certificate.get();
  if (pair.key == nullptr || certificate == nullptr) return failed("a key for " + subject.name);
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof serial) != 1) return failed("a serial number");
  serial[0] &= 0x7F;  // positive
  std::unique_ptr<BIGNUM, Free<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  X509_NAME* name = X509_get_subject_name(certificate);
  const bool is_filled =
      X509_set_version(certificate, X509_VERSION_3) == 1 && number != nullptr &&
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr &&
      X509_gmtime_adj(X509_getm_notBefore(certificate), -kClockSkewS) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(certificate), subject.days * kSecondsPerDay) != nullptr &&
      X509_set_pubkey(certificate, pair.key.get()) == 1 &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(subject.name.data()),
                                 static_cast<int>(subject.name.size()), -1, 0) == 1;
  X509* signer = issuer == nullptr ? certificate : issuer->certificate.get();
  if (!is_filled || X509_set_issuer_name(certificate, X509_get_subject_name(signer)) != 1)
    return failed("a certificate for " + subject.name);
  SCYPER_RETURN_IF_ERROR(add_extensions(subject, certificate, signer));
  if (X509_sign(certificate, issuer == nullptr ? pair.key.get() : issuer->key.get(), EVP_sha256()) == 0)
    return failed("signing " + subject.name);
  return pair;
}

Status no_file(const std::string& path) { return absl::UnavailableError(path + ": " + std::strerror(errno)); }

// A new file, with those rights from its beginning.
StatusOr<File> create(const std::string& path, mode_t rights) {
  ::unlink(path.c_str());
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, rights);
  if (descriptor < 0) return no_file(path);
  return File(::fdopen(descriptor, "w"));
}

Status write_pair(const std::string& base, const Pair& pair, std::vector<std::string>* made) {
  SCYPER_ASSIGN_OR_RETURN(const File key, create(base + ".key", S_IRUSR | S_IWUSR));
  if (PEM_write_PrivateKey(key.get(), pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      std::fflush(key.get()) != 0)
    return failed(base + ".key");
  SCYPER_ASSIGN_OR_RETURN(const File certificate, create(base + ".pem", S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH));
  if (PEM_write_X509(certificate.get(), pair.certificate.get()) != 1 || std::fflush(certificate.get()) != 0)
    return failed(base + ".pem");
  made->push_back(base + ".pem");
  made->push_back(base + ".key");
  return {};
}

StatusOr<Pair> read_pair(const std::string& base) {
  const File key(std::fopen((base + ".key").c_str(), "re")), certificate(std::fopen((base + ".pem").c_str(), "re"));
  if (key == nullptr) return no_file(base + ".key");
  if (certificate == nullptr) return no_file(base + ".pem");
  Pair pair{Key(PEM_read_PrivateKey(key.get(), nullptr, nullptr, nullptr)),
            Certificate(PEM_read_X509(certificate.get(), nullptr, nullptr, nullptr))};
  if (pair.key == nullptr || pair.certificate == nullptr) return failed(base + ".pem and .key");
  if (X509_check_private_key(pair.certificate.get(), pair.key.get()) != 1)
    return absl::InvalidArgumentError(base + ".key is not the key of " + base + ".pem");
  return pair;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

StatusOr<Pair> authority_in(const std::string& base, std::vector<std::string>* made) {
  if (exists(base + ".pem") || exists(base + ".key")) return read_pair(base);
  SCYPER_ASSIGN_OR_RETURN(
      Pair pair, make_pair({.name = "scyper test authority", .is_authority = true, .days = kAuthorityDays}, nullptr));
  SCYPER_RETURN_IF_ERROR(write_pair(base, pair, made));
  return pair;
}

// A name of a file and of a role: no path, nothing that a certificate's text would take apart.
Status check_name(const std::string& name) {
  const bool is_plain = !name.empty() && name != kAuthority && name[0] != '.' && name[0] != '-' && name.size() <= 63 &&
                        name.find_first_of("/\\,:=\"' \t\r\n") == std::string::npos;
  return is_plain ? Status() : absl::InvalidArgumentError("\"" + name + "\" is no name for a certificate");
}

StatusOr<Subject> subject_of(const std::string& text, bool serves, int days) {
  const size_t equals = std::min(text.find('='), text.size());
  Subject subject{.name = text.substr(0, equals), .serves = serves, .days = days};
  SCYPER_RETURN_IF_ERROR(check_name(subject.name));
  subject.hosts = {subject.name};
  if (serves) subject.hosts.insert(subject.hosts.end(), {"localhost", "127.0.0.1", "::1"});
  if (equals == text.size()) return subject;
  for (const auto& host : absl::StrSplit(text.substr(equals + 1), ',')) {
    subject.hosts.emplace_back(host);
    if (host.empty() || host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_*:") !=
                            absl::string_view::npos)
      return absl::InvalidArgumentError("\"" + subject.hosts.back() + "\" is no host");
  }
  return subject;
}

}  // namespace

Status make_certificates(const CertificateOptions& options, std::vector<std::string>* made) {
  std::vector<Subject> subjects;
  for (const auto* list : {&options.nodes, &options.clients})
    for (const std::string& text : *list) {
      SCYPER_ASSIGN_OR_RETURN(Subject subject, subject_of(text, list == &options.nodes, options.days));
      const std::string base = options.directory + "/" + subject.name;
      if (!options.replaces && (exists(base + ".pem") || exists(base + ".key")))
        return with_hint(absl::AlreadyExistsError(base + ".pem is there already"), "Give --replace.");
      subjects.push_back(std::move(subject));
    }
  if (::mkdir(options.directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) return no_file(options.directory);
  SCYPER_ASSIGN_OR_RETURN(const Pair authority, authority_in(options.directory + "/" + kAuthority, made));
  for (const Subject& subject : subjects) {
    SCYPER_ASSIGN_OR_RETURN(const Pair pair, make_pair(subject, &authority));
    SCYPER_RETURN_IF_ERROR(write_pair(options.directory + "/" + subject.name, pair, made));
  }
  return {};
}

int run_certificates(const CertificateOptions& options) {
  std::vector<std::string> made;
  const Status status = make_certificates(options, &made);
  for (const std::string& path : made) std::printf("%s\n", path.c_str());
  if (status.ok()) return kExitOk;
  std::fprintf(stderr, "scyper: %s\n", std::string(status.message()).c_str());
  if (const std::string hint = hint_of(status); !hint.empty()) std::fprintf(stderr, "%s\n", hint.c_str());
  return kExitError;
}

}  // namespace scyper::client
