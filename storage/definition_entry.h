#pragma once

#include "storage/definition_change.h"

namespace scyper::storage {

inline bool is_definition(const UndoEntry* entry) noexcept { return entry->kind == UndoEntry::Kind::kDefinition; }
inline DefinitionUndo* definition_of(const UndoEntry* entry) noexcept {
  return reinterpret_cast<DefinitionUndo*>(entry->payload);
}

}  // namespace scyper::storage
