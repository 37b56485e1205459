#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/object_name.h"
#include "bind/names_on_path.h"
#include "bind/system_types.h"
#include "compile/compiler.h"
#include "compile/program_parts.h"
#include "parse/printer.h"
#include "query/definitions.h"
#include "query/search_path.h"
#include "query/settings.h"
#include "runtime/catalog_map.h"
#include "runtime/drawn_function.h"
#include "runtime/function_body.h"

// nextval(), setval(), currval(), lastval().
namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_sequence.cc).
extern const ir::External k_fn_sequence_on_path;
extern const ir::External k_fn_sequence_value;
extern const ir::External k_fn_sequence_called;
extern const ir::External k_fn_sequence_last_value;

namespace {

// The transaction's own, where it has defined something. It outlives what runs.
std::shared_ptr<const Catalog> catalog_of(const ExecContext* c) {
  const Definitions* definitions = Definitions::current;
  return definitions != nullptr && definitions->has_changed() ? definitions->catalog() : c->program->parts().catalog;
}

storage::Sequence* find_sequence(ExecContext* c, std::string_view text) {
  const auto owner = catalog_of(c);
  const Catalog& catalog = *owner;
  const std::string name = object_key_of_text(text);
  auto found = catalog.sequences.find(name);
  if (found != catalog.sequences.end()) return found->second.get();
  if (catalog.find_table(name) != nullptr || catalog.views.count(name) != 0)
    c->fail("42809", absl::StrCat("\"", name, "\" is not a sequence"));
  else
    c->fail("42P01", absl::StrCat("relation \"", std::string(without_no_schema(text)), "\" does not exist"));
  return nullptr;
}

// The session, and what it has drawn. Without one (gRPC's single statements) that is known within a transaction only.
struct DrawnBySession {
  const std::string* session = nullptr;
  SessionSequences* drawn = nullptr;

