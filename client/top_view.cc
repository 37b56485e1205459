#include "top_view.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "progress.h"
#include "result_format.h"
#include "status_format.h"

namespace scyper::client {

namespace {

constexpr size_t kLongest = 8;  // statements that run, that were slow
constexpr size_t kNameColumns = 20;
constexpr double kKilo = 1024;

uint64_t committed_of(const NodeStatus& s) { return s.committed; }
uint64_t rolled_back_of(const NodeStatus& s) { return s.rolled_back; }
uint64_t crossing_of(const NodeStatus& s) { return s.crossing; }
uint64_t refused_of(const NodeStatus& s) { return s.refused; }
uint64_t log_of(const NodeStatus& s) { return s.log_bytes; }
uint64_t answered_of(const NodeStatus& s) { return s.queries.answered; }

double per_second(uint64_t before, uint64_t now, double seconds) {
  if (seconds <= 0 || now < before) return -1;
  return static_cast<double>(now - before) / seconds;
}

// A process that has begun anew counts from 0.
bool has_rates(const NodeSight& sight) {
  return sight.trouble.empty() && sight.seconds > 0 && sight.now.uptime_seconds >= sight.before.uptime_seconds;
}

std::string count_text(double value) {
  if (value < 0) return "-";
  if (value < 10 && value != std::floor(value)) return absl::StrFormat("%.1f", value);
  return grouped(static_cast<uint64_t>(value + 0.5));
}

std::string bytes_text(double value) {
  if (value < 0) return "-";
  const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; value >= kKilo && unit + 1 < std::size(units); ++unit) value /= kKilo;
  return absl::StrFormat("%.*f %s", value < 10 && unit > 0 ? 1 : 0, value, units[unit]);
}

std::string time_text(double ms) {
  if (ms < 0) return "-";
  if (ms < 1000) return ms < 10 ? absl::StrFormat("%.2g ms", ms) : absl::StrFormat("%.0f ms", ms);
  if (ms < 120'000) return absl::StrFormat("%.1f s", ms / 1000);
  if (ms < 7'200'000) return absl::StrFormat("%.0f min", ms / 60'000);
  return ms < 172'800'000 ? absl::StrFormat("%.0f h", ms / 3'600'000) : absl::StrFormat("%.0f d", ms / 86'400'000);
}

// Bytes of the UTF-8 character that begins here; 0: none does.
size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return size;
}

size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Columns as wide as what is in them; the first row is the heading. The first `to_left` are texts, the others numbers
// but for the last one where it is a text.
void add_table(const std::vector<std::vector<std::string>>& rows, size_t to_left, std::vector<ViewLine>* out,
               bool ends_with_text = false) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  out->push_back({});
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - width_of(row[c]), ' ');
      if (ends_with_text && c + 1 == row.size()) {
        absl::StrAppend(&line, "  ", row[c]);
        continue;
      }
      const bool is_text = c < to_left;
      absl::StrAppend(&line, c > 0 ? "  " : "", is_text ? row[c] : space, is_text ? space : row[c]);
    }
    out->push_back({line, &row == rows.data() ? Emphasis::kHeading : Emphasis::kPlain});
  }
}

const NodeSight* find_primary(const std::vector<NodeSight>& nodes) {
  const NodeSight* found = nullptr;
  for (const NodeSight& node : nodes) {
    if (!node.trouble.empty() || node.now.role != "primary") continue;
    if (found == nullptr || node.now.term > found->now.term) found = &node;
  }
  return found;
}

// What an operator should look at.
std::string trouble_of(const NodeStatus& s) {
  std::string out;
  auto say = [&](bool is_so, const std::string& what) {
    if (is_so) absl::StrAppend(&out, out.empty() ? "" : "; ", what);
  };
  say(s.stopping, "is stopping");
  say(s.log_full, "the disk of the log is full: read-only");
  say(!s.not_serving.empty(), "takes no queries: " + s.not_serving);
  say(!s.paused.empty(), "elections are paused since " + s.paused);
  say(!s.election.empty() && !s.etcd_answers, "etcd does not answer");
  say(!s.election.empty() && s.leader.empty(), "nobody leads");
  say(s.damaged_archives > 0, absl::StrCat(s.damaged_archives, " archives were found damaged"));
  for (const VoterStatus& voter : s.voters) say(!voter.is_there, "voter " + voter.node + " is missing");
  return out;
}

