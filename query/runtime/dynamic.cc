#include <algorithm>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "compile/compiler.h"
#include "compile/program_parts.h"
#include "compile/temporary.h"
#include "compile/transition_scope.h"
#include "parse/plpgsql_ast.h"
#include "query/deferred_checks.h"
#include "query/definitions.h"
#include "query/open_cursor.h"
#include "query/program.h"
#include "query/search_path.h"
#include "runtime/functions_record.h"
#include "runtime/memory.h"
#include "runtime/runtime.h"
#include "runtime/windows.h"
#include "runtime/zone.h"
#include "types/datum_text.h"
#include "types/timezone.h"

// What statements made at run time and cursors need.
namespace scyper::query {

extern "C" {
int32_t rt_rows_create(ExecContext*, const SqlType*, int64_t) noexcept;
int32_t rt_rows_append(ExecContext*, RowBuffer*, const Datum*) noexcept;
void rt_note_transition(int64_t, int64_t) noexcept;
int32_t rt_execute(ExecContext*, const char*, int64_t, const Datum*, const SqlType*, int64_t, int64_t) noexcept;
int32_t rt_rows_match(ExecContext*, const RowSet*, const SqlType*, int64_t) noexcept;
int32_t rt_rows_fetch(ExecContext*, const RowSet*, int64_t, const SqlType*, int64_t, Datum*) noexcept;
int32_t rt_rows_fields(ExecContext*, const RowSet*, int64_t, const char*, int64_t, Datum*) noexcept;
int32_t rt_row_set(ExecContext*, RowBuffer*, const char*) noexcept;
int32_t rt_portal_open(ExecContext*, RowSet*, Datum*, int64_t) noexcept;
int32_t rt_portal_fetch(ExecContext*, const Datum*, int64_t, const Datum*, int64_t) noexcept;
int32_t rt_portal_close(ExecContext*, const Datum*) noexcept;
int32_t rt_portal_current(ExecContext*, const Datum*, const char*, int64_t, Datum*) noexcept;
int32_t rt_end_transaction(ExecContext*, int64_t, int64_t) noexcept;
}

namespace {

const SqlType kText = make_type(TypeId::kText);

std::string_view view_of(const Datum& text) { return {text.data(), text.size()}; }

template <class T>
T* allocate(ExecContext* c, size_t count) {
  char* memory = c->scratch->allocate(count * sizeof(T));
  if (memory == nullptr) return nullptr;
  return new (memory) T[count]();
}

// The result of a statement as rows in the transaction's memory.
int32_t keep_rows(ExecContext* c, const ResultSet& result, RowSet* out) {
  size_t width = result.columns.size();
  auto* types = allocate<SqlType>(c, std::max<size_t>(1, width));
  auto* names = allocate<Datum>(c, std::max<size_t>(1, width));
  if (types == nullptr || names == nullptr) return fail_memory(c);
  for (size_t i = 0; i < width; i++) {
    types[i] = result.columns[i].type;
    names[i] = string_datum(result.columns[i].name.data(), result.columns[i].name.size());
    if (!copy_datum(c, kText, &names[i])) return fail_memory(c);
  }
  if (int32_t failed = rt_rows_create(c, types, static_cast<int64_t>(width)); failed != 0) return failed;
  out->buffer = reinterpret_cast<RowBuffer*>(c->value[0]);
  out->names = names;
  for (size_t row = 0; row < result.row_count(); row++)
    if (int32_t failed = rt_rows_append(c, out->buffer, &result.value(row, 0)); failed != 0) return failed;
  return 0;
}

// A whole row; -1: of NULLs.
int32_t image_of(ExecContext* c, const RowSet& set, int64_t row, Datum* out) {
  const RowBuffer& buffer = *set.buffer;
  std::vector<ImageField> fields;
  for (int64_t i = 0; i < buffer.width; i++) {
    if (view_of(set.names[i]).starts_with('\001')) continue;  // for WHERE CURRENT OF
    ImageField& field = fields.emplace_back();
    field.type = buffer.types[i];
    field.name = view_of(set.names[i]);
    if (row < 0 || buffer.rows[row * buffer.width + i].null) continue;
    field.null = false;
    append_datum(&field.text, field.type, buffer.rows[row * buffer.width + i]);
  }
  const std::string image = write_image(fields);
  *out = string_datum(image.data(), image.size());
  return copy_datum(c, kText, out) ? 0 : fail_memory(c);
}

// A definition that is run by EXECUTE, or stands for a statement.
int32_t define(ExecContext* c, std::string_view sql, const Datum* arguments, const std::vector<SqlType>& types,
               bool wants_rows) {
  if (wants_rows) return c->fail("42601", "INTO used with a command that cannot return data");
  if (Definitions::current == nullptr) return c->fail("0A000", "definitions are not supported here");
  const uint64_t affected = c->affected_rows;
  Status status = Definitions::current->define(c, sql, arguments, types);
  const uint64_t changed = std::exchange(c->affected_rows, affected);
  if (!status.ok())  // no handler hides what is not supported
    return c->fail(status, /*catchable=*/sqlstate_of(status) != "0A000");
  auto* set = allocate<RowSet>(c, 1);
  if (set == nullptr) return fail_memory(c);
  if (int32_t failed = keep_rows(c, ResultSet(), set); failed != 0) return failed;
  c->value[0] = reinterpret_cast<int64_t>(set);
  c->value[1] = static_cast<int64_t>(changed);
  c->value[2] = 0;
  return 0;
}

// Texts whose type the statement decides: fields of records that dynamic SQL filled.
int32_t fit_arguments(ExecContext* c, const Program& program, const Datum* arguments,
                      const std::vector<SqlType>& types) {
  const auto& wanted = program.parameter_types();
  for (size_t i = 0; i < wanted.size() && i < types.size(); i++) {
    if (types[i].id != TypeId::kUnknown || wanted[i].id == TypeId::kText || arguments[i].null) continue;
    auto* argument = const_cast<Datum*>(&arguments[i]);  // in the caller's frame
    if (int32_t failed = cast_datum(c, arguments[i], kText, wanted[i], false, argument); failed != 0) return failed;
  }
  return 0;
}

// The arguments of a statement that sees transition tables: behind the given ones the addresses of their rows. Empty:
// it sees none.
std::vector<Datum> with_transitions(const Trigger* trigger, const Program& program, const Datum* arguments) {
  const size_t count = trigger == nullptr ? 0 : transition_names(*trigger).size();
  if (count == 0) return {};
  std::vector<Datum> all(arguments, arguments + (program.parameter_types().size() - count));
  for (size_t i = 0; i < count; i++) all.push_back(int_datum(RunningProgram::innermost()->transition(i)));
  return all;
}

Portal* find_portal(ExecContext* c, const Datum& name) {
  Portal* portal = c->portals;
  while (portal != nullptr && view_of(portal->name) != view_of(name)) portal = portal->next;
  return portal;
}

int32_t with_scroll_hint(ExecContext* c) {
  int32_t outcome = c->fail("55000", "cursor can only scan forward");
  c->error.hint = "Declare it with SCROLL option to enable backward scan.";
  return outcome;
}

// Moves by one direction and count. Returns the row reached, -1 = none; *moved: rows passed over.
int64_t move(Portal* p, plpgsql::FetchDirection direction, int64_t count, int64_t* moved) {
  using Direction = plpgsql::FetchDirection;
  const int64_t rows = p->rows.buffer->count;
  int64_t from = p->position, to = from;
  switch (direction) {
    case Direction::kNext:
    case Direction::kForward:
    case Direction::kRelative:
      to = from + count;
      break;
    case Direction::kPrior:
    case Direction::kBackward:
      to = from - count;
      break;
    case Direction::kFirst:
      to = 1;
      break;
    case Direction::kLast:
      to = rows;
      break;
    case Direction::kAbsolute:
      to = count >= 0 ? count : rows + 1 + count;
      break;
  }
  p->position = std::clamp<int64_t>(to, 0, rows + 1);
  bool on_row = p->position >= 1 && p->position <= rows;
  bool counts = direction == Direction::kForward || direction == Direction::kBackward;
  if (!counts) {
    *moved = on_row ? 1 : 0;
  } else if (count == 0) {
    *moved = on_row ? 1 : 0;
  } else {  // rows visited on the way
    int64_t low = std::min(from, p->position), high = std::max(from, p->position);
    bool forward = p->position > from;
    *moved = forward ? std::min(high, rows) - low : std::min(high, rows + 1) - std::max<int64_t>(low, 1);
    if (p->position == from) *moved = 0;
  }
  return on_row ? p->position - 1 : -1;
}

}  // namespace

extern "C" {

void rt_note_transition(int64_t place, int64_t rows) noexcept {
  RunningProgram::note_transition(static_cast<size_t>(place), rows);
}

int32_t rt_execute(ExecContext* c, const char* text, int64_t size, const Datum* args, const SqlType* types,
                   int64_t count, int64_t wants_rows) noexcept {
  const ProgramParts& parts = c->program->parts();
  if (parts.compiler == nullptr) return c->fail("0A000", "dynamic SQL is not supported in queries on snapshots");
  if (auto several = Compiler::split({text, static_cast<size_t>(size)}); several.size() > 1) {
    for (const std::string& one : several)  // the last one's answer counts
      if (int32_t failed = rt_execute(c, one.data(), static_cast<int64_t>(one.size()), args, types, count,
                                      &one == &several.back() ? wants_rows : 0);
          failed != 0)
        return failed;
    return 0;
  }
  std::vector<SqlType> given(types, types + count);
  Definitions* definitions = Definitions::current;
  const auto catalog = definitions != nullptr ? definitions->catalog() : parts.catalog;
  const auto path = with_temporary(parts.search_path, *catalog, session_temporary_schema());
  const std::string sql = with_roles(
      parts.roles, with_time_zone(session_zone_mark(), with_search_path(path, {text, static_cast<size_t>(size)})));
  const auto compile = [&] {
    const TransitionScope transitions(parts.trigger.get());
    const BoundedWork work(work_bounds(c));
    return parts.compiler->dynamic_program(sql, given, catalog);
  };
  auto made = compile();
  if (!made.ok()) return c->fail(made.status());
  if (*made == nullptr) return define(c, sql, args, given, wants_rows != 0);
  const Program& program = **made;
  c->pins.push_back(*made);
  if (int32_t failed = fit_arguments(c, program, args, given); failed != 0) return failed;
  ResultSet rows;
  rows.columns = program.columns();
  ResultSet* result = std::exchange(c->result, &rows);
  RowSink* sink = std::exchange(c->sink, nullptr);
  uint64_t affected = std::exchange(c->affected_rows, 0);
  const std::vector<Datum> all = with_transitions(parts.trigger.get(), program, args);
  int32_t outcome = program.run_nested(c, all.empty() ? args : all.data(), nullptr);
  c->result = result;
  c->sink = sink;
  uint64_t changed = std::exchange(c->affected_rows, affected);
  if (outcome != 0) {
    if (!c->error.set) return c->fail("0A000", "dynamic SQL outside of the transaction's partition is not supported");
    return outcome;
  }
  auto* set = allocate<RowSet>(c, 1);
  if (set == nullptr) return fail_memory(c);
  if (wants_rows != 0 && rows.columns.empty())
    return c->fail("42601", "INTO used with a command that cannot return data");
  if (int32_t failed = keep_rows(c, rows, set); failed != 0) return failed;
  c->value[0] = reinterpret_cast<int64_t>(set);
  c->value[1] = static_cast<int64_t>(rows.columns.empty() ? changed : rows.row_count());
  c->value[2] = rows.columns.empty() ? 0 : 1;
  return 0;
}

int32_t rt_rows_match(ExecContext* c, const RowSet* set, const SqlType* to, int64_t count) noexcept {
  std::vector<std::string> given, expected;
  for (int64_t i = 0; i < set->buffer->width; i++) given.push_back(plain_name(set->buffer->types[i]));
  for (int64_t i = 0; i < count; i++) expected.push_back(plain_name(to[i]));
  Status status = check_returned_types(given, expected, "structure of query does not match function result type");
  return status.ok() ? 0 : c->fail(status);
}

int32_t rt_rows_fetch(ExecContext* c, const RowSet* set, int64_t row, const SqlType* to, int64_t count,
                      Datum* out) noexcept {
  const RowBuffer& buffer = *set->buffer;
  for (int64_t i = 0; i < count; i++) {
    out[i] = null_datum();
    if (row < 0 || i >= buffer.width) continue;
    const Datum& value = buffer.rows[row * buffer.width + i];
    if (value.null) continue;
    if (buffer.types[i] == to[i]) {
      out[i] = value;
    } else if (int32_t failed = cast_datum(c, value, buffer.types[i], to[i], false, &out[i]); failed != 0) {
      return failed;
    }
  }
  return 0;
}

int32_t rt_rows_fields(ExecContext* c, const RowSet* set, int64_t row, const char* names, int64_t count,
                       Datum* out) noexcept {
  const RowBuffer& buffer = *set->buffer;
  for (int64_t i = 0; i < count; i++, names += std::strlen(names) + 1) {
    out[i] = null_datum();
    if (names == kRecordImage) {
      if (int32_t failed = image_of(c, *set, row, &out[i]); failed != 0) return failed;
      continue;
    }
    int64_t column = 0;
    while (column < buffer.width && view_of(set->names[column]) != names) column++;
    if (column == buffer.width && row == kEmptyLoop) continue;  // nothing was read
    if (column == buffer.width) return c->fail("42703", absl::StrCat("record has no field \"", names, "\""));
    if (row < 0) continue;
    const Datum& value = buffer.rows[row * buffer.width + column];
    if (value.null) continue;
    std::string text;
    append_datum(&text, buffer.types[column], value);
    out[i] = string_datum(text.data(), text.size());
    if (!copy_datum(c, kText, &out[i])) return fail_memory(c);
  }
  return 0;
}

int32_t rt_row_set(ExecContext* c, RowBuffer* buffer, const char* names) noexcept {
  auto* set = allocate<RowSet>(c, 1);
  auto* texts = allocate<Datum>(c, static_cast<size_t>(std::max<int64_t>(1, buffer->width)));
  if (set == nullptr || texts == nullptr) return fail_memory(c);
  for (int64_t i = 0; i < buffer->width; i++, names += std::strlen(names) + 1)
    texts[i] = string_datum(names, std::strlen(names));
  set->buffer = buffer;
  set->names = texts;
  c->value[0] = reinterpret_cast<int64_t>(set);
  return 0;
}

int32_t rt_portal_open(ExecContext* c, RowSet* rows, Datum* name, int64_t options) noexcept {
  if (name->null) {
    std::string made = absl::StrCat("<unnamed portal ", ++c->unnamed_portals, ">");
    *name = string_datum(made.data(), made.size());
    if (!copy_datum(c, kText, name)) return fail_memory(c);
  }
  if (find_portal(c, *name) != nullptr)
    return c->fail("42P03", absl::StrCat("cursor \"", std::string(view_of(*name)), "\" already in use"));
  auto* portal = allocate<Portal>(c, 1);
  if (portal == nullptr) return fail_memory(c);
  portal->next = c->portals;
  portal->name = *name;
  if (!copy_datum(c, kText, &portal->name)) return fail_memory(c);
  portal->rows = *rows;
  portal->options = options;
  c->portals = portal;
  return 0;
}

int32_t rt_portal_fetch(ExecContext* c, const Datum* name, int64_t direction, const Datum* count,
                        int64_t moves) noexcept {
  if (name->null)
    return c->fail("22004", absl::StrCat("cursor variable \"", std::string(view_of(name[1])), "\" is null"));
  Portal* portal = find_portal(c, *name);
  if (portal == nullptr)
    return c->fail("34000", absl::StrCat("cursor \"", std::string(view_of(*name)), "\" does not exist"));
  if (count->null) return c->fail("22004", "relative or absolute cursor position is null");
  auto way = static_cast<plpgsql::FetchDirection>(direction);
  using Direction = plpgsql::FetchDirection;
  int64_t n = way == Direction::kNext || way == Direction::kPrior ? 1 : count->lo;
  bool back = way == Direction::kPrior || way == Direction::kFirst || way == Direction::kLast ||
              (way == Direction::kBackward && n > 0) || (way == Direction::kForward && n < 0) ||
              (way == Direction::kRelative && n < 0) || way == Direction::kAbsolute;
  int64_t target = way == Direction::kFirst ? 1 : way == Direction::kAbsolute ? n : INT64_MAX;
  if ((way == Direction::kFirst || way == Direction::kAbsolute) && target > portal->position) back = false;
  if (way == Direction::kLast) back = false;
  if (back && (portal->options & kPortalScrolls) == 0) return with_scroll_hint(c);
  int64_t moved = 0;
  int64_t row = move(portal, way, n, &moved);
  c->value[0] = reinterpret_cast<int64_t>(&portal->rows);
  c->value[1] = row;
  c->value[2] = moves != 0 ? moved : row >= 0 ? 1 : 0;
  return 0;
}

int32_t rt_portal_close(ExecContext* c, const Datum* name) noexcept {
  if (name->null)
    return c->fail("22004", absl::StrCat("cursor variable \"", std::string(view_of(name[1])), "\" is null"));
  Portal** link = &c->portals;
  while (*link != nullptr && view_of((*link)->name) != view_of(*name)) link = &(*link)->next;
  if (*link == nullptr)
    return c->fail("34000", absl::StrCat("cursor \"", std::string(view_of(*name)), "\" does not exist"));
  *link = (*link)->next;
  return 0;
}

int32_t rt_portal_current(ExecContext* c, const Datum* name, const char* column, int64_t count, Datum* out) noexcept {
  if (name->null)
    return c->fail("22004", absl::StrCat("cursor variable \"", std::string(view_of(name[1])), "\" is null"));
  const Portal* portal = find_portal(c, *name);
  if (portal == nullptr)
    return c->fail("34000", absl::StrCat("cursor \"", std::string(view_of(*name)), "\" does not exist"));
  const RowBuffer& buffer = *portal->rows.buffer;
  int64_t first = -1, found = 0;
  for (int64_t i = 0; i < buffer.width; i++) {
    if (view_of(portal->rows.names[i]) != column) continue;
    first = i;
    found++;
  }
  const char* table = column + std::strlen(column) + 1;
  auto fail = [&](const char* what) {
    return c->fail("24000",
                   absl::StrCat("cursor \"", std::string(view_of(*name)), "\" ", what, " table \"", table, "\""));
  };
  if ((portal->options & kPortalTracks) == 0)
    return c->fail("0A000",
                   "WHERE CURRENT OF a cursor of dynamic SQL, or of another routine without FOR UPDATE, is not "
                   "supported");
  if (found > 1) return fail("has multiple FOR UPDATE/SHARE references to");
  if (found == 0)
    return fail((portal->options & kPortalLocks) != 0 ? "does not have a FOR UPDATE/SHARE reference to"
                                                      : "is not a simply updatable scan of");
  if (portal->position < 1 || portal->position > buffer.count)
    return c->fail("24000", absl::StrCat("cursor \"", std::string(view_of(*name)), "\" is not positioned on a row"));
  for (int64_t i = 0; i < count; i++) out[i] = buffer.rows[(portal->position - 1) * buffer.width + first + i];
  return 0;
}

int32_t rt_end_transaction(ExecContext* c, int64_t commit, int64_t in_handlers) noexcept {
  if (in_handlers != 0)
    return c->fail("2D000", commit != 0 ? "cannot commit while a subtransaction is active"
                                        : "cannot roll back while a subtransaction is active");
  if (c->end_transaction == nullptr) return c->fail("2D000", "invalid transaction termination");
  if (c->deferred != nullptr) {
    if (commit != 0 && !c->deferred->empty())
      if (int32_t outcome = c->deferred->check(c); outcome != 0) return outcome;
    c->deferred->begin(/*is_block=*/false);
  }
  c->portals = nullptr;
  forget_scans(c);
  if (int32_t outcome = c->end_transaction(c->end_transaction_owner, c, commit != 0); outcome != 0) return outcome;
  follow_time_zone(c);  // what was set until the end of the transaction is over
  return 0;
}

}  // extern "C"

void keep_open_cursors(const ExecContext& context, std::vector<OpenCursor>* to) {
  const auto first = static_cast<ptrdiff_t>(to->size());
  for (const Portal* portal = context.portals; portal != nullptr; portal = portal->next) {
    OpenCursor& cursor = to->emplace_back();
    cursor.name = view_of(portal->name);
    cursor.position = portal->position;
    cursor.is_scrolling = (portal->options & kPortalScrolls) != 0;
    const RowBuffer& buffer = *portal->rows.buffer;
    std::vector<int64_t> shown;
    for (int64_t i = 0; i < buffer.width; i++) {
      const std::string_view name = view_of(portal->rows.names[i]);
      if (name.starts_with('\001')) continue;  // for WHERE CURRENT OF
      shown.push_back(i);
      cursor.rows.columns.push_back({std::string(name), buffer.types[i]});
    }
    for (int64_t row = 0; row < buffer.count; row++)
      for (const int64_t column : shown)
        cursor.rows.append(buffer.types[column], buffer.rows[row * buffer.width + column]);
  }
  std::reverse(to->begin() + first, to->end());
}

}  // namespace scyper::query
