#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "base/check.h"
#include "bit_packing.h"
#include "frozen_format.h"
#include "storage/frozen_vector.h"
#include "storage/relation_dictionary.h"

// From hot cells to the image of a frozen vector.
namespace scyper::storage {
namespace {

static_assert(kChunkTuples <= 65536);  // positions in images have 16 bits

// What decoding costs, in nanoseconds per value, as bench_compaction measured it (Zen 3): for the choice of schemes. A
// run costs its entry and kRunNs.
constexpr std::array<double, kFrozenSchemes> kDecodeNs = {0.1, 0.05, 0.3, 0.4};
constexpr double kRunNs = 1.5;
constexpr double kTextDictionaryNs = 0.5;  // beyond plain texts: codes

uint32_t bits_of(uint64_t value) { return static_cast<uint32_t>(std::bit_width(value)); }

struct Choice {
  FrozenScheme scheme = FrozenScheme::kPlain;
  bool runs = false;
  bool shared = false;
  double score = 0;
};

// The best of what is offered; wishes of the options beat scores.
class Chooser {
 public:
  Chooser(const FreezeOptions& options, uint32_t count) : options_(options), count_(count) {}

  void offer(FrozenScheme scheme, bool runs, bool shared, uint64_t entries, uint64_t bytes) {
    double ns = static_cast<double>(entries) * kDecodeNs[static_cast<uint32_t>(scheme)];
    if (runs) {
      ns += static_cast<double>(entries) * kRunNs + 0.1 * count_;
      bytes += entries * sizeof(uint16_t);
    }
    Choice choice{scheme, runs, shared, static_cast<double>(bytes) + ns};
    if (options_.scheme.has_value() && *options_.scheme != scheme) choice.score += kUnwanted;
    if (options_.runs.has_value() && *options_.runs != runs) choice.score += kUnwanted;
    if (!has_choice_ || choice.score < best_.score) best_ = choice;
    has_choice_ = true;
  }
  const Choice& best() const {
    CHECK(has_choice_);
    return best_;
  }

 private:
  static constexpr double kUnwanted = 1e15;
  const FreezeOptions& options_;
  const double count_;
  bool has_choice_ = false;
  Choice best_;
};

// An image under construction.
class Image {
 public:
  Image(const FrozenSource& source, std::string* out) : out_(out), start_(out->size()) {
    CHECK(start_ % 8 == 0 && source.count > 0 && source.count <= kChunkTuples);
    out_->append(sizeof(FrozenHeader), '\0');
    FrozenHeader& head = header();
    head.kind = source.access.kind;
    head.type = source.type.id;
    head.scale = source.type.scale;
    head.cell_bytes = source.access.cell_bytes;
    head.count = source.count;
  }
  FrozenHeader& header() { return *reinterpret_cast<FrozenHeader*>(out_->data() + start_); }
  // Zero, aligned to 8.
  uint32_t add_section(uint64_t bytes) {
    const uint64_t begin = out_->size() - start_;
    out_->append((bytes + 7) / 8 * 8, '\0');
    CHECK(out_->size() - start_ < uint64_t{1} << 31);
    return static_cast<uint32_t>(begin);
  }
  char* at(uint32_t offset) { return out_->data() + start_ + offset; }
  void add_codes(const std::vector<uint64_t>& codes, uint32_t bits) {
    const uint32_t begin = add_section(packed_bytes(codes.size(), bits));
    pack(codes.data(), codes.size(), bits, at(begin));
    header().codes_at = begin;
    header().code_bits = static_cast<uint8_t>(bits);
  }
  void add_run_ends(const std::vector<uint16_t>& ends) {
    const uint32_t begin = add_section(ends.size() * sizeof(uint16_t));
    std::memcpy(at(begin), ends.data(), ends.size() * sizeof(uint16_t));
    header().run_ends_at = begin;
    header().has_runs = 1;
  }
  void finish() { header().bytes = static_cast<uint32_t>(out_->size() - start_); }