  explicit DrawnBySession(const ExecContext* c) {
    const StatementSettings* settings = StatementSettings::current;
    session = settings == nullptr ? nullptr : settings->find(std::string(kTemporarySchemaSetting));
    Compiler* compiler = c->program->parts().compiler;
    if (session != nullptr && !session->empty() && compiler != nullptr) drawn = compiler->sequences();
  }
  void note(SequenceId sequence, int64_t value, bool is_last) const {
    if (drawn != nullptr) drawn->note(*session, sequence, value, is_last);
  }
};

int32_t draw(ExecContext* c, storage::Sequence* sequence, Datum* out) {
  const storage::SequenceDefinition& definition = sequence->definition();
  storage::SequenceState after;
  if (!sequence->draw(&after)) {
    const bool ascends = definition.increment > 0;
    return c->fail("2200H",
                   absl::StrCat("nextval: reached ", ascends ? "maximum" : "minimum", " value of sequence \"",
                                definition.name, "\" (", ascends ? definition.maximum : definition.minimum, ")"));
  }
  c->log->note_sequence(definition.id, after, /*drawn=*/true);
  DrawnBySession(c).note(definition.id, after.value, /*is_last=*/true);
  *out = int_datum(after.value);
  return 0;
}

extern "C" {

SCYPER_FUNCTION(nextval) {
  storage::Sequence* sequence = find_sequence(c, text_of(args[0]));
  return sequence == nullptr ? static_cast<int32_t>(Outcome::kError) : draw(c, sequence, out);
}

// (schemas of search_path, name): the name with the first schema that has such a sequence.
SCYPER_FUNCTION(sequence_on_path) {
  const std::string_view path = text_of(args[0]);
  const std::vector<std::string> schemas = absl::StrSplit(absl::string_view(path.data(), path.size()), '\n');
  return give_copy(c, out, sequence_on_path(*catalog_of(c), schemas, text_of(args[1])));
}

// (map of rights by name, name): the name. What the statement's role has made since may be used.
SCYPER_FUNCTION(permitted_sequence) {
  std::string may;
  const std::string key = object_key_of_text(text_of(args[1]));
  if (find_entry(text_of(args[0]), key, &may) && may == "f")
    return c->fail("42501", absl::StrCat("permission denied for sequence ", std::string(bare_name(key))));
  *out = args[1];
  return 0;
}
// ON CONFLICT DO UPDATE through a view: whether the row is in the view, and the view's name.
SCYPER_FUNCTION(visible_row) {
  if (args[0].null || args[0].lo == 0)
    return c->fail("55000",
                   absl::StrCat("conflicting row is not visible through view \"", std::string(text_of(args[1])), "\""));
  *out = args[0];
  return 0;
}
SCYPER_FUNCTION(nextval_of_id) {
  storage::Sequence* sequence = catalog_of(c)->find_sequence(SequenceId(static_cast<uint32_t>(args[0].lo)));
  if (sequence == nullptr) return c->fail("XX000", "the sequence of a column is missing");
  return draw(c, sequence, out);
}
SCYPER_FUNCTION(setval) {
  storage::Sequence* sequence = find_sequence(c, text_of(args[0]));
  if (sequence == nullptr) return static_cast<int32_t>(Outcome::kError);
  const storage::SequenceDefinition& definition = sequence->definition();
  const int64_t value = args[1].lo;
  if (value < definition.minimum || value > definition.maximum)
    return c->fail("22003", absl::StrCat("setval: value ", value, " is out of bounds for sequence \"", definition.name,
                                         "\" (", definition.minimum, "..", definition.maximum, ")"));
  const bool is_called = count < 3 || args[2].lo != 0;
  c->log->note_sequence(definition.id, sequence->set(value, is_called), /*drawn=*/is_called);
  if (is_called) DrawnBySession(c).note(definition.id, value, /*is_last=*/false);
  *out = int_datum(value);
  return 0;
}
SCYPER_FUNCTION(currval) {
  storage::Sequence* sequence = find_sequence(c, text_of(args[0]));
  if (sequence == nullptr) return static_cast<int32_t>(Outcome::kError);
  const DrawnBySession own(c);
  if (own.drawn != nullptr) {
    if (const auto value = own.drawn->value(*own.session, sequence->definition().id); value.has_value())
      return *out = int_datum(*value), 0;
  }
  const storage::SequenceState* drawn = c->log->drawn_from(sequence->definition().id);
  if (drawn == nullptr)
    return c->fail("55000", absl::StrCat("currval of sequence \"", sequence->definition().name,
                                         "\" is not yet defined in this session"));
  *out = int_datum(drawn->value);
  return 0;
}
// Of a sequence by its number: the value that it stands at, and whether that was drawn.
SCYPER_FUNCTION(sequence_value) {
  const storage::Sequence* sequence = catalog_of(c)->find_sequence(SequenceId(static_cast<uint32_t>(args[0].lo)));
  if (sequence == nullptr) return c->fail("XX000", "the sequence of a column is missing");
  *out = int_datum(sequence->state().value);
  return 0;
}
SCYPER_FUNCTION(sequence_called) {
  const storage::Sequence* sequence = catalog_of(c)->find_sequence(SequenceId(static_cast<uint32_t>(args[0].lo)));
  if (sequence == nullptr) return c->fail("XX000", "the sequence of a column is missing");
  return give_bool(out, sequence->state().is_called);
}
SCYPER_FUNCTION(sequence_last_value) {
  const auto catalog = catalog_of(c);
  for (const auto& [name, sequence] : catalog->sequences) {
    if (sequence_oid(*sequence) != args[0].lo) continue;
    const storage::SequenceState state = sequence->state();
    *out = state.is_called ? int_datum(state.value) : null_datum();
    return 0;
  }
  return c->fail("42P01", absl::StrCat("could not open relation with OID ", args[0].lo));
}
SCYPER_FUNCTION(lastval) {
  if (const DrawnBySession own(c); own.drawn != nullptr) {
    const auto last = own.drawn->last(*own.session);
    const bool is_there = last.has_value() && catalog_of(c)->find_sequence(*last) != nullptr;
    if (is_there) return *out = int_datum(own.drawn->value(*own.session, *last).value_or(0)), 0;
  }
  const storage::SequenceState* drawn = c->log->last_drawn();
  if (drawn == nullptr) return c->fail("55000", "lastval is not yet defined in this session");
  *out = int_datum(drawn->value);
  return 0;
}

}  // extern "C"

}  // namespace

SCYPER_DEFINE_DRAWN_FUNCTION(nextval, kInt8, 0)
SCYPER_DEFINE_DRAWN_FUNCTION(nextval_of_id, kInt8, kNoText)
SCYPER_DEFINE_FUNCTION(permitted_sequence)
SCYPER_DEFINE_FUNCTION(visible_row)
SCYPER_DEFINE_DRAWN_FUNCTION(setval, kInt8, 0)
SCYPER_DEFINE_DRAWN_FUNCTION(currval, kInt8, 0)
SCYPER_DEFINE_DRAWN_FUNCTION(lastval, kInt8, kNoText)
SCYPER_DEFINE_FUNCTION(sequence_on_path)
SCYPER_DEFINE_DRAWN_FUNCTION(sequence_value, kInt8, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(sequence_called, kBool, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(sequence_last_value, kInt8, kNoText)

}  // namespace scyper::query
