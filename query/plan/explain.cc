#include "plan/explain.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "plan/expressions.h"
#include "plan/hot_view.h"
#include "query/foreign_table.h"
#include "types/datum_text.h"

namespace scyper::query {

namespace {

using Relations = std::map<uint32_t, const Relation*>;
using Lines = std::vector<std::pair<std::string, std::string>>;  // label, text

std::string show_constant(const BoundExpr& e) {
  if (e.value.null) return "NULL";
  std::string text;
  append_datum(&text, e.type, e.value);
  bool quoted = is_string(e.type.id) || e.type.id == TypeId::kUnknown || is_moment(e.type.id) ||
                (e.type.id >= TypeId::kInterval && e.type.id != TypeId::kFloat4);
  return quoted ? absl::StrCat("'", text, "'") : text;
}

std::string show_all(const std::vector<BoundPtr>& exprs, const Relations& relations, const char* separator) {
  return absl::StrJoin(exprs, separator, [&](std::string* out, const BoundPtr& e) {
    absl::StrAppend(out, show_expression(*e, relations));
  });
}

const char* name_of(AggregateKind kind) {
  switch (kind) {
    case AggregateKind::kCountStar:
    case AggregateKind::kCount:
      return "count";
    case AggregateKind::kSum:
      return "sum";
    case AggregateKind::kAvg:
      return "avg";
    case AggregateKind::kMin:
      return "min";
    case AggregateKind::kMax:
      return "max";
    default:
      return "aggregate";
  }
}

const char* name_of(JoinKind kind) {
  switch (kind) {
    case JoinKind::kInner:
      return "";
    case JoinKind::kLeft:
      return "Left ";
    case JoinKind::kFull:
      return "Full ";
    case JoinKind::kSemi:
      return "Semi ";
    case JoinKind::kAnti:
      return "Anti ";
    case JoinKind::kMark:
      return "Mark ";
    case JoinKind::kSingle:
      return "Single ";
  }
  return "";
}

const char* symbol_of(BuiltinOp op) {
  return op == BuiltinOp::kLess           ? "<"
         : op == BuiltinOp::kLessEqual    ? "<="
         : op == BuiltinOp::kGreater      ? ">"
         : op == BuiltinOp::kGreaterEqual ? ">="
                                          : "=";
}

std::string name_of_scan(const char* how, const std::string& table, const Relation& relation) {
  return absl::StrCat(how, table, table == relation.alias ? "" : " " + relation.alias);
}

bool is_foreign_scan(const PlanNode& node) {
  return node.kind == PlanKind::kFunction && node.source->kind == RelationKind::kForeign;
}

class Explainer {
 public:
  Explainer(const Plan& plan, const ExplainOptions& options, const PlanCounters* counters)
      : options_(options), counters_(counters) {
    for (const auto& shared : plan.shared) collect(*shared->plan);
    collect(*plan.root);
  }

  std::string title(const PlanNode& node) const {
    switch (node.kind) {
      case PlanKind::kOneRow:
        return "Result";
      case PlanKind::kGet: {
        const char* how = node.path.kind == AccessKind::kFullScan ? "Seq Scan on "
                          : node.path.kind == AccessKind::kPoint  ? "Index Lookup on "
                                                                  : "Index Scan on ";
        return name_of_scan(how, node.source->table->schema().name, *node.source);
      }
      case PlanKind::kFilter:
        return "Filter";
      case PlanKind::kMap:
        return "Project";
      case PlanKind::kInner:
        return "Inner Join";
      case PlanKind::kJoin: {
        const char* method = node.method == JoinMethod::kLookup        ? "Index Join"
                             : node.method == JoinMethod::kLoop        ? "Nested Loop Join"
                             : node.method == JoinMethod::kHashSwapped ? "Hash Join (left side hashed)"
                             : node.is_direct                          ? "Array Join"
                                                                       : "Hash Join";
        return absl::StrCat(name_of(node.join), method);
      }
      case PlanKind::kGroup:
        return node.aggregates.empty() ? "Distinct"
               : node.exprs.empty()    ? "Aggregate"
               : node.is_group_join    ? "Group Join"
                                       : "Hash Aggregate";
      case PlanKind::kSort:
        return node.order.empty() ? "Limit" : node.limit != nullptr ? "Top Sort" : "Sort";
      case PlanKind::kSetOp:
        return absl::StrCat(node.set == SetOp::kUnion       ? "Union"
                            : node.set == SetOp::kIntersect ? "Intersect"
                                                            : "Except",
                            node.set_all ? " All" : "");
      case PlanKind::kValues:
        return "Values";
      case PlanKind::kFunction:
        if (is_foreign_scan(node))
          return name_of_scan("Foreign Scan on ", node.source->foreign->shape.table, *node.source);
        return "Function Scan";
      case PlanKind::kShared:
        return absl::StrCat("Shared Scan ", node.shared->number);
      case PlanKind::kUnique:
        return "Unique";
      case PlanKind::kWindow:
        return "WindowAgg";
      case PlanKind::kRecursive:
        return "Recursive Union";
      case PlanKind::kWorking:
        return "Working Table Scan";
      case PlanKind::kSubquery:
        return "Dependent Subquery";
    }
    return "";
  }