 private:
  std::string* const out_;
  const size_t start_;
};

// Positions whose value matters: they are live and not NULL.
struct Positions {
  std::vector<uint8_t> matters;
  std::vector<uint8_t> nulls;  // live and NULL
  uint32_t null_count = 0;
  uint32_t first = 0;  // that matters; count when none does
};

Positions find_positions(const FrozenSource& source) {
  Positions found;
  found.matters.resize(source.count);
  found.nulls.resize(source.count);
  found.first = source.count;
  for (uint32_t i = 0; i < source.count; ++i) {
    const bool live = source.live == nullptr || source.live[i] != 0;
    const bool null = live && is_null(source.access, source.chunk, i);
    found.nulls[i] = null ? 1 : 0;
    found.null_count += null ? 1 : 0;
    found.matters[i] = live && !null ? 1 : 0;
    if (found.matters[i] != 0 && found.first == source.count) found.first = i;
  }
  return found;
}

void add_nulls(const Positions& positions, Image* image) {
  const auto count = static_cast<uint32_t>(positions.nulls.size());
  image->header().null_count = positions.null_count;
  if (positions.null_count == 0) return;
  if (positions.null_count == count) {
    image->header().null_form = NullForm::kAll;
    return;
  }
  std::vector<uint16_t> borders;
  for (uint32_t i = 0; i < count; ++i) {
    const bool before = i > 0 && positions.nulls[i - 1] != 0;
    if ((positions.nulls[i] != 0) != before) borders.push_back(static_cast<uint16_t>(i));
  }
  if (borders.size() % 2 == 1) borders.push_back(static_cast<uint16_t>(count));
  const bool as_ranges = borders.size() * sizeof(uint16_t) <= count / 8;
  image->header().null_form = as_ranges ? NullForm::kRanges : NullForm::kBits;
  if (as_ranges) {
    const uint32_t begin = image->add_section(borders.size() * sizeof(uint16_t));
    std::memcpy(image->at(begin), borders.data(), borders.size() * sizeof(uint16_t));
    image->header().nulls_at = begin;
    image->header().null_ranges = static_cast<uint32_t>(borders.size() / 2);
    return;
  }
  const uint32_t begin = image->add_section(selection_words(count) * sizeof(uint64_t));
  auto* words = reinterpret_cast<uint64_t*>(image->at(begin));
  for (uint32_t i = 0; i < count; ++i) words[i / 64] |= uint64_t{positions.nulls[i]} << (i % 64);
  image->header().nulls_at = begin;
}

template <typename Value>
std::vector<uint16_t> find_run_ends(const std::vector<Value>& values) {
  std::vector<uint16_t> ends;
  for (size_t i = 1; i < values.size(); ++i) {
    if (!(values[i] == values[i - 1])) ends.push_back(static_cast<uint16_t>(i));
  }
  ends.push_back(static_cast<uint16_t>(values.size()));
  return ends;
}

template <typename Value>
std::vector<Value> take_runs(const std::vector<Value>& values, const std::vector<uint16_t>& ends) {
  std::vector<Value> runs;
  runs.reserve(ends.size());
  for (uint16_t end : ends) runs.push_back(values[end - 1]);
  return runs;
}

// --- numbers: int64, or __int128 for cells of 128 bits ---

struct NumberHash {
  size_t operator()(__int128 number) const {
    return absl::HashOf(static_cast<uint64_t>(number), static_cast<uint64_t>(number >> 64));
  }
};

template <typename Number>
class NumberEncoder {
 public:
  NumberEncoder(const FrozenSource& source, const FreezeOptions& options, Image* image)
      : source_(source), options_(options), image_(image) {}

  void encode(const Positions& positions) {
    read(positions);
    measure(positions);
    const std::vector<uint16_t> ends = find_run_ends(numbers_);
    range_ = static_cast<unsigned __int128>(max_) - static_cast<unsigned __int128>(min_);
    bits_ = range_ >> 64 != 0 ? 128 : bits_of(static_cast<uint64_t>(range_));
    const bool has_distinct = find_distinct();
    Chooser chooser(options_, source_.count);
    if (range_ == 0) {
      chooser.offer(FrozenScheme::kConstant, false, false, 1, 0);
    } else {
      offer_all(numbers_.size(), false, has_distinct, &chooser);
      offer_all(ends.size(), true, has_distinct, &chooser);
    }
    const Choice choice = chooser.best();
    if (choice.runs) {
      numbers_ = take_runs(numbers_, ends);
      image_->add_run_ends(ends);
    }
    write(choice.scheme);
  }

