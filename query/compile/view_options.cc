#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/view_target.h"
#include "compile/definition.h"

// WITH CHECK OPTION and the other options of views.
namespace scyper::query {

namespace {

// The words that PostgreSQL takes for a boolean, and their beginnings.
bool read_boolean(const ast::Option& option, bool* value) {
  const std::string word = absl::AsciiStrToLower(option.value);
  const auto begins = [&](std::string_view whole) { return !word.empty() && whole.starts_with(word); };
  *value = !option.has_value || begins("true") || begins("yes") || word == "on" || word == "1";
  return *value || begins("false") || begins("no") || (begins("off") && word != "o") || word == "0";
}

}  // namespace

Status Definer::define_view_options(const std::vector<ast::Option>& options, bool resets, View* view) const {
  if (!resets) SCYPER_RETURN_IF_ERROR(check_options(options));
  for (const ast::Option& option : options) {
    if (resets && option.has_value) return error("42601", "RESET must not include values for parameters", -1);
    if (option.name == "check_option" && resets) {
      view->check_option = CheckOption::kNone;
    } else if (option.name == "check_option") {
      const std::string value = absl::AsciiStrToLower(option.value);
      if (value != "local" && value != "cascaded")
        return with_detail(
            error("22023", absl::StrCat("invalid value for enum option \"check_option\": ", option.value), -1),
            "Valid values are \"local\" and \"cascaded\".");
      view->check_option = value == "local" ? CheckOption::kLocal : CheckOption::kCascaded;
    } else if (option.name == "security_barrier" || option.name == "security_invoker") {
      bool value = false;
      if (!resets && !read_boolean(option, &value))
        return error("22023", absl::StrCat("invalid value for boolean option \"", option.name, "\": ", option.value),
                     -1);
      if (option.name == "security_invoker") view->is_invoker = value;
      if (option.name == "security_barrier" && value)
        return with_hint(error("0A000", "security_barrier is not supported", option.location),
                         "Conditions of a query may be evaluated before those of the view.");
    } else if (!resets) {
      return unrecognized(option);
    }
  }
  return Status();
}

// A check option is for views whose changes are those of a table.
Status Definer::check_view_option(const View& view) const {
  if (view.check_option == CheckOption::kNone) return Status();
  Binder binder(*old_, view.query);
  const auto target = binder.describe_view(view, DmlKind::kUpdate, 0);
  if (target.ok()) return Status();
  if (sqlstate_of(target.status()) != "55000") return target.status();
  return with_hint(error("0A000", "WITH CHECK OPTION is supported only on automatically updatable views", -1),
                   detail_of(target.status()));
}

Status Definer::alter_view(const ast::AlterTableStatement& alter, ResultSet* result) {
  if (alter.object == ast::ObjectKind::kView) result->command_tag = "ALTER VIEW";
  const std::string& name = alter.table.name.back();
  for (const auto& command : alter.commands) {
    if (command.action == ast::AlterTableAction::kSetOwner) {
      SCYPER_RETURN_IF_ERROR(set_owner(command.owner, name));
      continue;
    }
    const bool resets = command.action == ast::AlterTableAction::kResetOptions;
    if (command.action == ast::AlterTableAction::kSetDefault)
      return error("0A000", "defaults of columns of views are not supported", -1);
    if (!resets && command.action != ast::AlterTableAction::kSetOptions) {
      const Status status = error(
          "42809",
          absl::StrCat("ALTER action ", command.action_name, " cannot be performed on relation \"", name, "\""), -1);
      return with_detail(status, "This operation is not supported for views.");
    }
    auto view = std::make_shared<View>(*next().views.find(name)->second);
    SCYPER_RETURN_IF_ERROR(define_view_options(command.options, resets, view.get()));
    SCYPER_RETURN_IF_ERROR(check_view_option(*view));
    next().views[name] = std::move(view);
  }
  return Status();
}

}  // namespace scyper::query
