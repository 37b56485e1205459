#include "sqllogictest/records.h"

#include <zlib.h>

#include <sstream>

#include "absl/strings/str_cat.h"
#include "sqllogictest/dialects.h"

namespace scyper::tests {

namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word && word[0] != '#';) words.push_back(word);
  return words;
}

// Lines of one file, with their numbers.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  bool next(std::string* line) {
    if (at_ >= text_.size()) return false;
    size_t end = std::min(text_.find('\n', at_), text_.size());
    *line = std::string(text_.substr(at_, end - at_));
    at_ = end + 1;
    number_++;
    if (!line->empty() && line->back() == '\r') line->pop_back();
    return true;
  }
  int number() const { return number_; }

 private:
  std::string_view text_;
  size_t at_ = 0;
  int number_ = 0;
};

Status wrong(int line, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", std::string(what)));
}

// "rowsort", or a list as CockroachDB has it: "colnames,rowsort".
Status read_options(const std::string& word, Record* record) {
  std::istringstream in(word);
  for (std::string option; std::getline(in, option, ',');) {
    if (option == "rowsort" || option == "partialsort" || option.starts_with("partialsort("))
      record->sort = SortMode::kRowSort;
    else if (option == "valuesort" || option == "sort")
      record->sort = SortMode::kValueSort;
    else if (option == "colnames")
      record->has_names = true;
    else if (option != "nosort" && option != "retry" && option != "async")
      return wrong(record->line, absl::StrCat("unknown sort mode ", option));
  }
  return absl::OkStatus();
}

Status read_query(const std::vector<std::string>& words, Record* record) {
  record->kind = RecordKind::kQuery;
  if (words.size() < 2) return wrong(record->line, "a query needs its types");
  if (words[1] == "error") {
    record->kind = RecordKind::kStatementError;
    return absl::OkStatus();
  }
  record->types = words[1] == "empty" ? "" : words[1];
  if (words.size() > 2) SCYPER_RETURN_IF_ERROR(read_options(words[2], record));
  if (words.size() > 3) record->label = words[3];
  return absl::OkStatus();
}

Status read_record(const std::vector<std::string>& words, Lines* lines, Record* record) {
  record->line = lines->number();
  if (words[0] == "statement") {
    std::string what = words.size() < 2 ? "" : words[1];
    bool succeeds = what == "ok" || what == "count" || what == "notice";
    if (!succeeds && what != "error" && what != "maybe") return wrong(record->line, "a statement is ok or error");
    record->kind = succeeds          ? RecordKind::kStatementOk
                   : what == "maybe" ? RecordKind::kStatementMaybe
                                     : RecordKind::kStatementError;
  } else if (words[0] == "query") {
    SCYPER_RETURN_IF_ERROR(read_query(words, record));
  } else {
    return wrong(record->line, absl::StrCat("unknown record ", words[0]));
  }
  bool results = false;
  for (std::string line; lines->next(&line) && !line.empty();) {
    if (results)
      record->expected.push_back(line);
    else if (line == "----")
      results = true;
    else
      absl::StrAppend(&record->sql, record->sql.empty() ? "" : "\n", line);
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::vector<Record>> parse_records(std::string_view text, std::string_view engine) {
  std::vector<Record> records;
  const std::string unrolled = unroll(text);
  Lines lines(unrolled);
  bool skip = false;
  for (std::string line; lines.next(&line);) {
    std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "skipif" || words[0] == "onlyif") {
      if (words.size() < 2) return wrong(lines.number(), "whom is this condition about?");
      skip |= (words[1] == engine) == (words[0] == "skipif");
    } else if (words[0] == "hash-threshold") {
      continue;  // results are compared as they are written: both forms are understood
    } else if (is_ignored(words[0])) {
      skip = false;
    } else if (words[0] == "let") {  // a variable from a query: what uses it fails
      for (std::string rest; lines.next(&rest) && !rest.empty();) continue;
    } else if (words[0] == "halt") {
      if (!skip) break;
      skip = false;
    } else {
      Record record;
      SCYPER_RETURN_IF_ERROR(read_record(words, &lines, &record));
      if (!skip) records.push_back(std::move(record));
      skip = false;
    }
  }
  return records;
}

StatusOr<std::vector<Record>> read_records(const std::string& path, std::string_view engine) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  std::string text;
  char block[1 << 16];
  int bytes = 0;
  while ((bytes = gzread(file, block, sizeof(block))) > 0) text.append(block, static_cast<size_t>(bytes));
  gzclose(file);
  if (bytes < 0) return absl::DataLossError(absl::StrCat("cannot read ", path));
  return parse_records(text, engine);
}

}  // namespace scyper::tests