 private:
  void read(const Positions& positions) {
    numbers_.resize(source_.count);
    const auto number_at = [&](uint32_t i) {
      return static_cast<Number>(number_of_cell(source_.access.kind, cell_of(source_.access, source_.chunk, i)));
    };
    Number last = positions.first < source_.count ? number_at(positions.first) : 0;
    for (uint32_t i = 0; i < source_.count; ++i) {
      if (positions.matters[i] != 0) last = number_at(i);
      numbers_[i] = last;
    }
  }

  void measure(const Positions& positions) {
    min_ = max_ = numbers_[0];
    __int128 sum = 0;
    bool overflows = false;
    for (uint32_t i = 0; i < source_.count; ++i) {
      min_ = std::min(min_, numbers_[i]);
      max_ = std::max(max_, numbers_[i]);
      if (positions.matters[i] != 0) overflows |= __builtin_add_overflow(sum, __int128{numbers_[i]}, &sum);
    }
    FrozenHeader& head = image_->header();
    head.has_bounds = positions.first < source_.count ? 1 : 0;
    put_int128(min_, head.min);
    put_int128(max_, head.max);
    const CellKind kind = source_.access.kind;
    if (overflows || kind == CellKind::kFloat64 || kind == CellKind::kBool) return;
    if (head.has_bounds == 0) return;
    head.has_sum = 1;
    put_int128(sum, head.sum);
  }

  // False: so many that a dictionary cannot be smaller than packed or plain values.
  bool find_distinct() {
    const uint64_t value_bits = std::min<uint64_t>(bits_, source_.access.cell_bytes * 8);
    const uint64_t limit = options_.scheme == FrozenScheme::kDictionary
                               ? source_.count
                               : numbers_.size() * value_bits / (8 * source_.access.cell_bytes) + 1;
    absl::flat_hash_set<Number, NumberHash> numbers;
    for (const Number& number : numbers_) {
      numbers.insert(number);
      if (numbers.size() > limit) return false;
    }
    distinct_.assign(numbers.begin(), numbers.end());
    std::sort(distinct_.begin(), distinct_.end());
    return true;
  }

  void offer_all(uint64_t entries, bool runs, bool has_distinct, Chooser* chooser) {
    const uint64_t width = source_.access.cell_bytes;
    chooser->offer(FrozenScheme::kPlain, runs, false, entries, entries * width);
    if (bits_ <= kMaxPackedBits) {
      chooser->offer(FrozenScheme::kPacked, runs, false, entries, packed_bytes(entries, bits_));
    }
    if (!has_distinct) return;
    chooser->offer(FrozenScheme::kDictionary, runs, false, entries,
                   distinct_.size() * width + packed_bytes(entries, bits_of(distinct_.size() - 1)));
  }

  void write_cells(const std::vector<Number>& numbers) {
    const uint32_t width = source_.access.cell_bytes;
    image_->header().values_at = image_->add_section(numbers.size() * width);
    char* cell = image_->at(image_->header().values_at);
    for (const Number& number : numbers) {
      const bool is_float = source_.access.kind == CellKind::kFloat64;
      const __int128 bits = is_float ? __int128{order_key(static_cast<int64_t>(number))} : __int128{number};
      uint64_t words[2];
      put_int128(bits, words);
      std::memcpy(cell, words, width);
      cell += width;
    }
  }

  void write(FrozenScheme scheme) {
    FrozenHeader& head = image_->header();
    head.scheme = scheme;
    head.entries = static_cast<uint32_t>(numbers_.size());
    if (scheme == FrozenScheme::kConstant || scheme == FrozenScheme::kPacked) put_int128(min_, head.reference);
    if (scheme == FrozenScheme::kPlain) return write_cells(numbers_);
    if (scheme == FrozenScheme::kConstant) return;
    std::vector<uint64_t> codes;
    codes.reserve(numbers_.size());
    if (scheme == FrozenScheme::kPacked) {
      for (const Number& number : numbers_) {
        codes.push_back(static_cast<uint64_t>(number) - static_cast<uint64_t>(min_));
      }
      return image_->add_codes(codes, bits_);
    }
    head.values = static_cast<uint32_t>(distinct_.size());
    for (const Number& number : numbers_) {
      codes.push_back(
          static_cast<uint64_t>(std::lower_bound(distinct_.begin(), distinct_.end(), number) - distinct_.begin()));
    }
    write_cells(distinct_);
    image_->add_codes(codes, bits_of(distinct_.size() - 1));
  }