void add_head(const std::vector<NodeSight>& nodes, const std::string& note, size_t columns,
              std::vector<ViewLine>* out) {
  const NodeSight* const primary = find_primary(nodes);
  std::string head = "ScyPer";
  if (primary != nullptr) {
    const NodeStatus& s = primary->now;
    if (!s.election.empty()) absl::StrAppend(&head, " ", s.election);
    absl::StrAppend(&head, ": primary ", s.node, s.term > 0 ? absl::StrCat(", term ", s.term) : "", ", ",
                    s.commit_mode.empty() ? "no log" : "commit mode " + s.commit_mode,
                    s.transport.empty() ? "" : ", " + s.transport);
  } else {
    head += ": no primary answers";
  }
  const size_t used = width_of(head) + note.size();
  head += used < columns ? std::string(columns - used, ' ') : "  ";
  out->push_back({absl::StrCat(head, note), Emphasis::kTitle});
  for (const NodeSight& node : nodes) {
    const std::string what = node.trouble.empty() ? trouble_of(node.now) : "does not answer: " + node.trouble;
    if (!what.empty())
      out->push_back({absl::StrCat("! ", node.now.node, " ", node.address, " ", what), Emphasis::kBad});
  }
}

void add_nodes(const std::vector<NodeSight>& nodes, std::vector<ViewLine>* out) {
  std::vector<std::vector<std::string>> rows = {{"NODE", "ADDRESS", "ROLE", "TPS", "BEHIND", "TO APPLY", "QUERIES/S",
                                                 "RUN", "WAIT", "MEMORY", "OF", "LOG/S", "UP"}};
  for (const NodeSight& node : nodes) {
    const NodeStatus& s = node.now;
    if (!node.trouble.empty()) {
      rows.push_back({s.node.empty() ? "?" : s.node, node.address, "gone"});
      rows.back().resize(rows[0].size(), "-");
      continue;
    }
    const bool is_primary = s.role == "primary";
    const uint64_t to_apply = s.last_lsn > s.applied_lsn ? s.last_lsn - s.applied_lsn : 0;
    rows.push_back({s.node, node.address, s.role, count_text(rate_of(node, committed_of)),
                    is_primary ? "-" : time_text(s.lag_ms), is_primary ? "-" : grouped(to_apply),
                    count_text(rate_of(node, answered_of)), grouped(s.queries.running), grouped(s.queries.waiting),
                    bytes_text(static_cast<double>(s.memory_used_bytes)),
                    bytes_text(static_cast<double>(s.memory_budget_bytes)), bytes_text(rate_of(node, log_of)),
                    time_text(1000 * static_cast<double>(s.uptime_seconds))});
  }
  add_table(rows, 3, out);
}

void add_transactions(const NodeSight& node, std::vector<ViewLine>* out) {
  const NodeStatus& s = node.now;
  std::string depths;
  for (uint64_t depth : s.queue_depths) absl::StrAppend(&depths, depths.empty() ? "" : " ", depth);
  out->push_back({});
  out->push_back({absl::StrCat("Transactions a second: ", count_text(rate_of(node, committed_of)), " committed, ",
                               count_text(rate_of(node, rolled_back_of)), " rolled back, ",
                               count_text(rate_of(node, crossing_of)), " partition-crossing, ",
                               count_text(rate_of(node, refused_of)), " refused. Waiting: ", grouped(s.queue_depth),
                               depths.empty() ? "" : " (by worker: " + depths + ")", ".")});
  if (!s.commit_mode.empty()) {
    out->push_back({absl::StrCat(
        "Log: LSN ", grouped(s.last_lsn), ", durable to ", grouped(s.durable_lsn), ", confirmed to ",
        grouped(s.commit_lsn), ", ", bytes_text(static_cast<double>(s.log_bytes)), " since the start",
        s.archive_bytes > 0 ? ", an archive is being written: " + bytes_text(static_cast<double>(s.archive_bytes)) : "",
        ".")});
  }
}

const ProcedureStatus* find_procedure(const NodeStatus& s, const std::string& name) {
  for (const ProcedureStatus& p : s.procedures) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

void add_procedures(const NodeSight& node, std::vector<ViewLine>* out) {
  struct Line {
    double rate;
    std::vector<std::string> cells;
  };
  std::vector<Line> lines;
  for (const ProcedureStatus& p : node.now.procedures) {
    if (p.committed + p.rolled_back == 0) continue;
    const ProcedureStatus* before = has_rates(node) ? find_procedure(node.before, p.name) : nullptr;
    const double rate = before == nullptr ? -1 : per_second(before->committed, p.committed, node.seconds);
    const double back = before == nullptr ? -1 : per_second(before->rolled_back, p.rolled_back, node.seconds);
    lines.push_back(
        {rate,
         {p.name.empty() ? "(other statements)" : p.name, count_text(rate), count_text(back), time_text(p.run_p50_ms),
          time_text(p.run_p99_ms), time_text(p.wait_p50_ms), time_text(p.wait_p99_ms), grouped(p.committed)}});
  }
  if (lines.empty()) return;
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return a.rate != b.rate ? a.rate > b.rate : a.cells[0] < b.cells[0];  // the same order in each picture
  });
  std::vector<std::vector<std::string>> rows = {
      {"PROCEDURE", "COMMITTED/S", "ROLLED BACK/S", "RUN P50", "P99", "WAIT P50", "P99", "COMMITTED"}};
  for (Line& line : lines) rows.push_back(std::move(line.cells));
  add_table(rows, 1, out);
}

