#pragma once

// From a query's arrival to an answer that has everything committed before: the names of its stages in metrics and
// status, docs/replication.md, "Freshness".
namespace scyper::replication {

constexpr char kStageMetric[] = "scyper_freshness_stage_seconds";
constexpr char kStageHelp[] =
    "Stages of a fresh answer: group (marker drawn until sent), send (closed until received, by two clocks), repair "
    "(gap "
    "seen until filled), replay (received until applied), fork, query.";

}  // namespace scyper::replication
