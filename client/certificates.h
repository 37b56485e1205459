#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace scyper::client {

// scyper certs: an authority for tests and first steps, and what it signs.
struct CertificateOptions {
  std::string directory;
  std::vector<std::string> nodes;  // "name" or "name=host,host": for servers and, among nodes, clients
  std::vector<std::string> clients;
  int days = 365;
  bool replaces = false;  // certificates that are there; never the authority
};

// Writes NAME.pem and NAME.key for each, ca.pem and ca.key once; keys can be read by their owner only. *made: the
// files.
Status make_certificates(const CertificateOptions& options, std::vector<std::string>* made);
// The command. An exit code.
int run_certificates(const CertificateOptions& options);

}  // namespace scyper::client
