#include "storage/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "storage/tiered_chunk.h"

namespace scyper::storage {

namespace {

constexpr size_t kSampleTuples = 4096;  // error of a fraction below 2 %; reading them costs about a millisecond
constexpr size_t kSampleTexts = 256;    // at least, where there are so many

bool is_number(const SqlType& type) {
  return type.id == TypeId::kBool || is_integer(type.id) || is_moment(type.id) || type.id == TypeId::kTime ||
         type.id == TypeId::kNumeric || type.id == TypeId::kFloat8;
}

// NaN is the largest one, as SQL has it: it equals nothing, so it must not be among the numbers that are compared.
double number_of(const SqlType& type, const Datum& value) {
  if (type.id == TypeId::kFloat8) {
    const auto number = __builtin_bit_cast(double, value.lo);
    return std::isnan(number) ? std::numeric_limits<double>::infinity() : number;
  }
  if (type.id == TypeId::kNumeric) return static_cast<double>(value.int128()) / std::pow(10.0, value.scale);
  return static_cast<double>(value.lo);
}

// From d distinct values of which f1 occurred once, in n of N rows (Haas, Stokes: Duj1).
double estimate_distinct(double n, double d, double f1, double rows) {
  if (n <= 0) return 1;
  if (n >= rows) return std::max(1.0, d);
  double denominator = n - f1 + f1 * n / rows;
  return std::clamp(n * d / denominator, std::max(1.0, d), std::max(1.0, rows));
}

class Sampler {
 public:
  explicit Sampler(const Table& table) : table_(table) {
    for (uint32_t i = 0; i < table.partition_count(); i++) limit_ += table.partition(i)->tuple_limit;
    uint64_t step = std::max<uint64_t>(1, limit_ / kSampleTuples);
    uint64_t random = 0x9E3779B97F4A7C15ull;
    for (uint32_t i = 0; i < table.partition_count(); i++) {
      const TablePartition* partition = table.partition(i);
      for (uint64_t from = 0; from < partition->tuple_limit; from += step) {
        // anywhere in its step: equal steps never meet what repeats with another period
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t at = from + (random >> 33) % step;
        if (at < partition->tuple_limit && is_live(partition, at)) tuples_.emplace_back(partition, at);
      }
    }
  }

  size_t size() const { return tuples_.size(); }

  ColumnStatistics column(uint32_t number, double rows) const {
    const SqlType& type = table_.schema().columns[number].type;
    ColumnStatistics result;
    std::unordered_map<std::string, uint32_t> seen;
    double nulls = 0;
    // texts from everywhere, too
    const size_t step = std::max<size_t>(1, tuples_.size() / kSampleTexts);
    size_t texts = 0;
    for (const auto& [partition, tid] : tuples_) {
      if (!bring_tuple(partition, tid, {&number, 1}).ok()) continue;  // a damaged page: the others tell enough
      Datum value = read_column(partition, tid, number);
      if (value.null) {
        nulls++;
        continue;
      }
      if (is_number(type)) {
        result.numbers.push_back(number_of(type, value));
        continue;
      }
      if (!holds_bytes(type.id)) continue;
      std::string text(value.data(), value.size());
      if (texts++ % step == 0) result.texts.push_back(text);
      seen[std::move(text)]++;
    }
    double n = static_cast<double>(tuples_.size());
    result.null_fraction = n == 0 ? 0 : nulls / n;
    std::sort(result.numbers.begin(), result.numbers.end());
    double distinct = 0, once = 0;
    for (size_t i = 0; i < result.numbers.size();) {
      size_t j = i;
      while (j < result.numbers.size() && result.numbers[j] == result.numbers[i]) j++;
      distinct++;
      once += j - i == 1 ? 1 : 0;
      i = j;
    }
    for (const auto& [text, count] : seen) {
      distinct++;
      once += count == 1 ? 1 : 0;
    }
    result.distinct = estimate_distinct(n - nulls, distinct, once, rows * (1 - result.null_fraction));
    return result;
  }

 private:
  const Table& table_;
  uint64_t limit_ = 0;
  std::vector<std::pair<const TablePartition*, Tid>> tuples_;
};

}  // namespace

bool needs_statistics(const Table& table) {
  constexpr double kShareMax = 0.25;
  constexpr double kRowsMin = 50;  // small tables are soon sampled, but seldom matter
  const auto known = table.statistics();
  const double rows = static_cast<double>(table.live_tuples());
  if (known == nullptr) return rows > 0;
  return std::abs(rows - known->rows) > std::max(kRowsMin, known->rows * kShareMax);
}

std::optional<double> rows_of_one_value(const Table& table, const std::vector<uint32_t>& columns) {
  const auto statistics = table.statistics();
  if (statistics == nullptr || statistics->sampled == 0) return std::nullopt;
  auto rows = static_cast<double>(table.live_tuples());
  for (const uint32_t column : columns)
    if (column < statistics->columns.size()) rows /= std::max(1.0, statistics->columns[column].distinct);
  return rows;
}

std::shared_ptr<const TableStatistics> collect_statistics(const Table& table) {
  auto result = std::make_shared<TableStatistics>();
  Sampler sampler(table);
  result->rows = static_cast<double>(table.live_tuples());
  result->sampled = static_cast<double>(sampler.size());
  for (uint32_t i = 0; i < table.schema().columns.size(); i++)
    result->columns.push_back(sampler.column(i, result->rows));
  return result;
}

}  // namespace scyper::storage
