#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "base/strong.h"
#include "storage/enum_type.h"

// Enums that a transaction has altered and not committed. The transaction itself must find them (find_enum()), and
// nothing may come to the disk with a label that a rollback would take away.
namespace scyper {

constexpr int64_t kEnumLabelDistance = int64_t{1} << 32;  // between the codes of CREATE TYPE, for labels to come

// PostgreSQL's enumsortorder: 1, 2, 3 for the labels of CREATE TYPE, the middle for one that came between two others.
inline double enum_sort_order(int64_t code) {
  return static_cast<double>(code) / static_cast<double>(kEnumLabelDistance);
}

// A transaction that has published enums and not committed. Its threads alone see the labels of these versions: the
// thread that runs it, and the thread that shows its rows to the client. A trial that is over is nobody's.
using EnumTrial = Strong<struct EnumTrialTag, uint64_t>;
EnumTrial begin_enum_trial();  // this thread's
EnumTrial enum_trial() noexcept;
void see_enum_trial(EnumTrial trial) noexcept;
// As publish_enum(), for the trial of this thread.
void publish_enum_on_trial(std::shared_ptr<const EnumType> type);
// Back to a version that was published before, without a lock or memory: the child of a fork may call it.
void publish_enum_again(const EnumType& type) noexcept;
// 55P04: ALTER TYPE has added the label, and its transaction has not committed.
Status check_label(const EnumType& type, const EnumType::Label& label);

}  // namespace scyper
