#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "compile/definition.h"
#include "parse/name_path.h"
#include "parse/printer.h"
#include "parse/scanner.h"
#include "parse/sql_parser.h"
#include "parse/text.h"

// What changes of tables mean for the texts of views that read them. A view keeps its columns: `*` is written out when
// the view is made, and a table or column that gets another name keeps the old one inside of the view, as an alias.
namespace scyper::query {

namespace {

// The names in the text of a view are looked up already.
class KnownNames : public NamePath {
 public:
  std::string key_of(NameKind /*kind*/, const std::string& name) const override { return name; }
};

class RenamedRelation final : public KnownNames {
 public:
  RenamedRelation(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  std::string key_of(NameKind kind, const std::string& name) const override {
    return kind == NameKind::kType && name == from_ ? to_ : name;
  }
  void change(ast::TableRef* ref) const override {
    if (ref->name.size() != 1 || ref->name[0] != from_) return;
    ref->name[0] = to_;
    if (ref->alias.name.empty() && bare_name(from_) != bare_name(to_)) ref->alias.name = bare_name(from_);
  }

 private:
  const std::string from_, to_;
};

// The columns of a table are called so inside of the view.
class NamedColumns final : public KnownNames {
 public:
  NamedColumns(std::string table, std::vector<std::string> columns)
      : table_(std::move(table)), columns_(std::move(columns)) {}
  void change(ast::TableRef* ref) const override {
    if (ref->name.size() != 1 || ref->name[0] != table_) return;
    if (ref->alias.name.empty()) ref->alias.name = bare_name(table_);
    auto& given = ref->alias.columns;
    for (size_t i = given.size(); i < columns_.size(); i++) given.push_back(columns_[i]);
  }

 private:
  const std::string table_;
  const std::vector<std::string> columns_;
};

// A column goes, which the view does not read: those behind it move up.
class WithoutColumn final : public KnownNames {
 public:
  WithoutColumn(std::string table, uint32_t column) : table_(std::move(table)), column_(column) {}
  void change(ast::TableRef* ref) const override {
    auto& given = ref->alias.columns;
    if (ref->name.size() == 1 && ref->name[0] == table_ && column_ < given.size())
      given.erase(given.begin() + static_cast<ptrdiff_t>(column_));
  }

 private:
  const std::string table_;
  const uint32_t column_;
};

// One column under a name that no view can know, whatever names it has been given there.
class HiddenName final : public KnownNames {
 public:
  HiddenName(std::string table, std::vector<std::string> columns, uint32_t column)
      : all_(table, std::move(columns)), table_(std::move(table)), column_(column) {}
  void change(ast::TableRef* ref) const override {
    all_.change(ref);
    if (ref->name.size() == 1 && ref->name[0] == table_ && column_ < ref->alias.columns.size())
      ref->alias.columns[column_] = " hidden column";
  }

