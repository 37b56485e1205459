#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/disk.h"
#include "testing/bank.h"

// What tests of logs and archives share: nodes with a log on a disk of their own, opened again and again.
namespace scyper::primary {

// A log in /data of `disk`; a failure of the log ends nothing. nullptr: the machine's disk.
EngineOptions log_options(Disk* disk, RedoMode redo = RedoMode::kLogical, CommitMode mode = CommitMode::kLocal);
// null, with its status, when the node refuses to start.
std::unique_ptr<PartitionEngine> open_or_null(const EngineOptions& options, Status* status = nullptr);
// Of all tables, which are checked.
storage::Digest digest_of(PartitionEngine* engine);
// The only value of the only row, or -1.
int64_t number(PartitionEngine* engine, std::string_view sql);
// Every class of transaction, on one thread or several.
void work(Bank* bank, int threads, int rounds);
// A request of a client, waited for. answered: the call, which lives on.
Status send(PartitionEngine* engine, uint64_t client, uint64_t request, std::string_view sql,
            Call** answered = nullptr);

}  // namespace scyper::primary
