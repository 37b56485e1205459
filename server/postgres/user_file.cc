#include "postgres/user_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/text_file.h"
#include "server/packed.h"

namespace scyper::server::postgres {

StatusOr<UserFile> UserFile::read(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return absl::NotFoundError("cannot read " + path);
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return with_hint(absl::InvalidArgumentError(path + " has passwords, and others than its owner may read it"),
                     "chmod 600 " + path);
  }
  SCYPER_ASSIGN_OR_RETURN(const std::string text, read_text_file(path));
  return parse(text, path);
}

StatusOr<UserFile> UserFile::parse(std::string_view text, const std::string& path) {
  UserFile users;
  for (int line = 1; !text.empty(); ++line) {
    std::string_view entry = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    if (entry.ends_with('\r')) entry.remove_suffix(1);
    if (entry.empty() || entry[0] == '#') continue;
    const auto wrong = [&](const std::string& what) {
      return absl::InvalidArgumentError(path + ", line " + std::to_string(line) + ": " + what);
    };
    const size_t colon = entry.find(':');
    if (colon == 0 || colon == std::string_view::npos) return wrong("is not name:password");
    const std::string_view name = entry.substr(0, colon), secret = entry.substr(colon + 1);
    if (!check_text(name).ok()) return wrong("the name is not UTF-8");
    auto verifier =
        secret.starts_with(std::string(kScram) + "$") ? ScramVerifier::parse(secret) : ScramVerifier::make(secret);
    if (!verifier.ok()) return wrong(std::string(verifier.status().message()));
    if (!users.verifiers_.emplace(name, *std::move(verifier)).second) return wrong("the user is there twice");
  }
  if (users.verifiers_.empty()) return absl::InvalidArgumentError(path + " has no users");
  return users;
}

std::optional<ScramVerifier> UserFile::find(std::string_view user) const {
  const auto found = verifiers_.find(user);
  return found == verifiers_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace scyper::server::postgres
