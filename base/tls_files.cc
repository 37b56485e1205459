#include "base/tls_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/text_file.h"

namespace scyper {

namespace {

constexpr absl::Duration kPeriod = absl::Seconds(1);

template <typename T, void (*free_it)(T*)>
struct Freed {
  void operator()(T* object) const { free_it(object); }
};
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;

struct Reader {
  explicit Reader(const std::string& text) : bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))) {}
  ~Reader() {
    BIO_free(bio);
    ERR_clear_error();
  }
  BIO* const bio;
};

// A key with a password is refused, not asked for at the terminal.
int give_no_password(char*, int, int, void*) { return 0; }

// All certificates of a text; the first comes back.
StatusOr<Certificate> check_chain(const std::string& text, const std::string& path) {
  Reader reader(text);
  Certificate first;
  while (true) {
    Certificate next(PEM_read_bio_X509_AUX(reader.bio, nullptr, give_no_password, nullptr));
    if (next == nullptr) break;
    if (first == nullptr) first = std::move(next);
  }
  // the end of the text is PEM_R_NO_START_LINE, all else a broken certificate
  const bool is_whole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (first == nullptr || !is_whole) return absl::InvalidArgumentError("bad " + path + ": no certificates in PEM");
  return first;
}

Status check_key(const std::string& text, const std::string& path, X509* certificate) {
  Reader reader(text);
  const Key key(PEM_read_bio_PrivateKey(reader.bio, nullptr, give_no_password, nullptr));
  if (key == nullptr) return absl::InvalidArgumentError("bad " + path + ": no private key in PEM without a password");
  if (X509_check_private_key(certificate, key.get()) == 1) return {};
  return absl::InvalidArgumentError("bad " + path + ": the key is not the certificate's");
}

int64_t end_of(const X509* certificate) {
  std::tm parts{};
  return ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) == 1 ? ::timegm(&parts) : 0;
}

}  // namespace

TlsFiles::TlsFiles(const Paths& paths, Say say) : paths_(paths), say_(std::move(say)) {}

StatusOr<std::shared_ptr<TlsFiles>> TlsFiles::open(const Paths& paths, Say say) {
  if (paths.certificate.empty() != paths.key.empty())
    return absl::InvalidArgumentError("a certificate and its key must be given together");
  std::shared_ptr<TlsFiles> files(new TlsFiles(paths, std::move(say)));
  {
    absl::MutexLock lock(&files->look_mutex_);
    files->judged_ = files->seen_ = files->stamp();  // before they are read: a change meanwhile is seen
  }
  SCYPER_ASSIGN_OR_RETURN(TlsTexts texts, files->read());
  texts.version = 1;
  {
    absl::MutexLock lock(&files->mutex_);
    files->texts_ = std::make_shared<const TlsTexts>(std::move(texts));
  }
  files->watcher_ = std::thread([p = files.get()] { p->watch(); });
  return files;
}

TlsFiles::~TlsFiles() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  if (watcher_.joinable()) watcher_.join();
}

std::shared_ptr<const TlsTexts> TlsFiles::texts() const {
  absl::MutexLock lock(&mutex_);
  return texts_;
}

StatusOr<TlsTexts> TlsFiles::read() const {
  TlsTexts texts;
  SCYPER_ASSIGN_OR_RETURN(texts.certificate, read_optional_text_file(paths_.certificate));
  SCYPER_ASSIGN_OR_RETURN(texts.key, read_optional_text_file(paths_.key));
  SCYPER_ASSIGN_OR_RETURN(texts.authorities, read_optional_text_file(paths_.authorities));
  if (!paths_.certificate.empty()) {
    SCYPER_ASSIGN_OR_RETURN(const Certificate own, check_chain(texts.certificate, paths_.certificate));
    SCYPER_RETURN_IF_ERROR(check_key(texts.key, paths_.key, own.get()));
    texts.expires_s = end_of(own.get());
  }
  if (!paths_.authorities.empty()) SCYPER_RETURN_IF_ERROR(check_chain(texts.authorities, paths_.authorities).status());
  return texts;
}

// What tells one state of the files from another; a link's target counts.
std::string TlsFiles::stamp() const {
  std::string stamp;
  for (const std::string* path : {&paths_.certificate, &paths_.key, &paths_.authorities}) {
    struct stat file{};
    const bool is_there = !path->empty() && ::stat(path->c_str(), &file) == 0;
    if (!is_there) file = {};
    absl::StrAppend(&stamp, file.st_dev, ".", file.st_ino, ".", file.st_size, ".", file.st_mtim.tv_sec, ".",
                    file.st_mtim.tv_nsec, ".", file.st_ctim.tv_sec, ".", file.st_ctim.tv_nsec, " ");
  }
  return stamp;
}

void TlsFiles::reload() { look(/*is_patient=*/false); }

void TlsFiles::look(bool is_patient) {
  absl::MutexLock look_lock(&look_mutex_);
  const std::string now = stamp();
  const bool is_settled = now == std::exchange(seen_, now);
  if (now == judged_ || (is_patient && !is_settled)) return;
  judged_ = now;
  StatusOr<TlsTexts> read_texts = read();
  if (!read_texts.ok()) {
    failures_.fetch_add(1, std::memory_order_relaxed);
    say_(absl::StrCat("TLS: new files cannot be used, those before stay: ", read_texts.status().message()));
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    read_texts->version = texts_->version;
    const bool is_same = read_texts->certificate == texts_->certificate && read_texts->key == texts_->key &&
                         read_texts->authorities == texts_->authorities;
    if (is_same) return;
    ++read_texts->version;
    texts_ = std::make_shared<const TlsTexts>(*std::move(read_texts));
  }
  reloads_.fetch_add(1, std::memory_order_relaxed);
  say_(absl::StrCat("TLS: new files for new connections: ",
                    paths_.certificate.empty() ? paths_.authorities : paths_.certificate));
}

void TlsFiles::watch() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&is_stopping_), kPeriod);
      if (is_stopping_) return;
    }
    look(/*is_patient=*/true);
  }
}

}  // namespace scyper
