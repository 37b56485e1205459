#include "row_locking.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "base/object_name.h"

namespace scyper::primary {

namespace {

std::string lower_case(std::string_view text) {
  return absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
}

bool mentions(std::string_view lower, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [lower](const std::string& name) { return lower.find(name) != std::string_view::npos; });
}

std::string_view next_word(std::string_view text, size_t* at) {
  const auto is_letter = [&](size_t i) {
    return absl::ascii_isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_';
  };
  while (*at < text.size() && !is_letter(*at)) ++*at;
  const size_t begin = *at;
  while (*at < text.size() && is_letter(*at)) ++*at;
  return text.substr(begin, *at - begin);
}

bool has_locking_words_lower(std::string_view lower) {
  for (size_t at = lower.find("for"); at != std::string_view::npos; at = lower.find("for", at)) {
    const bool is_start = at == 0 || !absl::ascii_isalnum(static_cast<unsigned char>(lower[at - 1]));
    const std::string_view word = next_word(lower, &at);
    if (!is_start || word != "for") continue;
    size_t next = at;
    const std::string_view strength = next_word(lower, &next);
    if (strength == "update" || strength == "share" || strength == "no" || strength == "key") return true;
  }
  return false;
}

}  // namespace

bool has_locking_words(std::string_view sql) { return has_locking_words_lower(lower_case(sql)); }

RowLocking::Routines RowLocking::routines_of(const query::Catalog& catalog) {
  Routines found;
  found.version = catalog.version;
  std::vector<std::string>& routines = found.names;
  std::vector<std::pair<std::string, std::string>> others;  // name and body
  for (const auto& [name, routine] : catalog.routines) {
    std::string lower = lower_case(bare_name(routine->name));
    std::string body = lower_case(routine->body);
    if (has_locking_words_lower(body)) {
      routines.push_back(std::move(lower));
    } else {
      others.emplace_back(std::move(lower), std::move(body));
    }
  }
  for (bool has_grown = !routines.empty(); has_grown;) {
    const auto known = std::partition(others.begin(), others.end(),
                                      [&routines](const auto& other) { return !mentions(other.second, routines); });
    has_grown = known != others.end();
    for (auto other = known; other != others.end(); ++other) routines.push_back(other->first);
    others.erase(known, others.end());
  }
  found.triggers_lock = std::any_of(catalog.triggers.begin(), catalog.triggers.end(), [&routines](const auto& trigger) {
    return mentions(lower_case(trigger.second->function), routines);
  });
  return found;
}

bool RowLocking::may_lock(std::string_view sql, const std::shared_ptr<const query::Catalog>& catalog) {
  const std::string lower = lower_case(sql);
  if (has_locking_words_lower(lower)) return true;
  MutexLock lock(&mutex_);
  if (routines_.version != catalog->version) routines_ = routines_of(*catalog);
  return routines_.triggers_lock || mentions(lower, routines_.names);
}

}  // namespace scyper::primary