const StageStatus* find_stage(const NodeStatus& s, const std::string& name) {
  for (const StageStatus& stage : s.stages) {
    if (stage.name == name) return &stage;
  }
  return nullptr;
}

// Of what has gone through since the picture before.
double mean_since(const StageStatus& now, const StageStatus* before) {
  if (before == nullptr || now.count <= before->count) return -1;
  const double sum =
      now.mean_ms * static_cast<double>(now.count) - before->mean_ms * static_cast<double>(before->count);
  return std::max(sum, 0.0) / static_cast<double>(now.count - before->count);
}

void add_stages(const std::vector<NodeSight>& nodes, std::vector<ViewLine>* out) {
  std::vector<std::vector<std::string>> rows = {{"STAGE", "NODE", "TIMES", "MEAN NOW", "MEAN", "P50", "P99"}};
  for (const NodeSight& node : nodes) {
    if (!node.trouble.empty()) continue;
    for (const StageStatus& stage : node.now.stages) {
      if (stage.count == 0) continue;
      const StageStatus* before = has_rates(node) ? find_stage(node.before, stage.name) : nullptr;
      rows.push_back({stage.name, node.now.node, grouped(stage.count), time_text(mean_since(stage, before)),
                      time_text(stage.mean_ms), time_text(stage.p50_ms), time_text(stage.p99_ms)});
    }
  }
  if (rows.size() > 1) add_table(rows, 2, out);
}

void add_snapshots(const std::vector<NodeSight>& nodes, std::vector<ViewLine>* out) {
  std::vector<std::vector<std::string>> rows = {{"SNAPSHOTS OF", "THERE", "MADE", "LOST", "COPIED", "OLDEST",
                                                 "LONGEST STOP", "SESSIONS", "QUERIES", "REFUSED", "BROKEN",
                                                 "SPILLED"}};
  for (const NodeSight& node : nodes) {
    const QueryActivity& q = node.now.queries;
    if (!node.trouble.empty() || q.started + q.snapshots_made + q.refused == 0) continue;
    rows.push_back({node.now.node, grouped(q.snapshots), grouped(q.snapshots_made), grouped(q.snapshots_lost),
                    bytes_text(static_cast<double>(q.snapshot_bytes)), time_text(q.snapshot_oldest_ms),
                    time_text(q.snapshot_stall_ms_max), grouped(q.sessions), grouped(q.started), grouped(q.refused),
                    grouped(q.broken), bytes_text(static_cast<double>(q.spilled_bytes))});
  }
  if (rows.size() > 1) add_table(rows, 1, out);
}

// One node's line of a table, and by what it stands there: the longest first.
struct TimedRow {
  double ms;
  std::vector<std::string> cells;
};

void add_longest(std::vector<std::string> head, std::vector<TimedRow> rows, std::vector<ViewLine>* out) {
  if (rows.empty()) return;
  std::sort(rows.begin(), rows.end(), [](const TimedRow& a, const TimedRow& b) { return a.ms > b.ms; });
  if (rows.size() > kLongest) rows.resize(kLongest);
  std::vector<std::vector<std::string>> table = {std::move(head)};
  for (TimedRow& row : rows) table.push_back(std::move(row.cells));
  add_table(table, 1, out, /*ends_with_text=*/true);
}

void add_running(const std::vector<NodeSight>& nodes, std::vector<ViewLine>* out) {
  std::vector<TimedRow> rows;
  for (const NodeSight& node : nodes) {
    if (!node.trouble.empty()) continue;
    for (const RunningStatement& one : node.now.running) {
      rows.push_back(
          {one.transaction_ms,
           {node.now.node, std::to_string(one.pid), clip(one.user, kNameColumns), clip(one.client, kNameColumns),
            time_text(one.ms), time_text(one.transaction_ms),
            (one.state == "active" ? "" : "(" + clip(one.state, SIZE_MAX) + ") ") + clip(one.text, SIZE_MAX)}});
    }
  }
  add_longest({"RUNNING ON", "PID", "USER", "CLIENT", "STATEMENT", "TRANSACTION", "TEXT"}, std::move(rows), out);
}

