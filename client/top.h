#pragma once

#include "programs.h"

namespace scyper::client {

// `scyper top`: what a cluster is doing, again and again. Asks the nodes of --target and those that they tell of.
struct TopOptions {
  double interval_seconds = 1;
  bool is_once = false;  // one picture; so it is as well where the output is no terminal, and as JSON
};
// kExitConnection: no node answers at the start.
int run_top(const CommonOptions& common, const TopOptions& options);

}  // namespace scyper::client
