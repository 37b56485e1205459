#pragma once

#include <map>
#include <string>

#include "ch_database.h"
#include "oltp.h"

namespace scyper::client {

// What `scyper bench oltp` prints.
struct OltpReport {
  OltpResult result;
  std::string mode;                             // "in-process", "grpc", "grpc-unary"
  std::map<std::string, std::string> settings;  // of the run, for the record
  NodeStatus before, after;
  ChLoadResult load;
  bool is_checked = false;
  ConsistencyReport check;
  std::map<std::string, std::string> table_digests;  // of counted runs with a digest
};

std::string oltp_json(const OltpReport& report);
// A table of procedures and the main figures, for people.
std::string oltp_text(const OltpReport& report);
std::string check_text(const ConsistencyReport& report);

// Digests of the tables that the mix reads and writes (client/ch/outcome.h).
StatusOr<std::map<std::string, std::string>> digest_tables(Session* session, const ch::Scale& scale);

}  // namespace scyper::client