  Lines details(const PlanNode& node) const {
    Lines lines;
    if (!node.keys.empty())
      lines.emplace_back("Hash Cond", absl::StrJoin(node.keys, " AND ", [&](std::string* out, const JoinKey& key) {
                           absl::StrAppend(out, show_expression(*key.left, relations_), " = ",
                                           show_expression(*key.right, relations_));
                         }));
    if (node.filter != 0) lines.emplace_back("Makes Filter", absl::StrCat(node.filter));
    for (const ScanFilter& filter : node.filters)
      lines.emplace_back(absl::StrCat("Passes Filter ", filter.number), show_all(filter.keys, relations_, ", "));
    if (is_foreign_scan(node)) lines.emplace_back("Foreign File", node.source->foreign->file);
    if (!node.tests.empty())
      lines.emplace_back("Unless Empty By Bounds",
                         absl::StrJoin(node.tests, ", ", [&](std::string* out, const BoundsTest& test) {
                           absl::StrAppend(out, show_expression(*test.left, relations_), " ", symbol_of(test.op), " ",
                                           show_expression(*test.right, relations_));
                         }));
    if (!node.conjuncts.empty())
      lines.emplace_back(node.kind == PlanKind::kJoin ? "Join Filter" : "Filter",
                         show_all(node.conjuncts, relations_, " AND "));
    if (node.kind == PlanKind::kGet && node.path.kind == AccessKind::kFullScan)
      if (std::string view = show_hot_view(*node.source, views_of(node.conjuncts)); !view.empty())
        lines.emplace_back("Hot Data View", std::move(view));
    if (!node.doubtful.empty()) lines.emplace_back("Mark Cond", show_all(node.doubtful, relations_, " AND "));
    if (node.kind == PlanKind::kGroup && !node.exprs.empty())
      lines.emplace_back("Group Key", show_all(node.exprs, relations_, ", "));
    if (node.places != 0)
      lines.emplace_back("Group Array", absl::StrCat(node.places_from, " to ", node.places_from + node.places - 1));
    if (node.kind == PlanKind::kMap) lines.emplace_back("Expressions", show_all(node.exprs, relations_, ", "));
    if (!node.aggregates.empty())
      lines.emplace_back("Aggregates", absl::StrJoin(node.aggregates, ", ", [&](std::string* out, const Aggregate& a) {
                           absl::StrAppend(out, name_of(a.kind), "(", a.distinct ? "DISTINCT " : "",
                                           a.args.empty() ? "*" : show_all(a.args, relations_, ", "), ")");
                         }));
    if (!node.windows.empty())
      lines.emplace_back("Functions", absl::StrCat(node.windows.size(), node.is_sorted ? ", input sorted" : ""));
    if (node.kind == PlanKind::kWindow && !node.exprs.empty())
      lines.emplace_back("Partition Key", show_all(node.exprs, relations_, ", "));
    if (options_.verbose && !node.needed.empty())
      lines.emplace_back("Output", absl::StrJoin(node.needed, ", ", [&](std::string* out, const PlanColumn& column) {
                           BoundPtr reference = make_reference(column.id, column.type, column.nullable);
                           absl::StrAppend(out, show_expression(*reference, relations_));
                         }));
    if (!node.order.empty())
      lines.emplace_back("Sort Key", absl::StrJoin(node.order, ", ", [&](std::string* out, const SortTerm& term) {
                           absl::StrAppend(out, show_expression(*term.expr, relations_),
                                           term.descending ? " DESC" : "");
                         }));
    return lines;
  }

  const NodeCounters* counters_of(const PlanNode& node) const {
    if (counters_ == nullptr) return nullptr;
    auto found = counters_->find(&node);
    return found == counters_->end() ? nullptr : &found->second;
  }

