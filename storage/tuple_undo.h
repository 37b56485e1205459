#pragma once

#include "storage/change_log.h"

namespace scyper::storage {

// Takes back one insert, update or delete: the newest change that is left. Payloads it stored are still in place.
void undo_row(UndoEntry* entry, ChangeLog* log) noexcept;
void undo_relocate(UndoEntry* entry, ChangeLog* log) noexcept;
void free_payload(const UndoEntry* entry) noexcept;
// At commit: frees what the before-state of an update or delete referred to.
void finish_deferred(UndoEntry* entry) noexcept;

}  // namespace scyper::storage
