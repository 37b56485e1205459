#include <nlohmann/json.hpp>
#include <optional>

#include "base/check.h"
#include "compaction_data.h"
#include "compaction_figures.h"
#include "storage/relation_dictionary.h"

// 5.5: bytes of the relations of CH-benCHmark that grow, before and after.
namespace scyper::bench {
namespace {

using storage::FreezeOptions;
using storage::FrozenScheme;

struct Relation {
  std::string name;
  std::vector<PlainColumn> columns;
};

PlainColumn number(std::string name, SqlType type, bool not_null = true) {
  PlainColumn column;
  column.name = std::move(name);
  column.type = type;
  column.not_null = not_null;
  return column;
}

// Names of a Zipf distribution, padded like char(n), all of the same length.
class Texts {
 public:
  Texts(uint32_t length, double s) : zipf_(census_names().size(), s) {
    for (const std::string& name : census_names()) {
      padded_.push_back(name);
      padded_.back().resize(length, ' ');
    }
  }
  const std::string& draw(Random* random) const { return padded_[zipf_.draw(random)]; }

 private:
  Zipf zipf_;
  std::vector<std::string> padded_;
};

// One warehouse's orders in the order of their coming, as TPC-C's transactions make them.
std::vector<Relation> make_relations(const CompactionFlags& flags, const Texts& texts, uint32_t length) {
  Random random(flags.seed);
  Relation lines{"order_line", {}}, orders{"orders", {}}, history{"history", {}};
  const SqlType int2 = make_type(TypeId::kInt2), int4 = make_type(TypeId::kInt4), at = make_type(TypeId::kTimestamp);
  const SqlType money = make_numeric(6, 2), text = make_string(TypeId::kChar, static_cast<int32_t>(length));
  lines.columns = {number("ol_o_id", int4),
                   number("ol_d_id", int2),
                   number("ol_w_id", int4),
                   number("ol_number", int2),
                   number("ol_i_id", int4),
                   number("ol_supply_w_id", int4),
                   number("ol_delivery_d", at, false),
                   number("ol_quantity", int2),
                   number("ol_amount", money),
                   number("ol_dist_info", text)};
  orders.columns = {number("o_id", int4),     number("o_d_id", int2),     number("o_w_id", int4),
                    number("o_c_id", int4),   number("o_entry_d", at),    number("o_carrier_id", int2, false),
                    number("o_ol_cnt", int2), number("o_all_local", int2)};
  history.columns = {number("h_c_id", int4),    number("h_c_d_id", int2), number("h_c_w_id", int4),
                     number("h_d_id", int2),    number("h_w_id", int4),   number("h_date", at),
                     number("h_amount", money), number("h_data", text)};
  std::vector<int64_t> next(10, 1);
  int64_t now = 400'000'000'000'000;
  for (uint64_t i = 0; i < flags.orders; ++i) {
    now += 1'000'000;
    const int64_t district = static_cast<int64_t>(random.below(10)), order = next[static_cast<size_t>(district)]++;
    const int64_t count = random.between(5, 15);
    const auto append = [](Relation* relation, std::initializer_list<int64_t> values) {
      size_t column = 0;
      for (int64_t value : values) relation->columns[column++].append_number(value);
    };
    for (int64_t line = 1; line <= count; ++line) {
      append(&lines, {order, district, 1, line, random.between(1, 100'000), random.one_in(100) ? 2 : 1, now, 5,
                      random.between(1, 999'999)});
      lines.columns[9].append_text(texts.draw(&random));
    }
    append(&orders, {order, district, 1, random.between(1, 3000), now, random.between(1, 10), count, 1});
    append(&history, {random.between(1, 3000), district, 1, district, 1, now, random.between(100, 500'000)});
    history.columns[7].append_text(texts.draw(&random));
  }
  std::vector<Relation> relations;
  for (Relation* relation : {&lines, &orders, &history}) relations.push_back(std::move(*relation));
  return relations;
}

uint64_t forced_bytes(const PlainColumn& column, FrozenScheme scheme, bool runs,
                      storage::RelationDictionary* dictionary) {
  FreezeOptions options;
  options.scheme = scheme;
  options.runs = runs;
  options.dictionary = dictionary;
  const FrozenColumn frozen(column, options);
  return frozen.bytes() + (dictionary == nullptr ? 0 : dictionary->memory_bytes());
}

struct Sizes {
  uint64_t plain = 0;
  uint64_t dictionary = 0;  // the paper's first scheme: texts only
  uint64_t with_runs = 0;   // and its second
  uint64_t ours = 0;

  void add(const Sizes& other) {
    plain += other.plain;
    dictionary += other.dictionary;
    with_runs += other.with_runs;
    ours += other.ours;
  }
  nlohmann::ordered_json json() const {
    const auto ratio = [&](uint64_t bytes) { return static_cast<double>(plain) / static_cast<double>(bytes); };
    return {{"bytes", plain},
            {"ratio_dictionary", ratio(dictionary)},
            {"ratio_dictionary_and_runs", ratio(with_runs)},
            {"ratio", ratio(ours)}};
  }
};

Sizes measure(const PlainColumn& column, std::string* schemes) {
  Sizes sizes;
  sizes.plain = column.bytes();
  const bool is_text = holds_bytes(column.type.id);
  storage::RelationDictionary dictionary, chosen_dictionary;
  sizes.dictionary = is_text ? forced_bytes(column, FrozenScheme::kDictionary, false, &dictionary) : sizes.plain;
  sizes.with_runs = sizes.dictionary;
  if (!is_text) {
    sizes.with_runs = std::min(sizes.plain, forced_bytes(column, FrozenScheme::kPlain, true, nullptr));
  }
  FreezeOptions options;
  options.dictionary = is_text ? &chosen_dictionary : nullptr;
  const FrozenColumn frozen(column, options);
  sizes.ours = frozen.bytes() + (chosen_dictionary.values() > 0 ? chosen_dictionary.memory_bytes() : 0);
  *schemes = frozen.schemes();
  return sizes;
}

}  // namespace

nlohmann::ordered_json measure_sizes(const CompactionFlags& flags) {
  auto rows = nlohmann::ordered_json::array();
  for (uint32_t length : {24u, 240u}) {
    const Texts texts(length, 1.2);
    Sizes all;
    for (const Relation& relation : make_relations(flags, texts, length)) {
      for (const PlainColumn& column : relation.columns) {
        std::string schemes;
        const Sizes sizes = measure(column, &schemes);
        all.add(sizes);
        nlohmann::ordered_json row{{"text_length", length}, {"attribute", column.name}, {"scheme", schemes}};
        row.update(sizes.json());
        if (column.name == "ol_o_id") row["paper_ratio_dictionary_and_runs"] = 3.3;
        rows.push_back(row);
      }
    }
    nlohmann::ordered_json row{{"text_length", length}, {"attribute", "all"}};
    row.update(all.json());
    row["paper_ratio_dictionary"] = length == 24 ? 1.12 : 2.42;
    rows.push_back(row);
  }
  return rows;
}

namespace {

// Microseconds a vector of a BETWEEN that the first 64th of its range of values is in; numbers.
double select_us(const FrozenColumn& frozen, int repeat) {
  std::vector<storage::FrozenPredicate> wanted;
  for (uint32_t i = 0; i < frozen.vectors(); ++i) {
    const Datum low = frozen.vector(i).min(), high = frozen.vector(i).max();
    const __int128 end = low.int128() + (high.int128() - low.int128()) / 64;
    wanted.push_back(storage::FrozenPredicate::between(low, int128_datum(end, low.scale)));
  }
  uint64_t selection[storage::selection_words(storage::kChunkTuples)];
  const double ms = best_ms(repeat, [&] {
    for (uint32_t i = 0; i < frozen.vectors(); ++i) CHECK(frozen.vector(i).select(wanted[i], selection));
  });
  return ms * 1e3 / frozen.vectors();
}

}  // namespace

nlohmann::ordered_json measure_decoding(const CompactionFlags& flags) {
  auto rows = nlohmann::ordered_json::array();
  Random random(flags.seed);
  const auto add = [&](const char* name, PlainColumn column, FrozenScheme scheme, bool runs) {
    FreezeOptions options;
    options.scheme = scheme;
    options.runs = runs;
    const double start = processor_seconds();
    const FrozenColumn frozen(column, options);
    const double freeze_ns = (processor_seconds() - start) * 1e9 / static_cast<double>(column.count());
    const uint32_t width = storage::cell_bytes_of(column.type);
    std::vector<char> cells(storage::kChunkTuples * uint64_t{width});
    const double ms = best_ms(flags.repeat * 5, [&] {
      for (uint32_t i = 0; i < frozen.vectors(); ++i) {
        frozen.vector(i).decode(0, frozen.vector(i).count(), cells.data());
      }
    });
    CHECK(frozen.vector(0).header().scheme == scheme);
    rows.push_back({{"values", name},
                    {"scheme", frozen.schemes()},
                    {"decode_ns", ms * 1e6 / static_cast<double>(column.count())},
                    {"freeze_ns", freeze_ns},
                    {"bytes_per_value", static_cast<double>(frozen.bytes()) / static_cast<double>(column.count())}});
    if (!holds_bytes(column.type.id)) rows.back()["select_us_per_vector"] = select_us(frozen, flags.repeat * 5);
  };
  PlainColumn few = number("few", make_type(TypeId::kInt4)), runs = few, money = number("money", make_numeric(6, 2));
  PlainColumn times = number("times", make_type(TypeId::kTimestamp)), scattered = times,
              text = number("text", make_string(TypeId::kChar, 24));
  const Texts texts(24, 1.2);
  for (int i = 0; i < 64 * 16384; ++i) {
    few.append_number(static_cast<int64_t>(random.below(64)) * 100'003);
    runs.append_number(i / 10);
    money.append_number(random.between(1, 999'999));
    times.append_number(400'000'000'000'000 + i * 1000 + random.between(0, 999));
    scattered.append_number(400'000'000'000'000 + random.between(0, storage::kChunkTuples * 1000 - 1));
    text.append_text(texts.draw(&random));
  }
  add("64 values of int4", few, FrozenScheme::kPlain, false);
  add("64 values of int4", few, FrozenScheme::kDictionary, false);
  add("numeric(6,2)", money, FrozenScheme::kPacked, false);
  add("timestamps in order", times, FrozenScheme::kPacked, false);
  add("timestamps in no order", scattered, FrozenScheme::kPacked, false);
  add("runs of 10", runs, FrozenScheme::kPlain, true);
  add("runs of 10", runs, FrozenScheme::kPacked, true);
  add("names in char(24)", text, FrozenScheme::kPlain, false);
  add("names in char(24)", text, FrozenScheme::kDictionary, false);
  return rows;
}

}  // namespace scyper::bench
