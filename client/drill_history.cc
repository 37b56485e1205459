#include "drill_history.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace scyper::client {

namespace {

constexpr size_t kFindingsMax = 20;
using Graph = std::vector<std::set<size_t>>;  // of transactions, by their places

// The strongly connected component of each (Kosaraju).
std::vector<size_t> components_of(const Graph& graph) {
  const size_t none = graph.size();
  Graph reverse(graph.size());
  for (size_t from = 0; from < graph.size(); ++from) {
    for (size_t to : graph[from]) reverse[to].insert(from);
  }
  std::vector<bool> is_seen(graph.size());
  std::vector<size_t> left;  // in the order in which the search leaves them
  std::vector<std::pair<size_t, std::set<size_t>::const_iterator>> path;
  for (size_t start = 0; start < graph.size(); ++start) {
    if (is_seen[start]) continue;
    is_seen[start] = true;
    path.emplace_back(start, graph[start].begin());
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == graph[node].end()) {
        left.push_back(node);
        path.pop_back();
      } else if (const size_t to = *next++; !is_seen[to]) {
        is_seen[to] = true;
        path.emplace_back(to, graph[to].begin());
      }
    }
  }
  std::vector<size_t> component(graph.size(), none), open;
  for (auto start = left.rbegin(); start != left.rend(); ++start) {
    if (component[*start] == none) open.push_back(*start);
    while (!open.empty()) {
      const size_t node = open.back();
      open.pop_back();
      if (std::exchange(component[node], *start) != none) continue;
      for (size_t to : reverse[node]) {
        if (component[to] == none) open.push_back(to);
      }
    }
  }
  return component;
}

bool reaches(const Graph& graph, size_t from, size_t to) {
  std::vector<bool> is_seen(graph.size());
  std::vector<size_t> open = {from};
  while (!open.empty()) {
    const size_t node = open.back();
    open.pop_back();
    if (node == to) return true;
    if (is_seen[node]) continue;
    is_seen[node] = true;
    open.insert(open.end(), graph[node].begin(), graph[node].end());
  }
  return false;
}

class ListCheck {
 public:
  ListCheck(const std::vector<ListTransaction>& transactions, const std::map<int64_t, std::vector<int64_t>>& ends)
      : transactions_(transactions),
        ends_(ends),
        writes_(transactions.size()),
        reads_(transactions.size()),
        misses_(transactions.size()) {}

  std::vector<std::string> run() {
    note_writers();
    check_ends();
    for (size_t at = 0; at < transactions_.size(); ++at) {
      if (transactions_[at].outcome == ListTransaction::Outcome::kDone) check_reads(at);
    }
    if (findings_.empty()) find_cycles();
    return std::move(findings_);
  }

 private:
  void find(const std::string& what) {
    if (findings_.size() < kFindingsMax) findings_.push_back(what);
  }

  void note_writers() {
    for (size_t at = 0; at < transactions_.size(); ++at) {
      for (const auto& access : transactions_[at].accesses) {
        if (access.appended != 0) writers_[{access.key, access.appended}] = at;
      }
    }
  }

  // The order of the versions; and what is in it that should not be, or the other way round.
  void check_ends() {
    std::set<std::pair<int64_t, int64_t>> present;
    for (const auto& [key, list] : ends_) {
      for (size_t i = 0; i < list.size(); ++i) {
        const std::string element = absl::StrCat("element ", list[i], " of list ", key);
        if (!present.emplace(key, list[i]).second) find(element + " is there twice");
        auto writer = writers_.find({key, list[i]});
        if (writer == writers_.end()) {
          find(element + " was never appended");
          continue;
        }
        if (transactions_[writer->second].outcome == ListTransaction::Outcome::kRefused) find(element + " was refused");
        if (i == 0) continue;
        auto before = writers_.find({key, list[i - 1]});
        if (before != writers_.end() && before->second != writer->second)
          writes_[before->second].insert(writer->second);
      }
    }
    for (const auto& [element, at] : writers_) {
      if (transactions_[at].outcome != ListTransaction::Outcome::kDone || present.contains(element)) continue;
      find(absl::StrCat("element ", element.second, " of list ", element.first, " is lost"));
    }
  }

