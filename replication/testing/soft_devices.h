#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

// What rdma/soft_devices has made in a virtual machine: cables v0 to v3, with p0 to p3 at the bridge and rxe0 to rxe3.
namespace scyper::replication {

inline void must(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }
inline std::string address(int i) { return absl::StrCat("10.0.0.", i + 1); }
inline void add_device(int i) { must(absl::StrCat("rdma link add rxe", i, " type rxe netdev v", i)); }
inline void remove_device(int i) { must(absl::StrCat("rdma link del rxe", i)); }
// Of what goes to that cable.
inline void lose(int i, int percent) {
  must(absl::StrCat("tc qdisc replace dev p", i, " root netem loss ", percent, "%"));
}

}  // namespace scyper::replication
