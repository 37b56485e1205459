#pragma once

#include <string>

#include "programs.h"

namespace scyper::client {

// `scyper support-bundle`: what somebody who is to help needs to know of a node and its machine, and nothing secret: no
// row of a table, no password, no key. What cannot be had is left out, and why is in the bundle.
struct BundleOptions {
  std::string path;         // a directory to be made, or a .tar.gz to be written
  std::string config_path;  // the node's TOML file; empty: the defaults
  std::string http;         // host:port of the node's HTTP; empty: as its settings say
  std::string node_log;     // file with the node's messages; empty: the journal's, of `unit`
  std::string unit = "scyperd@*";
  uint32_t lines = 2000;  // of them
  bool reads_log = true;  // the redo log, whole, for its summary
  bool has_target = false;
};
int run_support_bundle(const CommonOptions& common, const BundleOptions& options);

}  // namespace scyper::client