void add_slow(const std::vector<NodeSight>& nodes, std::vector<ViewLine>* out) {
  std::vector<TimedRow> queries, transactions;
  for (const NodeSight& node : nodes) {
    if (!node.trouble.empty()) continue;
    const auto text_of = [](const query::SlowQuery& one) {
      return (one.is_answered ? "" : "(not answered) ") + clip(one.text, SIZE_MAX);
    };
    for (const query::SlowQuery& one : node.now.slow_queries) {
      queries.push_back(
          {one.total_ms,
           {node.now.node, time_text(one.total_ms), time_text(one.wait_ms), time_text(one.compile_ms),
            grouped(one.rows), bytes_text(static_cast<double>(one.memory_bytes)), grouped(one.times), text_of(one)}});
    }
    for (const query::SlowQuery& one : node.now.slow_transactions)
      transactions.push_back(
          {one.total_ms, {node.now.node, time_text(one.total_ms), grouped(one.times), text_of(one)}});
  }
  add_longest({"SLOWEST ON", "TIME", "WAIT", "COMPILE", "ROWS", "MEMORY", "TIMES", "QUERY OF THE LAST HOUR"},
              std::move(queries), out);
  add_longest({"SLOWEST ON", "TIME", "TIMES", "TRANSACTION OF THE LAST HOUR"}, std::move(transactions), out);
}

std::string rates_json(const NodeSight& node) {
  if (!has_rates(node)) return "null";
  std::string out = absl::StrCat("{\"seconds\": ", node.seconds);
  auto add = [&](const char* key, uint64_t (*read)(const NodeStatus&)) {
    absl::StrAppend(&out, ", \"", key, "\": ", std::max(rate_of(node, read), 0.0));
  };
  add("committed", committed_of);
  add("rolled_back", rolled_back_of);
  add("crossing", crossing_of);
  add("refused", refused_of);
  add("queries", answered_of);
  add("log_bytes", log_of);
  out += ", \"procedures\": {";
  bool is_first = true;
  for (const ProcedureStatus& p : node.now.procedures) {
    const ProcedureStatus* before = find_procedure(node.before, p.name);
    if (before == nullptr) continue;
    absl::StrAppend(&out, is_first ? "" : ", ", json_string(p.name), ": ",
                    std::max(per_second(before->committed, p.committed, node.seconds), 0.0));
    is_first = false;
  }
  return out + "}}";
}

}  // namespace

double rate_of(const NodeSight& sight, uint64_t (*read)(const NodeStatus&)) {
  return has_rates(sight) ? per_second(read(sight.before), read(sight.now), sight.seconds) : -1;
}

std::string clip(std::string_view text, size_t columns) {
  std::string out;
  for (size_t i = 0, width = 0; i < text.size() && width < columns; ++width) {
    const size_t size = character_bytes(text.substr(i));
    const auto first = static_cast<unsigned char>(text[i]);
    // the control characters behind ASCII are U+0080 to U+009F
    const bool is_control =
        first < 0x20 || first == 0x7f || (size == 2 && first == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
    if (size == 0) {
      out += '?';
    } else if (is_control) {
      out += ' ';
    } else {
      out += text.substr(i, size);
    }
    i += std::max<size_t>(size, 1);
  }
  return out;
}

std::vector<ViewLine> draw_view(const std::vector<NodeSight>& nodes, const std::string& note, size_t columns) {
  std::vector<ViewLine> lines;
  add_head(nodes, note, columns, &lines);
  add_nodes(nodes, &lines);
  if (const NodeSight* primary = find_primary(nodes)) {
    add_transactions(*primary, &lines);
    add_procedures(*primary, &lines);
  }
  add_stages(nodes, &lines);
  add_snapshots(nodes, &lines);
  add_running(nodes, &lines);
  add_slow(nodes, &lines);
  for (ViewLine& line : lines) line.text = clip(line.text, columns);
  return lines;
}

std::string view_json(const std::vector<NodeSight>& nodes, int64_t time_us) {
  std::string out = absl::StrCat("{\"time_us\": ", time_us, ", \"nodes\": [");
  for (const NodeSight& node : nodes) {
    absl::StrAppend(&out, &node == nodes.data() ? "" : ", ", "{\"address\": ", json_string(node.address),
                    ", \"trouble\": ", json_string(node.trouble), ", \"rates\": ", rates_json(node),
                    ", \"status\": ", node.trouble.empty() ? status_json(node.now) : "null", "}");
  }
  return out + "]}\n";
}

}  // namespace scyper::client
