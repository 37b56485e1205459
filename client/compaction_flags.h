#pragma once

#include <CLI/CLI.hpp>

#include "programs.h"

namespace scyper::client {

// `scyper bench compaction` and what it takes, without what benchmarks have in common.
CLI::App* add_compaction_flags(CLI::App* group, CompactionBenchOptions* options);

}  // namespace scyper::client