  void check_reads(size_t at) {
    for (const auto& access : transactions_[at].accesses) {
      auto found = ends_.find(access.key);
      static const std::vector<int64_t> kEmpty;
      const std::vector<int64_t>& end = found == ends_.end() ? kEmpty : found->second;
      const size_t size = access.read.size();
      if (size > end.size() || !std::equal(access.read.begin(), access.read.end(), end.begin())) {
        find(absl::StrCat("a read of list ", access.key, " is no version of it: ", absl::StrJoin(access.read, ",")));
        continue;
      }
      auto writer = size == 0 ? writers_.end() : writers_.find({access.key, end[size - 1]});
      if (writer != writers_.end() && writer->second != at) reads_[writer->second].insert(at);
      auto next = size == end.size() ? writers_.end() : writers_.find({access.key, end[size]});
      if (next != writers_.end() && next->second != at) misses_[at].insert(next->second);
    }
  }

  static bool has_cycle(const Graph& graph) {
    const std::vector<size_t> component = components_of(graph);
    std::set<size_t> roots;
    return !std::all_of(component.begin(), component.end(), [&](size_t root) { return roots.insert(root).second; });
  }

  void find_cycles() {
    if (has_cycle(writes_)) return find("G0: a cycle of writes");
    Graph known = writes_;
    for (size_t at = 0; at < known.size(); ++at) known[at].insert(reads_[at].begin(), reads_[at].end());
    if (has_cycle(known)) return find("G1c: a cycle of writes and reads");
    Graph all = known;
    for (size_t at = 0; at < all.size(); ++at) all[at].insert(misses_[at].begin(), misses_[at].end());
    const std::vector<size_t> component = components_of(all);
    for (size_t at = 0; at < all.size(); ++at) {
      for (size_t next : misses_[at]) {
        if (component[at] == component[next] && reaches(known, next, at)) {
          return find("G-single: a cycle with one read that missed a write");
        }
      }
    }
    if (has_cycle(all)) find("G2: a cycle with reads that missed writes");
  }

  const std::vector<ListTransaction>& transactions_;
  const std::map<int64_t, std::vector<int64_t>>& ends_;
  std::map<std::pair<int64_t, int64_t>, size_t> writers_;  // by list and element
  Graph writes_, reads_, misses_;                          // ww, wr, rw
  std::vector<std::string> findings_;
};

StatusOr<ListTransaction> parse_lists(std::istringstream* words) {
  ListTransaction made;
  std::string outcome;
  *words >> outcome;
  made.outcome = outcome == "D"   ? ListTransaction::Outcome::kDone
                 : outcome == "R" ? ListTransaction::Outcome::kRefused
                                  : ListTransaction::Outcome::kOpen;
  for (int i = 0; i < 2; ++i) {
    ListTransaction::Access access;
    std::string list;
    *words >> access.key >> access.appended >> list;
    SCYPER_ASSIGN_OR_RETURN(access.read, parse_list(list));
    made.accesses.push_back(std::move(access));
  }
  return made;
}

}  // namespace

StatusOr<std::vector<int64_t>> parse_list(const std::string& text) {
  std::vector<int64_t> list;
  if (text == "-") return list;
  for (absl::string_view each : absl::StrSplit(text, ',')) {
    if (!absl::SimpleAtoi(each, &list.emplace_back())) return sql_error("XX001", "no list: " + text);
  }
  return list;
}

StatusOr<DrillHistory> read_drill_history(const std::string& path) {
  std::ifstream file(path);
  DrillHistory history;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    char kind = 0;
    words >> kind;
    ++history.operations;
    if (kind == 'L') {
      SCYPER_ASSIGN_OR_RETURN(ListTransaction made, parse_lists(&words));
      history.lists.push_back(std::move(made));
    } else if (kind == 'B') {
      DrillHistory::Total& total = history.totals.emplace_back();
      words >> total.target >> total.total >> total.accounts;
    }
    if (!words || (kind != 'L' && kind != 'B' && kind != 'R')) {
      return sql_error("XX001", path + ": a line cannot be read: " + line);
    }
  }
  return history;
}

std::vector<std::string> check_lists(const std::vector<ListTransaction>& transactions,
                                     const std::map<int64_t, std::vector<int64_t>>& ends) {
  return ListCheck(transactions, ends).run();
}

}  // namespace scyper::client
