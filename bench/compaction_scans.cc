#include <absl/container/flat_hash_set.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "base/check.h"
#include "compaction_data.h"
#include "compaction_figures.h"
#include "storage/invalid_ranges.h"
#include "storage/relation_dictionary.h"

// 5.6.2: sums and lookups on runs. 5.6.3: Q1 with a prefix condition.
namespace scyper::bench {
namespace {

using storage::FreezeOptions;
using storage::FrozenPredicate;
using storage::FrozenScheme;
using storage::kChunkShift;
using storage::kChunkTuples;

struct PaperRuns {
  int run_length;
  double raw_ms, position_ms, regular_ms;  // 500 million values
  double lookup_factor;
};
constexpr PaperRuns kPaperRuns[] = {{10, 334, 73, 61, 7}, {50, 334, 15, 12, 5}};

std::vector<int32_t> make_runs(uint64_t count, int length, Random* random) {
  std::vector<int32_t> values;
  values.reserve(count);
  while (values.size() < count) {
    const auto value = static_cast<int32_t>(random->below(1'000'000));
    const uint64_t run = std::min<uint64_t>(static_cast<uint64_t>(length), count - values.size());
    values.insert(values.end(), run, value);
  }
  return values;
}

// The paper's other one: (length, value), one after the other.
struct RegularRuns {
  std::vector<int32_t> lengths, values;

  explicit RegularRuns(const std::vector<int32_t>& raw) {
    for (size_t i = 0; i < raw.size(); ++i) {
      if (i > 0 && raw[i] == raw[i - 1]) {
        ++lengths.back();
        continue;
      }
      lengths.push_back(1);
      values.push_back(raw[i]);
    }
  }
  int64_t sum() const {
    int64_t sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += int64_t{lengths[i]} * values[i];
    return sum;
  }
  int32_t at(uint64_t position) const {
    size_t run = 0;
    for (; position >= static_cast<uint64_t>(lengths[run]); ++run) position -= static_cast<uint64_t>(lengths[run]);
    return values[run];
  }
};

int64_t sum_of(const FrozenColumn& column) {
  __int128 sum = 0;
  for (uint32_t i = 0; i < column.vectors(); ++i) sum += column.vector(i).sum(0, column.vector(i).count());
  return static_cast<int64_t>(sum);
}

template <typename Lookup>
double lookup_ns(const CompactionFlags& flags, uint64_t lookups, Lookup lookup) {
  std::vector<uint64_t> positions;
  Random random(flags.seed + 1);
  for (uint64_t i = 0; i < lookups; ++i) positions.push_back(random.below(flags.values));
  int64_t sum = 0;
  const double ms = best_ms(flags.repeat, [&] {
    for (uint64_t position : positions) sum += lookup(position);
  });
  CHECK(sum != 1);
  return ms * 1e6 / static_cast<double>(lookups);
}

nlohmann::ordered_json measure_frozen_runs(const CompactionFlags& flags, const PlainColumn& column,
                                           const FreezeOptions& options, int64_t wanted) {
  const FrozenColumn frozen(column, options);
  int64_t sum = 0;
  const double ms = best_ms(flags.repeat, [&] { sum = sum_of(frozen); });
  CHECK(sum == wanted);
  const double ns = lookup_ns(flags, flags.lookups, [&](uint64_t position) {
    return frozen.vector(static_cast<uint32_t>(position >> kChunkShift))
        .get(static_cast<uint32_t>(position & (kChunkTuples - 1)))
        .lo;
  });
  return {{"layout", frozen.schemes()},
          {"sum_ms", ms},
          {"lookup_ns", ns},
          {"bytes_per_value", static_cast<double>(frozen.bytes()) / static_cast<double>(flags.values)}};
}

}  // namespace

nlohmann::ordered_json measure_runs(const CompactionFlags& flags) {
  auto rows = nlohmann::ordered_json::array();
  Random random(flags.seed);
  for (const PaperRuns& paper : kPaperRuns) {
    const std::vector<int32_t> raw = make_runs(flags.values, paper.run_length, &random);
    const double scale = static_cast<double>(flags.values) / 500e6;
    int64_t wanted = 0;
    const double raw_ms = best_ms(flags.repeat, [&] {
      int64_t sum = 0;
      for (int32_t value : raw) sum += value;
      wanted = sum;
    });
    const double raw_ns = lookup_ns(flags, flags.lookups, [&](uint64_t position) { return raw[position]; });
    const auto add = [&](nlohmann::ordered_json row, double paper_ms, double paper_factor) {
      row["run_length"] = paper.run_length;
      row["times_raw_sum"] = row["sum_ms"].get<double>() / raw_ms;
      row["times_raw_lookup"] = row["lookup_ns"].get<double>() / raw_ns;
      if (paper_ms > 0) row["paper_sum_ms_for_as_many"] = paper_ms * scale;
      if (paper_ms > 0) row["paper_times_raw_sum"] = paper_ms / paper.raw_ms;
      if (paper_factor > 0) row["paper_times_raw_lookup"] = paper_factor;
      rows.push_back(std::move(row));
    };
    add({{"layout", "raw"}, {"sum_ms", raw_ms}, {"lookup_ns", raw_ns}, {"bytes_per_value", 4}}, paper.raw_ms, 1);
    {
      const RegularRuns regular(raw);
      const double ms = best_ms(flags.repeat, [&] { CHECK(regular.sum() == wanted); });
      const double ns = lookup_ns(flags, 3, [&](uint64_t position) { return regular.at(position); });
      add({{"layout", "lengths and values"},
           {"sum_ms", ms},
           {"lookup_ns", ns},
           {"bytes_per_value", 8.0 * static_cast<double>(regular.values.size()) / static_cast<double>(flags.values)}},
          paper.regular_ms, 0);
    }
    PlainColumn column;
    column.type = make_type(TypeId::kInt4);
    column.cells.assign(reinterpret_cast<const char*>(raw.data()),
                        reinterpret_cast<const char*>(raw.data() + raw.size()));
    FreezeOptions positions;
    positions.scheme = FrozenScheme::kPlain;
    positions.runs = true;
    add(measure_frozen_runs(flags, column, positions, wanted), paper.position_ms, paper.lookup_factor);
    add(measure_frozen_runs(flags, column, {}, wanted), 0, 0);
  }
  return rows;
}

namespace {

// What Q1 reads of order lines.
struct Lines {
  std::vector<int16_t> number, quantity;
  std::vector<int32_t> amount;
  std::vector<int64_t> delivery;
  std::vector<uint32_t> name;  // rank
  std::vector<uint32_t> order;

