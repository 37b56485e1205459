#pragma once

#include <cstdint>
#include <set>
#include <string>

// The life of a node in a process that may end at any moment, and the check of what it leaves.
namespace scyper::tests {

constexpr int64_t kIdsPerRun = 1'000'000;
constexpr int kTransactionsPerRun = 450;
constexpr int kRefusedExit = 3;  // the node did not start, or refused a definition

// Opens the directory, makes what is not there yet, runs transactions and writes archives. Tells each acknowledged id
// through the pipe, after it was acknowledged; -1 - i: definition i. The exit status of the process.
int work(const std::string& directory, bool physical, int64_t first_id, int pipe);

// Opens what is left. Prints what is wrong; 0 = all is as promised.
int verify(const std::string& directory, bool physical, const std::set<int64_t>& acknowledged, int64_t end_id);

}  // namespace scyper::tests