 private:
  const NamedColumns all_;
  const std::string table_;
  const uint32_t column_;
};

class RenamedRoutine final : public KnownNames {
 public:
  RenamedRoutine(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  std::string key_of(NameKind kind, const std::string& name) const override {
    const bool is_routine = kind == NameKind::kRoutine || kind == NameKind::kCall;
    return is_routine && name == from_ ? to_ : name;
  }

 private:
  const std::string from_, to_;
};

StatusOr<std::string> changed_text(const std::string& text, const NamePath& path) {
  const NamePathScope scope(&path);
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(text, TextOf::kSystem));
  return to_sql(*statements[0]);
}

std::vector<std::string> column_names(const storage::TableSchema& schema) {
  std::vector<std::string> names;
  for (size_t c = 0; c < storage::visible_columns(schema); c++) names.push_back(schema.columns[c].name);
  return names;
}

// What each `*` stands for, by its place in the text.
using Stars = std::map<int32_t, std::vector<std::string>>;

// Whether `*` or `t.*` stands there.
bool is_star(const std::vector<Token>& tokens, int32_t location) {
  auto token = std::find_if(tokens.begin(), tokens.end(), [&](const Token& t) { return t.begin == location; });
  while (token != tokens.end() && token->text != "*") {
    if (std::next(token) == tokens.end() || std::next(token)->text != ".") return false;
    token += 2;
  }
  return location >= 0 && token != tokens.end();
}

// Those of the select lists that give the rows themselves: what can be seen of a view. False: not to be told.
bool find_stars(const BoundQuery& query, const std::vector<Token>& tokens, Stars* stars) {
  if (query.set != SetOp::kNone)
    return find_stars(*query.left, tokens, stars) && find_stars(*query.right, tokens, stars);
  for (const auto& output : query.outputs) {
    if (output.hidden || !is_star(tokens, output.expr->location)) continue;
    if (output.expr->kind != BoundKind::kColumn) return false;
    const auto from = std::find_if(query.from.begin(), query.from.end(), [&](const FromEntry& entry) {
      return entry.relation != nullptr && entry.relation->id == output.expr->relation;
    });
    if (from == query.from.end() || from->relation->alias.empty()) return false;
    (*stars)[output.expr->location].push_back(
        absl::StrCat(quote_identifier(from->relation->alias), ".", quote_identifier(output.name)));
  }
  return true;
}

bool have_same_columns(const BoundQuery& a, const BoundQuery& b) {
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    [](const OutputColumn& x, const OutputColumn& y) {
                      return x.name == y.name && x.hidden == y.hidden && x.expr->type == y.expr->type;
                    });
}

bool reads(const std::vector<std::string>& relations, const std::string& name) {
  return std::find(relations.begin(), relations.end(), name) != relations.end();
}

}  // namespace

// The text where it says what `*` means today.
std::string Definer::with_stars_expanded(const std::string& text) const {
  const Catalog& catalog = next_ != nullptr ? *next_ : *old_;
  auto statements = parse_sql(text, TextOf::kSystem);
  if (!statements.ok()) return text;
  Binder binder(catalog, text);
  binder.allow_unpopulated();
  const auto program = binder.bind_statement(*(*statements)[0], {});
  const auto tokens = scan(text);
  Stars stars;
  if (!program.ok() || !tokens.ok() || (*program)->query == nullptr || !find_stars(*(*program)->query, *tokens, &stars))
    return text;
  std::string out;
  size_t done = 0;
  for (const auto& [location, columns] : stars) {
    auto token = std::find_if(tokens->begin(), tokens->end(), [&](const Token& t) { return t.begin >= location; });
    while (token != tokens->end() && token->text != "*") ++token;
    if (location < 0 || token == tokens->end()) return text;
    out += text.substr(done, static_cast<size_t>(location) - done);
    for (size_t i = 0; i < columns.size(); i++) absl::StrAppend(&out, i == 0 ? "" : ", ", columns[i]);
    done = static_cast<size_t>(token->end);
  }
  out += text.substr(done);
  auto again = parse_sql(out, TextOf::kSystem);
  Binder check(catalog, out);
  check.allow_unpopulated();
  if (!again.ok()) return text;
  // a column that USING merges has no name of one relation: then the star stays
  const auto checked = check.bind_statement(*(*again)[0], {});
  return checked.ok() && have_same_columns(*(*program)->query, *(*checked)->query) ? out : text;
}

// Views and materialized views whose own text names the relation.
std::vector<std::string> Definer::readers_of(const std::string& name) const {
  const Catalog& catalog = next_ != nullptr ? *next_ : *old_;
  std::vector<std::string> found;
  for (const auto& [other, view] : catalog.views)
    if (view->foreign == nullptr && view->partition == nullptr && reads(view->relations, name)) found.push_back(other);
  for (const auto& [other, view] : catalog.materialized_views)
    if (reads(view->relations, name)) found.push_back(other);
  return found;
}

const std::string& Definer::query_of_view(const std::string& name) const {
  const Catalog& catalog = next_ != nullptr ? *next_ : *old_;
  const MaterializedView* materialized = catalog.find_materialized_view(name);
  return materialized != nullptr ? materialized->query : catalog.views.find(name)->second->query;
}

// The relations of next() are as they will be.
Status Definer::change_views(const std::vector<std::string>& views, const NamePath& path) {
  for (const std::string& name : views) {
    SCYPER_ASSIGN_OR_RETURN(std::string text, changed_text(query_of_view(name), path));
    SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(text, TextOf::kSystem));
    Binder binder(next(), text);
    binder.allow_unpopulated();
    if (!binder.bind_statement(*statements[0], {}).ok())
      return error("0A000", absl::StrCat("renaming what view \"", name, "\" reads is not supported"), -1);
    const std::vector<std::string> relations(binder.used_relations().begin(), binder.used_relations().end());
    if (const MaterializedView* materialized = next().find_materialized_view(name); materialized != nullptr) {
      auto changed = std::make_shared<MaterializedView>(*materialized);
      changed->query = std::move(text);
      changed->relations = relations;
      next().materialized_views[name] = std::move(changed);
    } else {
      auto changed = std::make_shared<View>(*next().views[name]);
      changed->query = std::move(text);
      changed->relations = relations;
      next().views[name] = std::move(changed);
    }
  }
  return absl::OkStatus();
}

