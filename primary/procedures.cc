#include "procedures.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "base/check.h"

namespace scyper::primary {

namespace {

constexpr char kOthersName[] = "(others)";

bool is_name_character(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// White space and comments; those in /* */ nest.
void skip_blanks(std::string_view* text) {
  while (!text->empty()) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text->front()))) {
      text->remove_prefix(1);
    } else if (text->starts_with("--")) {
      text->remove_prefix(std::min(text->find('\n'), text->size()));
    } else if (text->starts_with("/*")) {
      size_t depth = 0;
      do {
        const bool begins = text->starts_with("/*"), ends = text->starts_with("*/");
        depth += begins ? 1 : 0;
        depth -= ends ? 1 : 0;
        text->remove_prefix(begins || ends ? 2 : 1);
      } while (depth > 0 && !text->empty());
    } else {
      return;
    }
  }
}

// "name" or name; empty: neither is there.
std::string take_name(std::string_view* text) {
  std::string name;
  if (!text->starts_with('"')) {
    while (!text->empty() && is_name_character(text->front())) {
      name += absl::ascii_tolower(static_cast<unsigned char>(text->front()));
      text->remove_prefix(1);
    }
    return name;
  }
  text->remove_prefix(1);
  while (!text->empty()) {
    const bool is_doubled = text->starts_with("\"\"");
    if (text->front() == '"' && !is_doubled) {
      text->remove_prefix(1);
      break;
    }
    name += text->front();
    text->remove_prefix(is_doubled ? 2 : 1);
  }
  return name;
}

}  // namespace

std::string called_procedure(std::string_view sql) {
  skip_blanks(&sql);
  if (!absl::EqualsIgnoreCase(take_name(&sql), "call")) return "";
  std::string name;
  do {
    skip_blanks(&sql);
    name = take_name(&sql);
    skip_blanks(&sql);
    if (!sql.starts_with('.')) break;
    sql.remove_prefix(1);
  } while (true);
  return sql.starts_with('(') ? name : "";
}

ProcedureTable::ProcedureTable() : names_{"", kOthersName} {
  static_assert(kStatements == 0 && kOthers == 1);
  times_[kStatements] = std::make_unique<Times>();
  times_[kOthers] = std::make_unique<Times>();
}

uint32_t ProcedureTable::slot_of(std::string_view sql) {
  const std::string name = called_procedure(sql);
  if (name.empty()) return kStatements;
  MutexLock lock(&mutex_);
  const auto known = std::find(names_.begin() + kOthers + 1, names_.end(), name);
  if (known != names_.end()) return static_cast<uint32_t>(known - names_.begin());
  if (names_.size() == kSlots) return kOthers;
  const auto slot = static_cast<uint32_t>(names_.size());
  CHECK(times_[slot] == nullptr);
  times_[slot] = std::make_unique<Times>();
  names_.push_back(name);
  return slot;
}

std::vector<std::string> ProcedureTable::names() const {
  MutexLock lock(&mutex_);
  return names_;
}

}  // namespace scyper::primary
