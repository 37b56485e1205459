#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "postgres/scram.h"

namespace scyper::server::postgres {

// Who may connect: a file with lines "name:verifier" or "name:password"; empty lines and those that begin with # do not
// count. Nobody but the owner may read it. Threads: constant after read().
class UserFile {
 public:
  // Errors name the file and the line, never what is in it.
  static StatusOr<UserFile> read(const std::string& path);
  static StatusOr<UserFile> parse(std::string_view text, const std::string& path);
  std::optional<ScramVerifier> find(std::string_view user) const;
  size_t size() const { return verifiers_.size(); }

 private:
  std::map<std::string, ScramVerifier, std::less<>> verifiers_;
};

}  // namespace scyper::server::postgres
