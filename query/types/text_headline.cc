#include "types/text_headline.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/bounded_work.h"
#include "types/digits.h"
#include "types/text_match.h"
#include "types/text_vector.h"
#include "types/value_error.h"

namespace scyper::query {

namespace {

// --- options ---

std::string lower(std::string_view text) {
  std::string word(text);
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  return word;
}

class OptionReader {
 public:
  explicit OptionReader(std::string_view text) : text_(text) {}

  Status next(std::string* key, std::string* value, bool* found) {
    skip([](char c) { return is_space(c) || c == ','; });
    *found = at_ < text_.size();
    if (!*found) return absl::OkStatus();
    if (!read_word(key, '=')) return malformed();
    skip(is_space);
    if (now() != '=') return malformed();
    ++at_;
    skip(is_space);
    return at_ < text_.size() && read_word(value, ',') ? absl::OkStatus() : malformed();
  }

 private:
  char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  template <class Is>
  void skip(Is is) {
    while (at_ < text_.size() && is(text_[at_])) ++at_;
  }
  Status malformed() const {
    return sql_error("42601", "invalid parameter list format: \"" + std::string(text_) + "\"");
  }

  // A word, or what stands in quotes. Quotes are doubled in quotes.
  bool read_word(std::string* word, char end) {
    word->clear();
    const char quote = now();
    if (quote != '\'' && quote != '"') {
      for (; at_ < text_.size() && !is_space(now()) && now() != end; ++at_) *word += now();
      return true;
    }
    for (++at_; at_ < text_.size(); ++at_) {
      if (now() != quote) {
        *word += now();
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == quote) {
        *word += text_[++at_];
      } else {
        return ++at_, true;
      }
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Status read_number(const std::string& value, int* out) {
  const auto read = std::from_chars(value.data(), value.data() + value.size(), *out);
  if (read.ec == std::errc::result_out_of_range)
    return sql_error("22003", "value \"" + value + "\" is out of range for type integer");
  if (value.empty() || read.ec != std::errc() || read.ptr != value.data() + value.size())
    return sql_error("22P02", "invalid input syntax for type integer: \"" + value + "\"");
  return absl::OkStatus();
}

Status set_option(const std::string& key, const std::string& value, HeadlineOptions* out) {
  const std::string name = lower(key);
  if (name == "maxwords") return read_number(value, &out->max_words);
  if (name == "minwords") return read_number(value, &out->min_words);
  if (name == "shortword") return read_number(value, &out->short_word);
  if (name == "maxfragments") return read_number(value, &out->max_fragments);
  if (name == "startsel") return out->start = value, absl::OkStatus();
  if (name == "stopsel") return out->stop = value, absl::OkStatus();
  if (name == "fragmentdelimiter") return out->delimiter = value, absl::OkStatus();
  if (name != "highlightall") return sql_error("22023", "unrecognized headline parameter: \"" + key + "\"");
  static constexpr std::string_view kYes[] = {"1", "on", "true", "t", "y", "yes"};
  out->highlights_all = std::find(std::begin(kYes), std::end(kYes), lower(value)) != std::end(kYes);
  return absl::OkStatus();
}

}  // namespace

Status read_headline_options(std::string_view text, HeadlineOptions* out) {
  OptionReader reader(text);
  for (bool found = true; found;) {
    std::string key, value;
    SCYPER_RETURN_IF_ERROR(reader.next(&key, &value, &found));
    if (found) SCYPER_RETURN_IF_ERROR(set_option(key, value, out));
  }
  if (out->highlights_all) return absl::OkStatus();
  const auto wrong = [](const char* message) { return sql_error("22023", message); };
  if (out->min_words >= out->max_words) return wrong("MinWords should be less than MaxWords");
  if (out->min_words <= 0) return wrong("MinWords should be positive");
  if (out->short_word < 0) return wrong("ShortWord should be >= 0");
  if (out->max_fragments < 0) return wrong("MaxFragments should be >= 0");
  return absl::OkStatus();
}

namespace {

// --- the words of the text ---

struct HeadlineWord {
  TextToken token;
  int position = 0;  // among those that are indexed
  int item = -1;     // of the query, -1: the query has no such lexeme
  // Another entry for the word before: of another item of the query.
  bool is_repeated = false;
  bool is_shown = false;
};

bool is_one_of(TokenType type, std::initializer_list<TokenType> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}
// Its parts follow.
bool is_compound(TokenType type) {
  return is_one_of(type,
                   {TokenType::kUrl, TokenType::kNumHyphenated, TokenType::kAsciiHyphenated, TokenType::kHyphenated});
}
bool counts(TokenType type) { return !is_compound(type) && type != TokenType::kBlank && type != TokenType::kTag; }
bool may_end(TokenType type) {
  return counts(type) &&
         !is_one_of(type, {TokenType::kScientific, TokenType::kVersion, TokenType::kDecimal, TokenType::kInteger,
                           TokenType::kUnsigned, TokenType::kProtocol, TokenType::kEntity});
}

// A run of words with the number of words that count and of words that the query asks for.
struct Fragment {
  int begin = 0, end = -1;  // the last word
  int length = 0, hits = 0;
  bool is_taken = false;  // shown, or too near to what is
};

class HeadlineMaker {
 public:
  HeadlineMaker(const TextConfiguration& configuration, const TextQuery& query, const HeadlineOptions& options)
      : configuration_(configuration), query_(query), options_(options) {}

  std::string run(std::string_view text) {
    read(text);
    if (options_.highlights_all && options_.max_fragments == 0)
      show(0, size() - 1);
    else if (options_.max_fragments == 0)
      show_one();
    else
      show_fragments();
    return written();
  }

 private:
  int size() const { return static_cast<int>(words_.size()); }
  const HeadlineWord& word(int i) const { return words_[static_cast<size_t>(i)]; }
  bool is_hit(int i) const { return word(i).item >= 0 && !word(i).is_repeated; }
  bool is_counted(int i) const { return counts(word(i).token.type); }
  bool ends_badly(int i) const {
    const bool is_short = static_cast<int>(word(i).token.text.size()) <= options_.short_word;
    return (!may_end(word(i).token.type) || is_short) && !is_hit(i);
  }
  void add(Fragment* to, int i, int sign = 1) const {
    to->length += is_counted(i) ? sign : 0;
    to->hits += is_hit(i) ? sign : 0;
  }

  void read(std::string_view text) {
    TextParser parser(text);
    int position = 0;
    for (TextToken token; parser.next(&token);) {
      poll_work();
      if (token.text.size() > kLexemeBytesMax) continue;
      words_.push_back({token});
      const TextDictionary* dictionary = configuration_.dictionary(token.type);
      if (dictionary == nullptr) continue;
      ++position;
      find_items(lexeme_of(*dictionary, token.text), position);
    }
  }

  void find_items(const std::string& lexeme, int position) {
    if (lexeme.empty()) return;
    words_.back().position = std::min<int>(position, kPositionMax);
    const size_t first = words_.size() - 1;
    for (size_t i = 0; i < query_.items.size(); ++i) {
      const QueryItem& item = query_.items[i];
      if (item.op != QueryOp::kValue) continue;
      if (item.is_prefix ? !lexeme.starts_with(item.word) : lexeme != item.word) continue;
      if (words_[first].item >= 0) {
        HeadlineWord again = words_[first];
        again.is_repeated = true;
        words_.push_back(again);
      }
      (words_[first].item >= 0 ? words_.back() : words_[first]).item = static_cast<int>(i);
    }
  }

  int next_hit(int i) const {
    for (; i < size(); ++i)
      if (word(i).item >= 0) return i;
    return -1;
  }

  bool is_match(int begin, int end) const {
    return matches(query_, [&](const TextQuery&, size_t item, MatchPositions* out) {
      bool found = false;
      for (int i = begin; i <= end; ++i) {
        if (word(i).item != static_cast<int>(item)) continue;
        found = true;
        if (out == nullptr) break;
        const auto position = static_cast<uint16_t>(word(i).position);
        if (out->positions.empty() || out->positions.back() < position) out->positions.push_back(position);
      }
      return found ? Match::kYes : Match::kNo;
    });
  }

  // The next run of words, from `begin` on, that matches the query.
  bool next_cover(int* begin, int* end) const {
    int most = std::max(options_.max_words > INT32_MAX / 10 ? INT32_MAX : options_.max_words * 10, 100);
    for (int from = next_hit(*begin); from >= 0; from = next_hit(from + 1)) {
      for (int to = from; to >= 0 && to - from < most; to = next_hit(to + 1)) {
        poll_work();
        if (!is_match(from, to)) continue;
        *begin = from;
        *end = to;
        return true;
      }
    }
    return false;
  }

  // A headline around a cover of at most max_words words.
  Fragment around(int begin, int end) const {
    Fragment found{begin, begin};
    int i = begin;
    for (; i <= end && found.length < options_.max_words; ++i) {
      add(&found, i);
      found.end = i;
    }
    if (found.length < options_.max_words) {
      extend(&found, i - 1, end);
      return found;
    }
    for (i = std::min(i, end); found.length > options_.min_words && ends_badly(i); --i) {
      add(&found, i, -1);
      found.end = i - 1;
    }
    return found;
  }

  void extend(Fragment* found, int from, int end) const {
    for (int i = from; i < size() && found->length < options_.max_words; ++i) {
      if (i > end) add(found, i);
      found->end = i;
      if (!ends_badly(i) && found->length >= options_.min_words) break;
    }
    if (found->length >= options_.min_words) return;
    int i = found->begin - 1;
    for (; i >= 0; --i) {
      add(found, i);
      if (found->length >= options_.max_words || (!ends_badly(i) && found->length >= options_.min_words)) break;
    }
    found->begin = std::max(i, 0);
  }

  void show_one() {
    Fragment best;
    bool has_best = false, covers_best = false;
    int end = 0;
    for (int begin = 0; next_cover(&begin, &end); ++begin) {
      const Fragment next = around(begin, end);
      const bool covers = next.begin <= begin && next.end >= end;
      bool is_better = !has_best || covers > covers_best;
      if (!is_better && covers == covers_best)
        is_better = next.hits > best.hits || (next.hits == best.hits && !ends_badly(next.end) && ends_badly(best.end));
      if (!is_better) continue;
      best = next;
      covers_best = covers;
      has_best = true;
    }
    if (has_best)
      show(best.begin, best.end);
    else
      show_start();
  }

  // The first words, where nothing matches.
  void show_start() {
    Fragment start;
    for (int i = 0; i < size() && start.length < options_.min_words; ++i) {
      add(&start, i);
      start.end = i;
    }
    show(0, start.end);
  }

  // The first part of a run of words that has at most max_words words; it begins and ends with words of the query.
  Fragment first_part(int begin, int end) const {
    for (int i = begin; i <= end; ++i) {
      begin = i;
      if (is_hit(i)) break;
    }
    Fragment part{begin, end};
    int i = begin;
    for (; i <= end && part.length < options_.max_words; ++i) add(&part, i);
    if (end <= i) return part;
    for (; i >= begin; --i) {
      part.end = i;
      if (is_hit(i)) break;
      part.length -= is_counted(i) ? 1 : 0;
    }
    return part;
  }

  void show_fragments() {
    std::vector<Fragment> parts;
    int end = 0;
    for (int begin = 0; next_cover(&begin, &end); ++begin)
      for (int from = begin; from <= end; from = parts.back().end + 1) parts.push_back(first_part(from, end));
    int shown = 0;
    for (; shown < options_.max_fragments; ++shown) {
      Fragment* best = nullptr;
      for (Fragment& part : parts) {
        if (part.is_taken) continue;
        const bool is_better = best == nullptr
                                   ? part.hits > 0 || part.length < INT32_MAX
                                   : part.hits > best->hits || (part.hits == best->hits && part.length < best->length);
        if (is_better) best = &part;
      }
      if (best == nullptr) break;
      if (best->length < options_.max_words) stretch(best);
      const Fragment chosen = *best;
      show(chosen.begin, chosen.end);
      for (Fragment& part : parts) part.is_taken |= part.begin <= chosen.end && part.end >= chosen.begin;
      best->is_taken = true;
    }
    if (shown == 0) show_start();
  }

  // To both sides, up to what is shown already and to words that may end a headline.
  void stretch(Fragment* part) const {
    const int most = (options_.max_words - part->length) / 2;
    int added = 0, edge = part->begin;
    for (int i = part->begin - 1; i >= 0 && added < most && !word(i).is_shown; --i) {
      added += is_counted(i) ? 1 : 0;
      edge = i;
    }
    part->length += added;
    for (; edge < part->begin && ends_badly(edge); ++edge) part->length -= is_counted(edge) ? 1 : 0;
    part->begin = edge;
    edge = part->end;
    for (int i = part->end + 1; i < size() && part->length < options_.max_words && !word(i).is_shown; ++i) {
      part->length += is_counted(i) ? 1 : 0;
      edge = i;
    }
    for (; edge > part->end && ends_badly(edge); --edge) part->length -= is_counted(edge) ? 1 : 0;
    part->end = edge;
  }

  void show(int begin, int end) {
    for (int i = begin; i <= end; ++i) words_[static_cast<size_t>(i)].is_shown = !word(i).is_repeated;
  }

  std::string written() const {
    std::string text;
    bool is_within = false;
    int fragments = 0;
    for (const HeadlineWord& word : words_) {
      if (word.is_repeated) continue;
      if (word.is_shown && !is_within && fragments++ > 0) text += options_.delimiter;
      is_within = word.is_shown;
      if (!word.is_shown || is_compound(word.token.type)) continue;
      if (word.token.type == TokenType::kTag && !options_.highlights_all) {
        text += ' ';
        continue;
      }
      if (word.item >= 0) text += options_.start;
      text += word.token.text;
      if (word.item >= 0) text += options_.stop;
    }
    return text;
  }

  const TextConfiguration& configuration_;
  const TextQuery& query_;
  const HeadlineOptions& options_;
  std::vector<HeadlineWord> words_;
};

}  // namespace

std::string headline(const TextConfiguration& configuration, std::string_view text, const TextQuery& query,
                     const HeadlineOptions& options) {
  return HeadlineMaker(configuration, query, options).run(text);
}

}  // namespace scyper::query