  void text(const PlanNode& node, int depth, std::string* out) const {
    absl::StrAppend(out, std::string(static_cast<size_t>(depth) * 2, ' '), depth > 0 ? "-> " : "", title(node));
    if (options_.costs)
      absl::StrAppend(out, "  (cost=", std::llround(node.cost / 1000), " rows=", std::llround(std::max(0.0, node.rows)),
                      ")");
    if (const NodeCounters* mine = counters_of(node))
      absl::StrAppend(out, " (actual rows=", counter_text(CounterForm::kCount, mine->rows), ")");
    absl::StrAppend(out, "\n");
    for (const auto& [label, line] : details(node))
      absl::StrAppend(out, std::string(static_cast<size_t>(depth) * 2 + 6, ' '), label, ": ", line, "\n");
    if (is_foreign_scan(node)) return;  // its input is one row of nothing
    for (const auto& input : node.inputs) text(*input, depth + 1, out);
  }

  std::string route(const PlanPipeline& pipeline) const {
    std::string path = absl::StrJoin(pipeline.operators, " -> ", [&](std::string* out, const PlanNode* node) {
      absl::StrAppend(out, title(*node));
    });
    return pipeline.into == nullptr ? path : absl::StrCat(path, " => ", title(*pipeline.into));
  }

  // Time and memory of one alone: without those that ran within it.
  std::string own(CounterForm form, const PlanPipeline& pipeline, uint32_t NodeCounters::* which) const {
    std::vector<uint32_t> less;
    for (const PlanNode* inside : pipeline.inside)
      if (const NodeCounters* its = counters_of(*inside)) less.push_back(its->*which);
    return counter_text(form, counters_of(*pipeline.top)->*which, less);
  }

  void pipelines_text(const PlanNode& root, int* number, std::string* out) const {
    for (const auto& pipeline : pipelines_of(root)) {
      if (counters_of(*pipeline.top) == nullptr) continue;
      absl::StrAppend(out, "Pipeline ", ++*number, ": ", route(pipeline), "  (");
      if (options_.timing)
        absl::StrAppend(out, "time=", own(CounterForm::kMilliseconds, pipeline, &NodeCounters::ns), " ms ");
      absl::StrAppend(out, "rows=", counter_text(CounterForm::kCount, counters_of(*pipeline.top)->rows),
                      " memory=", own(CounterForm::kKilobytes, pipeline, &NodeCounters::bytes), " kB)\n");
    }
  }

  void pipelines_json(const PlanNode& root, std::vector<std::string>* out) const {
    for (const auto& pipeline : pipelines_of(root)) {
      if (counters_of(*pipeline.top) == nullptr) continue;
      std::string text = absl::StrCat("      {\n        \"Operators\": ", quote(route(pipeline)));
      if (options_.timing)
        absl::StrAppend(&text,
                        ",\n        \"Actual Time\": ", own(CounterForm::kMilliseconds, pipeline, &NodeCounters::ns));
      absl::StrAppend(
          &text, ",\n        \"Actual Rows\": ", counter_text(CounterForm::kCount, counters_of(*pipeline.top)->rows),
          ",\n        \"Memory Usage\": ", own(CounterForm::kKilobytes, pipeline, &NodeCounters::bytes), "\n      }");
      out->push_back(std::move(text));
    }
  }

  static std::string quote(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      if (c == '\n')
        out += "\\n";
      else
        out += c;
    }
    return out + "\"";
  }

  void json(const PlanNode& node, int depth, std::string* out) const {
    std::string pad(static_cast<size_t>(depth) * 2, ' ');
    absl::StrAppend(out, pad, "{\n", pad, "  \"Node Type\": ", quote(title(node)));
    if (options_.costs)
      absl::StrAppend(out, ",\n", pad, "  \"Total Cost\": ", std::llround(node.cost / 1000), ",\n", pad,
                      "  \"Plan Rows\": ", std::llround(std::max(0.0, node.rows)));
    if (const NodeCounters* mine = counters_of(node))
      absl::StrAppend(out, ",\n", pad, "  \"Actual Rows\": ", counter_text(CounterForm::kCount, mine->rows));
    for (const auto& [label, line] : details(node))
      absl::StrAppend(out, ",\n", pad, "  ", quote(label), ": ", quote(line));
    if (!node.inputs.empty() && !is_foreign_scan(node)) {
      absl::StrAppend(out, ",\n", pad, "  \"Plans\": [\n");
      for (size_t i = 0; i < node.inputs.size(); i++) {
        json(*node.inputs[i], depth + 2, out);
        absl::StrAppend(out, i + 1 < node.inputs.size() ? ",\n" : "\n");
      }
      absl::StrAppend(out, pad, "  ]");
    }
    absl::StrAppend(out, "\n", pad, "}");
  }

