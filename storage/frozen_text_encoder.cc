#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "absl/hash/hash.h"
#include "frozen_encoder.h"
#include "storage/relation_dictionary.h"

// From hot cells to the image of a frozen vector: texts.
namespace scyper::storage {
namespace {

constexpr double kTextDictionaryNs = 0.5;  // beyond plain texts: codes

class TextEncoder {
 public:
  TextEncoder(const FrozenSource& source, const FreezeOptions& options, VectorImage* image)
      : source_(source), options_(options), image_(image) {}

  void encode(const Positions& positions) {
    matters_ = positions.matters;
    // of fixed size: there is no empty one
    if (source_.access.kind == CellKind::kDecimal) std::fill(matters_.begin(), matters_.end(), 1);
    read(positions);
    number_texts();
    Chooser chooser(options_, source_.count);
    if (distinct_.size() == 1) {
      chooser.offer(FrozenScheme::kConstant, false, false, 1, distinct_[0].size());
    } else {
      offer_all(&chooser);
    }
    const Choice choice = chooser.best();
    if (choice.scheme != FrozenScheme::kPlain) sort_texts();
    if (choice.runs) {
      const std::vector<uint16_t> ends = find_run_ends(numbers_);
      numbers_ = take_runs(numbers_, ends);
      image_->add_run_ends(ends);
      matters_.assign(numbers_.size(), 1);
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
  static constexpr uint64_t kKeyBytes = 48;  // of the relation's dictionary: entry and value index

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

  // numbers_: of each text among the distinct ones.
  void number_texts() {
    struct Known {
      uint32_t hash;
      uint32_t number;  // + 1
    };
    const uint64_t mask = std::bit_ceil(uint64_t{2} * texts_.size()) - 1;
    std::vector<Known> known(mask + 1);
    numbers_.resize(texts_.size());
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (i > 0 && texts_[i] == texts_[i - 1]) {
        numbers_[i] = numbers_[i - 1];
        continue;
      }
      const uint64_t hash = absl::HashOf(texts_[i]);
      const auto high = static_cast<uint32_t>(hash >> 32);
      uint64_t at = hash & mask;
      while (known[at].number != 0 && (known[at].hash != high || distinct_[known[at].number - 1] != texts_[i])) {
        at = (at + 1) & mask;
      }
      if (known[at].number == 0) {
        distinct_.push_back(texts_[i]);
        known[at] = {high, static_cast<uint32_t>(distinct_.size())};
      }
      numbers_[i] = known[at].number - 1;
    }
  }

  // In the order of compare_texts(), then of bytes. Most differ in their first bytes, which one comparison decides on.
  struct Sorted {
    uint64_t beginning;
    StringRef text;  // without what does not count in the order
    uint32_t number;
  };
  Sorted sorted(uint32_t number) const {
    StringRef text{distinct_[number].data(), distinct_[number].size()};
    if (source_.type.id == TypeId::kChar) text = trim_blanks(text);
    uint64_t beginning = 0;
    if (text.size > 0) std::memcpy(&beginning, text.data, std::min<uint64_t>(text.size, sizeof(beginning)));
    return {__builtin_bswap64(beginning), text, number};
  }
  bool is_less(const Sorted& a, const Sorted& b) const {
    if (a.beginning != b.beginning) return a.beginning < b.beginning;
    const int by_type = compare_strings(a.text, b.text);
    return by_type != 0 ? by_type < 0 : distinct_[a.number] < distinct_[b.number];
  }

  // The distinct texts get into order, and their numbers with them.
  void sort_texts() {
    std::vector<Sorted> order;
    order.reserve(distinct_.size());
    for (uint32_t i = 0; i < distinct_.size(); ++i) order.push_back(sorted(i));
    std::sort(order.begin(), order.end(), [this](const Sorted& a, const Sorted& b) { return is_less(a, b); });
    std::vector<uint32_t> rank(order.size());
    std::vector<std::string_view> texts(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      rank[order[i].number] = i;
      texts[i] = distinct_[order[i].number];
    }
    distinct_ = std::move(texts);
    for (uint32_t& number : numbers_) number = rank[number];
  }

  void offer_all(Chooser* chooser) {
    uint64_t bytes = 0, run_bytes = 0, runs = 0;
    for (size_t i = 0; i < numbers_.size(); ++i) {
      const uint64_t size = texts_[i].size();
      bytes += matters_[i] != 0 ? size : 0;
      if (i > 0 && numbers_[i] == numbers_[i - 1]) continue;
      run_bytes += size;
      ++runs;
    }
    offer_own(numbers_.size(), bytes, false, chooser);
    offer_own(runs, run_bytes, true, chooser);
    if (options_.dictionary == nullptr || source_.access.kind == CellKind::kDecimal) return;
    // no text is looked up where keys would not be the best even if all that the relation has were among these
    const uint64_t known = std::min<uint64_t>(options_.dictionary->values(), distinct_.size());
    const uint64_t least = shared_bytes((distinct_.size() - known) * kKeyBytes);
    const auto score = [&](bool as_runs, uint64_t entries) {
      return chooser->score(FrozenScheme::kDictionary, as_runs, entries, least + code_bytes(entries));
    };
    if (std::min(score(false, numbers_.size()), score(true, runs)) >= chooser->best().score) return;
    const uint64_t shared = shared_bytes(unknown_bytes());
    chooser->offer(FrozenScheme::kDictionary, false, true, numbers_.size(), shared + code_bytes(numbers_.size()));
    chooser->offer(FrozenScheme::kDictionary, true, true, runs, shared + code_bytes(runs));
  }

  // bytes: of all entries' texts.
  void offer_own(uint64_t entries, uint64_t bytes, bool runs, Chooser* chooser) {
    chooser->offer(FrozenScheme::kPlain, runs, false, entries, (entries + 1) * sizeof(uint32_t) + bytes);
    uint64_t own = (distinct_.size() + 1) * sizeof(uint32_t);
    for (const std::string_view& text : distinct_) own += text.size();
    chooser->offer(FrozenScheme::kDictionary, runs, false, entries, own + code_bytes(entries));
  }

  uint64_t code_bytes(uint64_t entries) const {
    return packed_bytes(entries, bits_of(distinct_.size() - 1)) +
           static_cast<uint64_t>(static_cast<double>(entries) * kTextDictionaryNs);
  }

  // unknown: bytes that the relation's dictionary would grow by. A text that the relation does not know yet counts half
  // where texts repeat, as further chunks will most likely use it too, and whole where each is another one, as keys and
  // free text are.
  uint64_t shared_bytes(uint64_t unknown) const {
    const double new_share = static_cast<double>(distinct_.size()) / static_cast<double>(texts_.size());
    return distinct_.size() * sizeof(uint32_t) +
           static_cast<uint64_t>(static_cast<double>(unknown) * (1 + new_share) / 2);
  }
  uint64_t unknown_bytes() const {
    uint64_t unknown = 0;
    for (const std::string_view& text : distinct_) {
      if (options_.dictionary->find(text) == RelationDictionary::kNoKey) unknown += text.size() + kKeyBytes;
    }
    return unknown;
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

  // What does not matter is empty: it would be there again for each of a range without tuples.
  void write_plain() {
    Sorted least = sorted(0), most = least;
    for (uint32_t i = 1; i < distinct_.size(); ++i) {
      const Sorted one = sorted(i);
      if (is_less(one, least)) least = one;
      if (is_less(most, one)) most = one;
    }
    std::vector<std::string_view> texts;
    texts.reserve(numbers_.size());
    FrozenHeader& head = image_->header();
    for (uint32_t i = 0; i < numbers_.size(); ++i) {
      texts.push_back(matters_[i] != 0 ? distinct_[numbers_[i]] : std::string_view());
      if (matters_[i] == 0) continue;
      if (numbers_[i] == least.number) head.min[0] = i;
      if (numbers_[i] == most.number) head.max[0] = i;
    }
    write_texts(texts);
  }

  const FrozenSource& source_;
  const FreezeOptions& options_;
  VectorImage* const image_;
  std::vector<std::string_view> texts_;
  std::vector<std::string_view> distinct_;
  std::vector<uint32_t> numbers_;
  std::vector<uint8_t> matters_;  // by entry
};

}  // namespace

void encode_texts(const FrozenSource& source, const FreezeOptions& options, const Positions& positions,
                  VectorImage* image) {
  TextEncoder(source, options, image).encode(positions);
}

}  // namespace scyper::storage