Status Definer::rename_below_views(const std::string& from, const std::string& to) {
  return change_views(readers_of(from), RenamedRelation(from, to));
}

// columns: as the relation has called them until now.
Status Definer::rename_column_below_views(const std::string& name, const std::vector<std::string>& columns) {
  return change_views(readers_of(name), NamedColumns(name, columns));
}

Status Definer::drop_column_below_views(const std::string& name, uint32_t column) {
  return change_views(readers_of(name), WithoutColumn(name, column));
}

// Of one that has no namesake: a text does not say which of them it calls.
Status Definer::rename_routine_in_views(const std::string& from, const std::string& to) {
  std::vector<std::string> views;
  const auto mentions = [&](const std::string& text) { return text.find(bare_name(from)) != std::string::npos; };
  for (const auto& [name, view] : next().views)
    if (view->foreign == nullptr && mentions(view->query)) views.push_back(name);
  for (const auto& [name, view] : next().materialized_views)
    if (mentions(view->query)) views.push_back(name);
  return change_views(views, RenamedRoutine(from, to));
}

Status Definer::rename_view_column(const std::string& name, const std::string& from, const std::string& to) {
  const View& view = *next().views[name];
  const std::vector<std::string> before = view.column_names;
  const auto column = std::find(before.begin(), before.end(), from);
  if (column == before.end()) return error("42703", absl::StrCat("column \"", from, "\" does not exist"), -1);
  if (std::find(before.begin(), before.end(), to) != before.end())
    return error("42701", absl::StrCat("column \"", to, "\" of relation \"", name, "\" already exists"), -1);
  auto changed = std::make_shared<View>(view);
  changed->column_names[static_cast<size_t>(column - before.begin())] = to;
  next().views[name] = std::move(changed);
  return rename_column_below_views(name, before);
}

// Whether the view's text asks for that column: it fails where the column has another name.
bool Definer::view_reads(const std::string& view, const std::string& name, uint32_t column) const {
  const Catalog& catalog = next_ != nullptr ? *next_ : *old_;
  const auto table = catalog.find_table(name);
  auto text = changed_text(query_of_view(view), HiddenName(name, column_names(table->schema()), column));
  if (!text.ok()) return true;
  auto statements = parse_sql(*text, TextOf::kSystem);
  Binder binder(catalog, *text);
  binder.allow_unpopulated();
  return !statements.ok() || !binder.bind_statement(*(*statements)[0], {}).ok();
}

// Of a column that goes: views that read it go too, or keep it from going.
Status Definer::drop_readers(const std::string& name, uint32_t column, bool cascade, ResultSet* result) {
  const std::string what =
      absl::StrCat("column ", next().find_table(name)->schema().columns[column].name, " of table ", name);
  std::vector<std::string> readers, details;
  for (const std::string& view : readers_of(name)) {
    if (!view_reads(view, name, column)) continue;
    readers.push_back(view);
    details.push_back(absl::StrCat(relation_word(view), " ", view, " depends on ", what));
    for (const std::string& other : dependents_of(view)) {
      if (std::find(readers.begin(), readers.end(), other) != readers.end()) continue;
      readers.push_back(other);
      details.push_back(absl::StrCat(relation_word(other), " ", other, " depends on ", relation_word(view), " ", view));
    }
  }
  if (readers.empty()) return absl::OkStatus();
  if (!cascade) {
    std::string detail;
    for (const std::string& line : details) absl::StrAppend(&detail, detail.empty() ? "" : "\n", line);
    return with_hint(
        with_detail(error("2BP01", absl::StrCat("cannot drop ", what, " because other objects depend on it"), -1),
                    detail),
        "Use DROP ... CASCADE to drop the dependent objects too.");
  }
  result->notices.push_back(readers.size() == 1
                                ? absl::StrCat("NOTICE:  drop cascades to ", relation_word(readers[0]), " ", readers[0])
                                : absl::StrCat("NOTICE:  drop cascades to ", readers.size(), " other objects"));
  for (const std::string& view : readers)
    next().find_materialized_view(view) != nullptr ? erase_table(view) : erase_view(view);
  return absl::OkStatus();
}

// Of a column that gets another type.
Status Definer::check_unread(const std::string& name, uint32_t column) {
  next();
  for (const std::string& view : readers_of(name)) {
    if (!view_reads(view, name, column)) continue;
    return with_detail(error("0A000", "cannot alter type of a column used by a view or rule", -1),
                       absl::StrCat("rule _RETURN on ", relation_word(view), " ", view, " depends on column \"",
                                    next().find_table(name)->schema().columns[column].name, "\""));
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
