#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "query/row_locks.h"

namespace scyper::query {

// A locking clause as a constant of generated code.
struct RowLockCode {
  storage::RowLock lock = storage::RowLock::kKeyShare;
  LockWait wait = LockWait::kWait;

  int32_t number() const { return static_cast<int32_t>(lock) * 4 + static_cast<int32_t>(wait); }
  static RowLockCode of(int32_t number) {
    return {static_cast<storage::RowLock>(number / 4), static_cast<LockWait>(number % 4)};
  }
};

struct Relation;
// None: the relation's rows are not locked.
using CodeOfRelation = std::function<std::optional<RowLockCode>(const Relation&)>;

}  // namespace scyper::query
