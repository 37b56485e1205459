#include "query/role.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "parse/printer.h"
#include "parse/scanner.h"
#include "query/role_mark.h"

namespace scyper::query {

namespace {

std::shared_ptr<const Role> first_role(uint32_t id, const char* name) {
  Role role;
  role.id = id;
  role.name = name;
  if (id != kSuperuserId) return std::make_shared<const Role>(std::move(role));
  role.is_superuser = role.can_login = role.creates_roles = role.creates_databases = role.is_replication =
      role.bypasses_rls = true;
  return std::make_shared<const Role>(std::move(role));
}

// Those that `from` is a member of, itself too; `goes_on`: whether a role's own memberships count.
template <class GoesOn>
std::set<uint32_t> reachable(const Roles::Members& members, uint32_t from, GoesOn goes_on) {
  std::set<uint32_t> seen = {from};
  std::vector<uint32_t> open = {from};
  while (!open.empty()) {
    const uint32_t member = open.back();
    open.pop_back();
    if (!goes_on(member)) continue;
    for (const auto& [key, membership] : members)
      if (key.second == member && seen.insert(key.first).second) open.push_back(key.first);
  }
  return seen;
}

}  // namespace

Roles::Roles() {
  static const std::vector<std::shared_ptr<const Role>>* first = [] {
    auto* all = new std::vector<std::shared_ptr<const Role>>{first_role(kSuperuserId, kSuperuser)};
    uint32_t id = kClientRoleId;
    for (const char* name : {kClientRole, kAnalystRole, kOperatorRole, kMemberRole})
      all->push_back(first_role(id++, name));
    return all;
  }();
  for (const auto& role : *first) by_name_[role->name] = role;
}

bool is_predefined(const Role& role) { return role.id >= kClientRoleId && role.id < kFirstRoleId; }

const Role* Roles::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.get();
}

const Role* Roles::find(uint32_t id) const {
  for (const auto& [name, role] : by_name_)
    if (role->id == id) return role.get();
  return nullptr;
}

void Roles::put(Role role) {
  if (const Role* old = find(role.id); old != nullptr) by_name_.erase(std::string(old->name));
  const std::string name = role.name;
  by_name_[name] = std::make_shared<const Role>(std::move(role));
}

void Roles::remove(uint32_t id) {
  std::erase_if(by_name_, [&](const auto& entry) { return entry.second->id == id; });
  std::erase_if(members_, [&](const auto& entry) { return entry.first.first == id || entry.first.second == id; });
}

bool Roles::is_member(uint32_t member, uint32_t role) const {
  return member == role || reachable(members_, member, [](uint32_t) { return true; }).contains(role);
}

bool Roles::has_rights_of(const Role& member, uint32_t role) const {
  if (member.is_superuser || member.id == role) return true;
  const auto inherits = [this](uint32_t id) {
    const Role* known = find(id);
    return known != nullptr && known->inherits;
  };
  return reachable(members_, member.id, inherits).contains(role);
}

bool Roles::administers(const Role& member, uint32_t role) const {
  if (member.is_superuser) return true;
  const std::set<uint32_t> own = reachable(members_, member.id, [](uint32_t) { return true; });
  return std::any_of(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.first.first == role && entry.second.has_admin_option && own.contains(entry.first.second);
  });
}

bool Roles::is_closed() const {
  return std::any_of(by_name_.begin(), by_name_.end(), [](const auto& entry) {
    const Role& role = *entry.second;
    return role.is_superuser && role.can_login && !role.verifier.empty();
  });
}

SessionRoles thread_roles() { return RoleScope::current == nullptr ? SessionRoles() : *RoleScope::current; }

std::string_view session_user_name() {
  if (RoleScope::current == nullptr || RoleScope::current->session.empty()) return kSuperuser;
  return RoleScope::current->session;
}

std::string_view current_user_name() {
  if (RoleScope::current == nullptr || RoleScope::current->current.empty()) return session_user_name();
  return RoleScope::current->current;
}

const Role* current_role(const Roles& roles) { return roles.find(current_user_name()); }

namespace {
const Role* role_of(const Roles& roles, const std::string& name, uint32_t id) {
  return id != 0 ? roles.find(id) : roles.find(name);
}
}  // namespace

Status resolve_roles(const Roles& roles, const RoleIds& ids, SessionRoles* session) {
  for (auto [name, id] : {std::pair(&session->session, ids.session), std::pair(&session->current, ids.current)}) {
    if (name->empty()) continue;
    const Role* role = role_of(roles, *name, id);
    if (role == nullptr) return sql_error("28000", absl::StrCat("role \"", *name, "\" does not exist"));
    *name = role->name;
  }
  return Status();
}

Status check_roles(const SessionRoles& session, const Roles& roles) {
  SessionRoles copy = session;
  return resolve_roles(roles, RoleIds(), &copy);
}

StatusOr<SessionRoles> roles_in(const Roles& roles, std::string_view text) {
  SessionRoles session = roles_of(text);
  SCYPER_RETURN_IF_ERROR(resolve_roles(roles, role_ids_of(text), &session));
  return session;
}

uint32_t session_role_id(std::string_view text, const Roles& roles) {
  const SessionRoles session = roles_of(text);
  const Role* role = session.session.empty() ? nullptr : role_of(roles, session.session, role_ids_of(text).session);
  return role == nullptr ? kSuperuserId : role->id;
}

