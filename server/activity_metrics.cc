#include "activity_metrics.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "metric_families.h"
#include "query/catalog.h"
#include "replay/compaction.h"
#include "secondary_engine.h"

namespace scyper::server {

namespace {

constexpr MetricType kCounter = MetricType::kCounter, kGauge = MetricType::kGauge;

double number(uint64_t value) { return static_cast<double>(value); }

void add_procedures(const primary::Engine::Activity& activity, MetricFamilies* out) {
  constexpr char kOutcomes[] = "scyper_procedure_transactions_total";
  constexpr char kOutcomesHelp[] = "Transactions that ran, by procedure (empty: all other statements) and outcome.";
  constexpr char kTimes[] = "scyper_procedure_duration_seconds";
  constexpr char kTimesHelp[] =
      "Of one transaction in 64: how long it waited for its worker (wait) and ran (run). Commits are made durable "
      "behind that.";
  for (const primary::Engine::Activity::Procedure& procedure : activity.procedures) {
    const std::string& name = procedure.name;
    out->add(kOutcomes, kOutcomesHelp, kCounter, {{"procedure", name}, {"outcome", "committed"}},
             number(procedure.committed));
    out->add(kOutcomes, kOutcomesHelp, kCounter, {{"procedure", name}, {"outcome", "rolled_back"}},
             number(procedure.rolled_back));
    out->add(kTimes, kTimesHelp, {{"procedure", name}, {"stage", "wait"}}, procedure.waits);
    out->add(kTimes, kTimesHelp, {{"procedure", name}, {"stage", "run"}}, procedure.runs);
  }
}

void add_workers(const primary::Engine::Activity& activity, MetricFamilies* out) {
  for (size_t worker = 0; worker < activity.queue_depths.size(); ++worker) {
    out->add("scyper_worker_queue_depth", "Transactions waiting in a worker's queue.", kGauge,
             {{"worker", std::to_string(worker)}}, number(activity.queue_depths[worker]));
  }
}

void add_copies(const primary::Engine::Activity::Copies& copies, MetricFamilies* out) {
  constexpr char kCopies[] = "scyper_copies_total";
  constexpr char kCopiesHelp[] = "COPY FROM STDIN by outcome.";
  out->add(kCopies, kCopiesHelp, kCounter, {{"outcome", "done"}}, number(copies.done));
  out->add(kCopies, kCopiesHelp, kCounter, {{"outcome", "failed"}}, number(copies.failed));
  out->add("scyper_copies_open", "COPY FROM STDIN under way.", kGauge, {}, number(copies.open));
  out->add("scyper_copied_rows_total", "Rows that COPY FROM STDIN has added.", kCounter, {}, number(copies.rows));
  out->add("scyper_copy_memory_bytes", "Memory of rows that COPY FROM STDIN has taken and not added yet.", kGauge, {},
           number(copies.memory_bytes));
}

// Of the tables that have had frozen chunks, those that had most; the others together.
void add_compaction(const replay::Compaction& compaction, const query::Catalog& catalog, MetricFamilies* out) {
  constexpr size_t kTablesMax = 50;
  std::map<TableId, storage::Compactor::TableCounts> counts = compaction.table_counts();
  std::vector<std::pair<std::string, storage::Compactor::TableCounts>> tables;
  for (const auto& [name, table] : catalog.tables) {
    const auto found = counts.find(table->schema().id);
    if (found != counts.end()) tables.emplace_back(name, found->second);
  }
  std::sort(tables.begin(), tables.end(),
            [](const auto& a, const auto& b) { return a.second.frozen > b.second.frozen; });
  while (tables.size() > kTablesMax) {
    const storage::Compactor::TableCounts last = tables.back().second;
    tables.pop_back();
    auto& [name, others] = tables[kTablesMax - 1];
    name = "(others)";
    others.frozen += last.frozen;
    others.returned += last.returned;
    others.emptied += last.emptied;
    others.moved += last.moved;
    others.image_bytes += last.image_bytes;
  }
  constexpr char kChunks[] = "scyper_table_compaction_chunks_total";
  constexpr char kChunksHelp[] =
      "Chunks that were frozen, became hot again before that, were emptied, by table; of tables that have had frozen "
      "ones since the node took its role.";
  for (const auto& [name, table] : tables) {
    out->add(kChunks, kChunksHelp, kCounter, {{"table", name}, {"step", "frozen"}}, number(table.frozen));
    out->add(kChunks, kChunksHelp, kCounter, {{"table", name}, {"step", "returned"}}, number(table.returned));
    out->add(kChunks, kChunksHelp, kCounter, {{"table", name}, {"step", "emptied"}}, number(table.emptied));
    out->add("scyper_table_compaction_moved_tuples_total", "Tuples moved out of frozen chunks, by table.", kCounter,
             {{"table", name}}, number(table.moved));
    out->add("scyper_table_compaction_image_bytes_total", "Memory of chunks when they were frozen, by table.", kCounter,
             {{"table", name}}, number(table.image_bytes));
  }
}

// What clients of this node asked for and another one is to do, or did.
void add_redirected(const NodeParts& node, const SecondaryEngine* secondary, MetricFamilies* out) {
  out->add("scyper_queries_passed_on_total", "Queries that another node answered.", kCounter, {},
           number(node.router.passed_on()));
  if (secondary == nullptr) return;
  constexpr char kRedirected[] = "scyper_transactions_redirected_total";
  constexpr char kRedirectedHelp[] =
      "What a secondary does not run: refused, with the primary's address; forwarded to the primary.";
  out->add(kRedirected, kRedirectedHelp, kCounter, {{"how", "refused"}}, number(secondary->redirected()));
  out->add(kRedirected, kRedirectedHelp, kCounter, {{"how", "forwarded"}}, number(node.forwarding.forwarded()));
}

void add_election(const consensus::ClusterState& state, MetricFamilies* out) {
  if (!state.leader.empty()) {
    out->add("scyper_election_leader", "1 for the node that leads, as etcd said last.", kGauge,
             {{"leader", state.leader}}, 1);
  }
  out->add("scyper_election_leads", "1 when this node leads.", kGauge, {}, state.leads ? 1 : 0);
  out->add("scyper_election_lease_left_seconds",
           "How long this node may lead without hearing of its lease; 0: it does not lead.", kGauge, {},
           static_cast<double>(state.lease_us) / 1e6);
  out->add("scyper_election_term", "The newest term, as etcd said last.", kGauge, {}, number(state.term));
  out->add("scyper_election_changes_total", "Changes of the leader that this process has seen.", kCounter, {},
           number(state.changes));
  out->add("scyper_election_paused", "1 when there are no automatic elections.", kGauge, {},
           state.paused.empty() ? 0 : 1);
  for (const consensus::ClusterState::Voter& voter : state.voters) {
    out->add("scyper_election_voter", "Who votes: 1 when the node says in etcd that it is there, else 0.", kGauge,
             {{"voter", voter.node}}, voter.is_there ? 1 : 0);
    out->add(
        "scyper_election_voter_complete",
        "1 when the voter has all that it ever acknowledged, as it says in etcd. Another one counts in no election.",
        kGauge, {{"voter", voter.node}}, voter.is_complete ? 1 : 0);
  }
  out->add("scyper_etcd_answers", "1 when etcd has answered this node last.", kGauge, {}, state.etcd_answers ? 1 : 0);
}

}  // namespace

void append_activity_metrics(const NodeParts& node, std::vector<MetricFamily>* families) {
  MetricFamilies out(families);
  const auto* secondary = dynamic_cast<const SecondaryEngine*>(node.engine);
  add_redirected(node, secondary, &out);
  const replay::Compaction* compaction = node.engine->compaction();
  const auto catalog = node.engine->catalog();
  if (compaction != nullptr && catalog != nullptr) add_compaction(*compaction, *catalog, &out);
  if (secondary == nullptr) {
    const primary::Engine::Activity activity = node.engine->activity();
    add_procedures(activity, &out);
    add_workers(activity, &out);
    add_copies(activity.copies, &out);
  }
  if (node.options.cluster_state) add_election(node.options.cluster_state(), &out);
}

}  // namespace scyper::server