 private:
  void collect(const PlanNode& node) {
    if (node.source != nullptr) relations_[node.relation] = node.source;
    for (const auto& input : node.inputs) collect(*input);
  }

  const ExplainOptions& options_;
  const PlanCounters* const counters_;
  Relations relations_;
};

}  // namespace

std::string show_expression(const BoundExpr& e, const Relations& relations) {
  auto arg = [&](size_t i) { return show_expression(*e.args[i], relations); };
  switch (e.kind) {
    case BoundKind::kConst:
      return show_constant(e);
    case BoundKind::kVariable:
      return absl::StrCat("$", e.index + 1);
    case BoundKind::kColumn: {
      auto it = relations.find(e.relation);
      if (it == relations.end()) return absl::StrCat("#", e.relation, ".", e.index + 1);
      return absl::StrCat(it->second->alias, ".", it->second->columns[e.index].name);
    }
    case BoundKind::kBuiltin: {
      bool symbol = !e.builtin->name.empty() && !std::isalpha(static_cast<unsigned char>(e.builtin->name[0]));
      if (symbol && e.args.size() == 2)
        return absl::StrCat("(", arg(0), " ", std::string(e.builtin->name), " ", arg(1), ")");
      return absl::StrCat(std::string(e.builtin->name), "(", show_all(e.args, relations, ", "), ")");
    }
    case BoundKind::kAnd:
      return absl::StrCat("(", show_all(e.args, relations, " AND "), ")");
    case BoundKind::kOr:
      return absl::StrCat("(", show_all(e.args, relations, " OR "), ")");
    case BoundKind::kNot:
      return absl::StrCat("NOT ", arg(0));
    case BoundKind::kIsNull:
      return absl::StrCat(arg(0), " IS NULL");
    case BoundKind::kDistinct:
      return absl::StrCat("(", arg(0), " IS DISTINCT FROM ", arg(1), ")");
    case BoundKind::kCast:
      return absl::StrCat(arg(0), "::", type_name(e.type));
    case BoundKind::kCase:
      return absl::StrCat("CASE(", show_all(e.args, relations, ", "), ")");
    case BoundKind::kCoalesce:
      return absl::StrCat("COALESCE(", show_all(e.args, relations, ", "), ")");
    default:
      return e.query != nullptr ? "(subquery)" : absl::StrCat("f(", show_all(e.args, relations, ", "), ")");
  }
}

std::string counter_text(CounterForm form, uint32_t counter, const std::vector<uint32_t>& less) {
  std::string text = absl::StrCat(std::string(1, kCounterBegin), std::string(1, static_cast<char>(form)), counter);
  for (uint32_t other : less) absl::StrAppend(&text, ",", other);
  return text + kCounterEnd;
}

namespace {
bool is_shown(const std::shared_ptr<SharedPlan>& shared) { return shared.use_count() > 1; }
}  // namespace

std::string explain_text(const Plan& plan, const ExplainOptions& options, const PlanCounters* counters) {
  Explainer explainer(plan, options, counters);
  std::string out;
  explainer.text(*plan.root, 0, &out);
  for (const auto& shared : plan.shared) {
    if (!is_shown(shared)) continue;
    absl::StrAppend(&out, "Shared ", shared->number, "\n");
    explainer.text(*shared->plan, 1, &out);
  }
  if (counters == nullptr) return out;
  int number = 0;
  for (const auto& shared : plan.shared)
    if (is_shown(shared)) explainer.pipelines_text(*shared->plan, &number, &out);
  explainer.pipelines_text(*plan.root, &number, &out);
  return out;
}

std::string explain_json(const Plan& plan, const ExplainOptions& options, const PlanCounters* counters) {
  Explainer explainer(plan, options, counters);
  std::string out = "    \"Plan\":\n";
  explainer.json(*plan.root, 2, &out);
  for (const auto& shared : plan.shared) {
    if (!is_shown(shared)) continue;
    absl::StrAppend(&out, ",\n    \"Shared ", shared->number, "\":\n");
    explainer.json(*shared->plan, 2, &out);
  }
  if (counters == nullptr) return out;
  std::vector<std::string> pipelines;
  for (const auto& shared : plan.shared)
    if (is_shown(shared)) explainer.pipelines_json(*shared->plan, &pipelines);
  explainer.pipelines_json(*plan.root, &pipelines);
  return absl::StrCat(out, ",\n    \"Pipelines\": [\n", absl::StrJoin(pipelines, ",\n"), "\n    ]");
}

}  // namespace scyper::query