Status set_role(const std::string& name, const Roles& roles, SessionRoles* session, RoleIds* ids) {
  if (name == "none") {
    session->current.clear();
    ids->current = 0;
    return Status();
  }
  const Role* wanted = roles.find(name);
  if (wanted == nullptr) return sql_error("22023", absl::StrCat("role \"", name, "\" does not exist"));
  const Role* own = role_of(roles, session->session.empty() ? kSuperuser : session->session, ids->session);
  if (own == nullptr || (!own->is_superuser && !roles.is_member(own->id, wanted->id)))
    return sql_error("42501", absl::StrCat("permission denied to set role \"", name, "\""));
  session->current = name;
  ids->current = wanted->id;
  return Status();
}

Status set_role(const std::string& name, const Roles& roles, SessionRoles* session) {
  RoleIds ids;
  return set_role(name, roles, session, &ids);
}

namespace {

bool is_keyword(const Token& token, std::string_view word) {
  return token.kind == TokenKind::kWord &&
         absl::EqualsIgnoreCase({token.text.data(), token.text.size()}, {word.data(), word.size()});
}

bool is_role_word(const Token& token) {
  return is_keyword(token, "role") || is_keyword(token, "user") || is_keyword(token, "group");
}

// Whether a statement that begins there is one of those that may have a password.
bool names_role(const std::vector<Token>& tokens, size_t at) {
  if (at + 1 >= tokens.size() || (!is_keyword(tokens[at], "create") && !is_keyword(tokens[at], "alter"))) return false;
  return is_role_word(tokens[at + 1]);
}

}  // namespace

namespace {

using Replacement = std::function<StatusOr<std::string>(const Token& token, std::string password)>;

StatusOr<std::string> replace_passwords(std::string_view sql, const Replacement& replacement) {
  static constexpr std::string_view kWord = "password";
  const auto is_same = [](char a, char b) { return (a | ' ') == b; };
  if (std::search(sql.begin(), sql.end(), kWord.begin(), kWord.end(), is_same) == sql.end()) return std::string(sql);
  const auto tokens = scan(sql);
  if (!tokens.ok()) return std::string(sql);  // it will not run
  std::string out;
  size_t copied = 0;
  bool is_of_role = names_role(*tokens, 0);
  for (size_t i = 1; i < tokens->size(); i++) {
    const Token& token = (*tokens)[i];
    if ((*tokens)[i - 1].text == ";") is_of_role = names_role(*tokens, i);
    const bool is_text = token.kind == TokenKind::kString || token.kind == TokenKind::kDollarString;
    if (!is_of_role || !is_text || !is_keyword((*tokens)[i - 1], "password")) continue;
    SCYPER_ASSIGN_OR_RETURN(const std::string instead, replacement(token, value_of(token)));
    const auto begin = static_cast<size_t>(token.begin);
    absl::StrAppend(&out, std::string(sql.substr(copied, begin - copied)), instead);
    copied = static_cast<size_t>(token.end);
  }
  return out.append(sql.substr(copied));
}

}  // namespace

bool is_about_roles(std::string_view sql) {
  const auto tokens = scan(sql, 2);
  if (!tokens.ok() || tokens->empty()) return false;
  if (is_keyword((*tokens)[0], "grant") || is_keyword((*tokens)[0], "revoke")) return true;
  return names_role(*tokens, 0) ||
         (tokens->size() > 1 && is_keyword((*tokens)[0], "drop") && is_role_word((*tokens)[1]));
}

std::string shown_role_statement(std::string_view sql) {
  auto shown = replace_passwords(sql, [](const Token&, const std::string&) { return std::string("'********'"); });
  return shown.ok() ? *std::move(shown) : std::string("(not shown)");
}

StatusOr<std::string> without_passwords(std::string_view sql,
                                        const std::function<StatusOr<std::string>(std::string_view)>& verifier_of) {
  return replace_passwords(sql, [&](const Token& token, const std::string& password) -> StatusOr<std::string> {
    if (password.empty() || is_scram_verifier(password)) return std::string(token.text);
    if (token.text[0] == 'U' || token.text[0] == 'u')
      return sql_error("0A000", "a password written as U&'...' is not supported");
    SCYPER_ASSIGN_OR_RETURN(const std::string verifier, verifier_of(password));
    return quote_literal(verifier);
  });
}

bool is_scram_verifier(std::string_view text) {
  constexpr std::string_view kPrefix = "SCRAM-SHA-256$";
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size());
  // iterations:salt$stored key:server key, the keys of 32 bytes
  const size_t colon = text.find(':'), dollar = text.find('$'), second = text.find(':', std::min(dollar, text.size()));
  if (colon == std::string_view::npos || dollar == std::string_view::npos || second == std::string_view::npos ||
      colon > dollar || colon == 0 || colon > 8)
    return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_base64 = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '/' || c == '=';
  };
  constexpr size_t kKeySize = 44;
  const std::string_view iterations = text.substr(0, colon), salt = text.substr(colon + 1, dollar - colon - 1),
                         stored = text.substr(dollar + 1, second - dollar - 1), server = text.substr(second + 1);
  return std::ranges::all_of(iterations, is_digit) && !salt.empty() && std::ranges::all_of(salt, is_base64) &&
         stored.size() == kKeySize && std::ranges::all_of(stored, is_base64) && server.size() == kKeySize &&
         std::ranges::all_of(server, is_base64);
}

}  // namespace scyper::query
