#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

// The files of Unix sockets on which a node serves gRPC (setting unix_socket) and PostgreSQL's clients
// (postgres_socket_directory).
namespace scyper::server {

// The permissions that a text in octal gives ("0770").
StatusOr<mode_t> parse_permissions(const std::string& text);

// Makes way for a socket at `path`: what a node that is gone has left there is removed. Errors: a path that is too
// long, a file that is no socket, a socket on which somebody listens.
Status clear_unix_socket(const std::string& path);

// While one lives, files of this process are made for their owner only: a socket is not open to others before its
// permissions are set. Threads: one at a time; files that others make meanwhile are as narrow.
class NarrowFiles {
 public:
  NarrowFiles();
  ~NarrowFiles();
  NarrowFiles(const NarrowFiles&) = delete;

 private:
  const mode_t before_;
};

Status set_permissions(const std::string& path, mode_t mode);

}  // namespace scyper::server
