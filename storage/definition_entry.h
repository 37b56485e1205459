#pragma once

#include "storage/definition_change.h"

namespace scyper::storage {

// Apart from the kinds of row changes, which count from 0: UndoEntry::payload points to the DefinitionUndo.
constexpr auto kDefinitionEntry = static_cast<UndoEntry::Kind>(0xdef);

inline bool is_definition(const UndoEntry* entry) noexcept { return entry->kind == kDefinitionEntry; }
inline DefinitionUndo* definition_of(const UndoEntry* entry) noexcept {
  return reinterpret_cast<DefinitionUndo*>(entry->payload);
}

}  // namespace scyper::storage