  void append(const Lines& from, size_t i) {
    number.push_back(from.number[i]);
    quantity.push_back(from.quantity[i]);
    amount.push_back(from.amount[i]);
    delivery.push_back(from.delivery[i]);
    name.push_back(from.name[i]);
    order.push_back(from.order[i]);
  }
};

Lines make_lines(const CompactionFlags& flags) {
  Random random(flags.seed);
  const Zipf names(census_names().size(), 0.9);  // near the shares that the file gives
  Lines lines;
  for (uint32_t order = 0; lines.number.size() < flags.lines; ++order) {
    const auto count = static_cast<int16_t>(random.between(5, 15));
    for (int16_t line = 1; line <= count && lines.number.size() < flags.lines; ++line) {
      lines.number.push_back(line);
      lines.quantity.push_back(static_cast<int16_t>(random.between(1, 10)));
      lines.amount.push_back(static_cast<int32_t>(random.between(1, 999'999)));
      lines.delivery.push_back(random.between(0, 1'000'000));
      lines.name.push_back(static_cast<uint32_t>(names.draw(&random)));
      lines.order.push_back(order);
    }
  }
  return lines;
}

struct Group {
  int64_t quantity = 0, amount = 0, count = 0;
};

// Q1 over order lines, with the name in five forms.
class Query {
 public:
  static constexpr int64_t kAfter = 20'000;  // ol_delivery_d > ..., most qualify

  explicit Query(const Lines& lines) : lines_(lines) {
    names_.type = make_string(TypeId::kChar, 24);
    for (uint32_t rank : lines.name) {
      std::string name = census_names()[rank];
      name.resize(24, ' ');
      names_.append_text(name);
      keys_.push_back(dictionary_.find(name) == storage::RelationDictionary::kNoKey ? dictionary_.acquire(name)
                                                                                    : dictionary_.find(name));
    }
    FreezeOptions options;
    options.scheme = FrozenScheme::kDictionary;
    frozen_ = std::make_unique<FrozenColumn>(names_, options);
    index_.resize(keys_.size());
    std::iota(index_.begin(), index_.end(), 0u);
    std::sort(index_.begin(), index_.end(), [&](uint32_t a, uint32_t b) {
      const int order = text(keys_[a]).compare(text(keys_[b]));
      return order != 0 ? order < 0 : a < b;
    });
    invalid_.resize(frozen_->vectors());
  }

  void plain(std::string_view prefix) {
    start();
    const uint32_t width = storage::cell_bytes_of(names_.type);
    const char* cell = names_.cells.data();
    for (uint32_t i = 0; i < keys_.size(); ++i, cell += width) {
      if (std::memcmp(cell + 1, prefix.data(), prefix.size()) == 0) add(i);
    }
  }
  // All of the dictionary, then a hash set of keys.
  void hash_set(std::string_view prefix) {
    start();
    absl::flat_hash_set<uint32_t> wanted;
    for (uint32_t key = 0; key < dictionary_.values(); ++key) {
      if (text(key).starts_with(prefix)) wanted.insert(key);
    }
    for (uint32_t i = 0; i < keys_.size(); ++i) {
      if (wanted.contains(keys_[i])) add(i);
    }
  }
  // Ranges of each vector's codes; invalid positions are cleared.
  void ordered(std::string_view prefix) {
    start();
    const FrozenPredicate predicate = FrozenPredicate::prefix(string_datum(prefix.data(), prefix.size()));
    uint64_t selection[kChunkTuples / 64];
    uint32_t positions[kChunkTuples];
    for (uint32_t i = 0; i < frozen_->vectors(); ++i) {
      const storage::FrozenVector vector = frozen_->vector(i);
      if (vector.can_skip(predicate)) continue;
      CHECK(vector.select(predicate, selection));
      for (const auto& range : invalid_[i].ranges()) {
        storage::clear_selection(selection, range.begin, std::min(range.end, vector.count()));
      }
      const uint32_t found = storage::selected_positions(selection, vector.count(), positions);
      for (uint32_t j = 0; j < found; ++j) add((i << kChunkShift) + positions[j]);
    }
  }
  // TIDs in the order of values, then TIDs (sorted list in place of the tree).
  void index(std::string_view prefix) {
    start();
    auto at = std::partition_point(index_.begin(), index_.end(),
                                   [&](uint32_t tid) { return text(keys_[tid]).substr(0, prefix.size()) < prefix; });
    for (; at != index_.end() && text(keys_[*at]).starts_with(prefix); ++at) add(*at);
  }

  void invalidate(uint32_t position) { invalid_[position >> kChunkShift].add(position & (kChunkTuples - 1)); }
  uint64_t ranges() const {
    uint64_t ranges = 0;
    for (const storage::InvalidRanges& of_chunk : invalid_) ranges += of_chunk.ranges().size();
    return ranges;
  }
  int64_t result() const {
    int64_t sum = 0;
    for (const Group& group : groups_) sum = sum * 31 + group.amount + group.quantity * 7 + group.count;
    return sum;
  }
  int64_t rows() const {
    int64_t rows = 0;
    for (const Group& group : groups_) rows += group.count;
    return rows;
  }
  // Of every 64th line.
  double share(std::string_view prefix) const {
    uint64_t found = 0, all = 0;
    for (size_t i = 0; i < keys_.size(); i += 64, ++all) found += text(keys_[i]).starts_with(prefix) ? 1 : 0;
    return static_cast<double>(found) / static_cast<double>(all);
  }

 private:
  std::string_view text(uint32_t key) const {
    const storage::StringRef found = dictionary_.text(key);
    return {found.data, found.size};
  }
  void start() { std::fill(std::begin(groups_), std::end(groups_), Group{}); }
  void add(uint32_t i) {
    if (lines_.delivery[i] <= kAfter) return;
    Group& group = groups_[lines_.number[i]];
    group.quantity += lines_.quantity[i];
    group.amount += lines_.amount[i];
    ++group.count;
  }

  const Lines& lines_;
  PlainColumn names_;
  storage::RelationDictionary dictionary_;
  std::vector<uint32_t> keys_;  // by line
  std::unique_ptr<FrozenColumn> frozen_;
  std::vector<uint32_t> index_;
  std::vector<storage::InvalidRanges> invalid_;
  Group groups_[16];
};

// Prefixes of one to three letters that come nearest to the paper's selectivities.
std::string find_prefix(Query* query, double wanted) {
  std::string best;
  double distance = 1e9;
  absl::flat_hash_set<std::string> tried;
  for (size_t rank = 0; rank < 300; ++rank) {
    for (size_t size = 1; size <= 3 && size <= census_names()[rank].size(); ++size) {
      const std::string prefix = census_names()[rank].substr(0, size);
      if (!tried.insert(prefix).second || tried.size() > 120) continue;
      const double off = std::abs(std::log(query->share(prefix) / wanted));
      if (off < distance) best = prefix;
      distance = std::min(distance, off);
    }
  }
  return best;
}

}  // namespace

nlohmann::ordered_json measure_prefix_scans(const CompactionFlags& flags) {
  // Fig. 14: uncompressed, hash set, ordered dictionary, index
  struct Paper {
    double selectivity;
    double ms[4];
  };
  constexpr Paper kPaper[] = {{0.10, {78, 75, 26, 91}}, {0.033, {66, 64, 21, 26}}, {0.01, {62, 63, 17, 8}}};
  const char* const names[] = {"uncompressed", "dictionary and hash set", "ordered dictionary", "index"};
  auto rows = nlohmann::ordered_json::array();
  const Lines lines = make_lines(flags);
  Query query(lines);

  // the same with 10,000 random orders gone: invalidated in one, never there in the other
  Random random(flags.seed + 2);
  std::vector<uint8_t> gone(lines.order.back() + 1);
  const uint64_t orders_gone = std::min<uint64_t>(10'000, gone.size() / 36);
  for (uint64_t i = 0; i < orders_gone; ++i) gone[random.below(gone.size())] = 1;
  Lines rest;
  Query invalidated(lines);
  for (uint32_t i = 0; i < lines.order.size(); ++i) {
    if (gone[lines.order[i]] != 0) {
      invalidated.invalidate(i);
    } else {
      rest.append(lines, i);
    }
  }
  Query deleted(rest);

  for (const Paper& paper : kPaper) {
    const std::string prefix = find_prefix(&query, paper.selectivity);
    int64_t result = 0;
    for (int i = 0; i < 4; ++i) {
      const double ms = best_ms(flags.repeat, [&] {
        if (i == 0) query.plain(prefix);
        if (i == 1) query.hash_set(prefix);
        if (i == 2) query.ordered(prefix);
        if (i == 3) query.index(prefix);
      });
      if (i == 0) result = query.result();
      CHECK(query.result() == result);
      rows.push_back({{"prefix", prefix},
                      {"selectivity", query.share(prefix)},
                      {"rows", query.rows()},
                      {"algorithm", names[i]},
                      {"ms", ms},
                      {"paper_selectivity", paper.selectivity},
                      {"paper_ms", paper.ms[i]}});
    }
    const double with_ms = best_ms(flags.repeat * 3, [&] { invalidated.ordered(prefix); });
    const double without_ms = best_ms(flags.repeat * 3, [&] { deleted.ordered(prefix); });
    CHECK(invalidated.result() == deleted.result());
    rows.push_back({{"prefix", prefix},
                    {"algorithm", "ordered dictionary, 1/36 invalidated"},
                    {"ranges", invalidated.ranges()},
                    {"ms", with_ms},
                    {"ms_deleted", without_ms},
                    {"slower_pct", (with_ms / without_ms - 1) * 100},
                    {"paper_slower_pct_max", 7.9}});
  }
  return rows;
}

}  // namespace scyper::bench
