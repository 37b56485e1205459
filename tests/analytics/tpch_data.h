#pragma once

#include <string>
#include <vector>

namespace scyper::tests {

// INSERT statements of a TPC-H database of some hundred orders: TPC-H 4.2.3's value sets, chosen by a fixed generator,
// so that each of the 22 queries has an answer.
std::vector<std::string> tpch_inserts();

}  // namespace scyper::tests
