#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/explain_options.h"
#include "plan/plan.h"

namespace scyper::query {

inline constexpr char kDirectPlan[] = "Direct (through indexes, as written)";

// EXPLAIN ANALYZE: where generated code counts what a node does. Counters are numbered within a program; 0 is not used.
struct NodeCounters {
  uint32_t rows = 0;
  uint32_t ns = 0;     // while the node ran, what it called for its rows included
  uint32_t bytes = 0;  // of memory taken meanwhile
};
using PlanCounters = std::map<const PlanNode*, NodeCounters>;

// In the text of an analysed plan stands for a number that is known after the run (runtime/analysis.h): a counter, less
// others; or one form of the code, and others that it had before.
enum class CounterForm : char { kCount = 'n', kMilliseconds = 't', kKilobytes = 'k', kCode = 'c' };
constexpr char kCounterBegin = '\x01', kCounterEnd = '\x02';
std::string counter_text(CounterForm form, uint32_t counter, const std::vector<uint32_t>& less = {});

// A plan in PostgreSQL's manner with the estimates of this optimiser: as text, a node per line, then its pipelines; or
// as members of a JSON object. counters: nullptr without ANALYZE.
std::string explain_text(const Plan& plan, const ExplainOptions& options, const PlanCounters* counters);
std::string explain_json(const Plan& plan, const ExplainOptions& options, const PlanCounters* counters);
std::string show_expression(const BoundExpr& expr, const std::map<uint32_t, const Relation*>& relations);

// A run of operators that takes rows from one place and brings them, one by one, to where they are kept (explain.cc) or
// to the client.
struct PlanPipeline {
  const PlanNode* top = nullptr;           // the last operator that passes rows on
  const PlanNode* into = nullptr;          // the one that keeps them; nullptr: the result or a shared plan
  std::vector<const PlanNode*> operators;  // from the source to the top
  std::vector<const PlanNode*> inside;     // tops of pipelines that ran within its time
};
// In the order in which they finish.
std::vector<PlanPipeline> pipelines_of(const PlanNode& root);
bool keeps_input(const PlanNode& node, size_t input);

}  // namespace scyper::query
