#include "storage/definition_change.h"

#include "definition_entry.h"
#include "row_change_format.h"

namespace scyper::storage {

// The numbers drawn before go first: the definition may set a sequence back.
bool note_definition(ChangeLog* log, DefinitionUndo* undo, std::string_view text, std::string_view changes) noexcept {
  const ChangeLog::Mark before = log->mark();
  UndoEntry* entry = log->push(UndoEntry::Kind::kDefinition, nullptr, 0);
  if (entry == nullptr) return false;
  entry->payload = reinterpret_cast<char*>(undo);
  if (!log->records_redo() || (text.empty() && changes.empty())) return true;
  char* out = nullptr;
  if (log->log_sequences())
    out = log->redo_reserve(1 + kVarintBytesMax + kVarintSlackBytes + text.size() + changes.size());
  if (out == nullptr) {
    log->head()->top = entry->previous;  // there is nothing to take back
    log->rollback_to(before);
    return false;
  }
  if (!text.empty()) {
    *out++ = static_cast<char>(RowChangeKind::kDefinition);
    out = put_bytes(out, {text.data(), text.size()});
  }
  copy_bytes(out, changes.data(), changes.size());
  log->redo_advance(out + changes.size());
  return true;
}

void forget_sequence(ChangeLog* log, SequenceId id) { log->note_sequence(id, SequenceState{}, /*is_drawn=*/false); }

}  // namespace scyper::storage