  const FrozenSource& source_;
  const FreezeOptions& options_;
  Image* const image_;
  std::vector<Number> numbers_;
  std::vector<Number> distinct_;  // in order
  Number min_ = 0;
  Number max_ = 0;
  unsigned __int128 range_ = 0;
  uint32_t bits_ = 0;
};

// --- texts ---

class TextEncoder {
 public:
  TextEncoder(const FrozenSource& source, const FreezeOptions& options, Image* image)
      : source_(source), options_(options), image_(image) {}

  void encode(const Positions& positions) {
    read(positions);
    number_texts();
    const std::vector<uint16_t> ends = find_run_ends(numbers_);
    Chooser chooser(options_, source_.count);
    if (distinct_.size() == 1) {
      chooser.offer(FrozenScheme::kConstant, false, false, 1, distinct_[0].size());
    } else {
      offer_all(numbers_, false, &chooser);
      offer_all(take_runs(numbers_, ends), true, &chooser);
    }
    const Choice choice = chooser.best();
    if (choice.runs) {
      numbers_ = take_runs(numbers_, ends);
      image_->add_run_ends(ends);
    }
    FrozenHeader& head = image_->header();
    head.scheme = choice.scheme;
    head.entries = static_cast<uint32_t>(numbers_.size());
    head.has_bounds = positions.first < source_.count && source_.access.kind != CellKind::kDecimal ? 1 : 0;
    if (choice.scheme == FrozenScheme::kPlain) return write_plain();
    if (choice.shared) {
      write_keys();
    } else {
      write_texts(distinct_);
    }
    image_->header().max[0] = distinct_.size() - 1;
    if (choice.scheme == FrozenScheme::kConstant) return;
    image_->add_codes({numbers_.begin(), numbers_.end()}, bits_of(distinct_.size() - 1));
  }

 private:
  std::string_view text_at(uint32_t i) const {
    const char* cell = cell_of(source_.access, source_.chunk, i);
    if (source_.access.kind == CellKind::kDecimal) return {cell, source_.access.cell_bytes};
    const StringRef text = read_string(source_.access.kind, cell);
    return {text.data, text.size};
  }

  void read(const Positions& positions) {
    texts_.resize(source_.count);
    const bool is_decimal = source_.access.kind == CellKind::kDecimal;
    static constexpr char kNoDecimal[24] = {};
    std::string_view last = is_decimal ? std::string_view(kNoDecimal, 24) : std::string_view();
    if (positions.first < source_.count) last = text_at(positions.first);
    for (uint32_t i = 0; i < source_.count; ++i) {
      if (positions.matters[i] != 0) last = text_at(i);
      texts_[i] = last;
    }
  }

  // numbers_: of each text among the distinct ones, which are in the type's order.
  void number_texts() {
    absl::flat_hash_map<std::string_view, uint32_t> known;
    std::vector<uint32_t> found;
    found.reserve(texts_.size());
    for (const std::string_view& text : texts_) {
      const auto [it, is_new] = known.emplace(text, static_cast<uint32_t>(distinct_.size()));
      if (is_new) distinct_.push_back(text);
      found.push_back(it->second);
    }
    std::vector<uint32_t> order(distinct_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const int by_type = compare_texts(source_.type.id, {distinct_[a].data(), distinct_[a].size()},
                                        {distinct_[b].data(), distinct_[b].size()});
      return by_type != 0 ? by_type < 0 : distinct_[a] < distinct_[b];
    });
    std::vector<uint32_t> rank(order.size());
    std::vector<std::string_view> sorted;
    for (uint32_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = i;
      sorted.push_back(distinct_[order[i]]);
    }
    distinct_ = std::move(sorted);
    numbers_.resize(found.size());
    for (size_t i = 0; i < found.size(); ++i) numbers_[i] = rank[found[i]];
  }

