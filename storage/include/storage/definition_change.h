#pragma once

#include <string_view>

#include "storage/change_log.h"

// Definitions among the changes of a transaction: taken back with them, in redo between them (docs/redo_format.md).
namespace scyper::storage {

// Who keeps the catalog that a transaction makes.
class DefinitionUndo {
 public:
  virtual ~DefinitionUndo() = default;
  // Takes the newest definition back. Tables stay as they are, whether the catalog has them or not. Fork: the child may
  // call it.
  virtual void take_back() noexcept = 0;
};

// A definition, its form in redo being `text` (empty: it has none) and then the row changes that it made. Between
// changes of rows only. false and last_result() at a limit: nothing is noted. The entry is no row's: it has no
// partition.
bool note_definition(ChangeLog* log, DefinitionUndo* undo, std::string_view text, std::string_view changes) noexcept;
// What was drawn from a sequence that is not there any more is no part of redo.
void forget_sequence(ChangeLog* log, SequenceId id);

}  // namespace scyper::storage