  void offer_all(const std::vector<uint32_t>& numbers, bool runs, Chooser* chooser) {
    uint64_t plain = (numbers.size() + 1) * sizeof(uint32_t);
    for (uint32_t number : numbers) plain += distinct_[number].size();
    chooser->offer(FrozenScheme::kPlain, runs, false, numbers.size(), plain);
    uint64_t own = (distinct_.size() + 1) * sizeof(uint32_t);
    for (const std::string_view& text : distinct_) own += text.size();
    const uint64_t codes = packed_bytes(numbers.size(), bits_of(distinct_.size() - 1)) +
                           static_cast<uint64_t>(static_cast<double>(numbers.size()) * kTextDictionaryNs);
    chooser->offer(FrozenScheme::kDictionary, runs, false, numbers.size(), own + codes);
    if (options_.dictionary == nullptr || source_.access.kind == CellKind::kDecimal) return;
    chooser->offer(FrozenScheme::kDictionary, runs, true, numbers.size(), shared_bytes() + codes);
  }

  // A text that the relation does not know yet counts half where texts repeat, as further chunks will most likely use
  // it too, and whole where each is another one, as keys and free text are.
  uint64_t shared_bytes() {
    if (shared_bytes_ != 0) return shared_bytes_;
    shared_bytes_ = distinct_.size() * sizeof(uint32_t);
    uint64_t unknown = 0;
    for (const std::string_view& text : distinct_) {
      constexpr uint64_t kEntryBytes = 48;  // entry and value index
      if (options_.dictionary->find(text) == RelationDictionary::kNoKey) {
        unknown += text.size() + kEntryBytes;
      }
    }
    const double new_share = static_cast<double>(distinct_.size()) / static_cast<double>(texts_.size());
    shared_bytes_ += static_cast<uint64_t>(static_cast<double>(unknown) * (1 + new_share) / 2);
    return shared_bytes_;
  }

  void write_texts(const std::vector<std::string_view>& texts) {
    uint64_t bytes = (texts.size() + 1) * sizeof(uint32_t);
    for (const std::string_view& text : texts) bytes += text.size();
    const uint32_t begin = image_->add_section(bytes);
    char* border = image_->at(begin);
    char* to = border + (texts.size() + 1) * sizeof(uint32_t);
    uint32_t end = 0;
    for (const std::string_view& text : texts) {
      save_cell(border, end);
      border += sizeof(uint32_t);
      if (!text.empty()) std::memcpy(to, text.data(), text.size());
      to += text.size();
      end += static_cast<uint32_t>(text.size());
    }
    save_cell(border, end);
    image_->header().values_at = begin;
    image_->header().values = static_cast<uint32_t>(texts.size());
  }

  // When the dictionary is full after all, the texts are held here.
  void write_keys() {
    std::vector<uint32_t> keys;
    for (const std::string_view& text : distinct_) {
      const uint32_t key = options_.dictionary->acquire(text);
      if (key == RelationDictionary::kNoKey) {
        for (uint32_t acquired : keys) options_.dictionary->release(acquired);
        return write_texts(distinct_);
      }
      keys.push_back(key);
    }
    const uint32_t begin = image_->add_section(keys.size() * sizeof(uint32_t));
    std::memcpy(image_->at(begin), keys.data(), keys.size() * sizeof(uint32_t));
    image_->header().values_at = begin;
    image_->header().values = static_cast<uint32_t>(keys.size());
    image_->header().has_shared_text = 1;
  }

  void write_plain() {
    std::vector<std::string_view> texts;
    FrozenHeader& head = image_->header();
    for (uint32_t i = 0; i < numbers_.size(); ++i) {
      texts.push_back(distinct_[numbers_[i]]);
      if (numbers_[i] == 0) head.min[0] = i;
      if (numbers_[i] + 1 == distinct_.size()) head.max[0] = i;
    }
    write_texts(texts);
  }

  const FrozenSource& source_;
  const FreezeOptions& options_;
  Image* const image_;
  std::vector<std::string_view> texts_;
  std::vector<std::string_view> distinct_;
  std::vector<uint32_t> numbers_;
  uint64_t shared_bytes_ = 0;
};

}  // namespace

void freeze_vector(const FrozenSource& source, const FreezeOptions& options, std::string* out) {
  CHECK(can_freeze(source.access.kind));
  Image image(source, out);
  const Positions positions = find_positions(source);
  add_nulls(positions, &image);
  if (holds_text(source.access.kind)) {
    TextEncoder(source, options, &image).encode(positions);
  } else if (source.access.kind == CellKind::kInt128) {
    NumberEncoder<__int128>(source, options, &image).encode(positions);
  } else {
    NumberEncoder<int64_t>(source, options, &image).encode(positions);
  }
  image.finish();
}

}  // namespace scyper::storage
