#include "prepared_statement.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "query/role_mark.h"

namespace scyper::primary {

CommandTag tag_of(std::string_view command) {
  if (command == "SELECT") return CommandTag::kSelect;
  if (command == "INSERT") return CommandTag::kInsert;
  if (command == "UPDATE") return CommandTag::kUpdate;
  if (command == "DELETE") return CommandTag::kDelete;
  if (command == "MERGE") return CommandTag::kMerge;
  return CommandTag::kOther;
}

// They fit into a string without allocation up to ten million rows.
void set_command_tag(CommandTag kind, std::string_view command, uint64_t affected_rows, query::ResultSet* result) {
  std::string& tag = result->command_tag;
  switch (kind) {
    case CommandTag::kSelect:
      result->affected_rows = result->row_count();
      tag.assign("SELECT ");
      break;
    case CommandTag::kInsert:
      result->affected_rows = affected_rows;
      tag.assign("INSERT 0 ");
      break;
    case CommandTag::kUpdate:
      result->affected_rows = affected_rows;
      tag.assign("UPDATE ");
      break;
    case CommandTag::kDelete:
      result->affected_rows = affected_rows;
      tag.assign("DELETE ");
      break;
    case CommandTag::kMerge:
      result->affected_rows = affected_rows;
      tag.assign("MERGE ");
      break;
    case CommandTag::kOther:
      tag.assign(command);
      return;
  }
  absl::StrAppend(&tag, result->affected_rows);
}

namespace {

std::atomic<uint64_t> last_number{0};

}  // namespace

void RetiredBindings::add(std::unique_ptr<const Binding> binding) {
  MutexLock lock(&mutex_);
  bindings_.push_back(std::move(binding));
  is_empty_.store(false, std::memory_order_relaxed);
}

std::vector<std::unique_ptr<const Binding>> RetiredBindings::take() {
  if (is_empty_.load(std::memory_order_relaxed)) return {};
  MutexLock lock(&mutex_);
  is_empty_.store(true, std::memory_order_relaxed);
  return std::exchange(bindings_, {});
}

namespace {
bool is_change(CommandTag tag) {
  return tag == CommandTag::kInsert || tag == CommandTag::kUpdate || tag == CommandTag::kDelete ||
         tag == CommandTag::kMerge;
}
}  // namespace

PreparedStatement::PreparedStatement(std::shared_ptr<const query::Prepared> prepared,
                                     std::shared_ptr<query::Database> database, RetiredBindings* retired,
                                     uint32_t procedure)
    : database_(std::move(database)),
      prepared_(std::move(prepared)),
      retired_(retired),
      number_(last_number.fetch_add(1, std::memory_order_relaxed) + 1),
      procedure_(procedure),
      is_program_(prepared_->kind() == query::Prepared::Kind::kProgram) {}

PreparedStatement::~PreparedStatement() = default;

StatusOr<std::shared_ptr<PreparedStatement>> PreparedStatement::create(std::shared_ptr<const query::Prepared> prepared,
                                                                       std::shared_ptr<query::Database> database,
                                                                       RetiredBindings* retired, uint32_t procedure) {
  std::shared_ptr<PreparedStatement> statement(
      new PreparedStatement(std::move(prepared), std::move(database), retired, procedure));
  if (!statement->is_program()) return statement;
  auto binding = statement->make_binding();
  if (binding->program == nullptr) return binding->failure;
  Classification classification(binding->program->footprint(), statement->database_->options().partitions);
  MutexLock lock(&statement->mutex_);
  statement->publish(std::move(binding), std::move(classification));
  return statement;
}

std::unique_ptr<Binding> PreparedStatement::make_binding() const {
  auto binding = std::make_unique<Binding>();
  auto program = database_->program_of(*prepared_);
  if (!program.ok()) {
    binding->failure = program.status();
    return binding;
  }
  binding->owner = *std::move(program);
  binding->program = binding->owner.get();
  binding->catalog_version = binding->program->catalog_version();
  binding->tag = tag_of(binding->program->command());
  binding->is_volatile = binding->program->footprint().is_volatile;
  binding->is_planned = binding->program->footprint().is_planned;
  const query::Footprint& footprint = binding->program->footprint();
  binding->may_be_large = footprint.writes && is_change(binding->tag);
  binding->role_id = query::session_role_id(prepared_->text(), database_->catalog()->roles);
  return binding;
}

const Classification* PreparedStatement::share(Classification classification) const {
  for (const auto& known : classifications_) {
    if (*known == classification) return known.get();
  }
  classifications_.push_back(std::make_unique<const Classification>(std::move(classification)));
  return classifications_.back().get();
}

void PreparedStatement::publish(std::unique_ptr<Binding> binding, Classification classification) const {
  binding->classification = share(std::move(classification));
  classification_.store(binding->classification, std::memory_order_release);
  binding_.store(binding.get(), std::memory_order_release);
  if (owned_ != nullptr) retired_->add(std::move(owned_));
  owned_ = std::move(binding);
}

const Binding* PreparedStatement::bind(uint64_t catalog_version) const {
  MutexLock lock(&mutex_);
  if (owned_->catalog_version == catalog_version) return owned_.get();
  auto binding = make_binding();
  if (binding->program == nullptr) {
    binding->catalog_version = catalog_version;
    publish(std::move(binding), *classification_.load(std::memory_order_relaxed));
    return owned_.get();
  }
  CHECK(binding->catalog_version == catalog_version);
  Classification classification(binding->program->footprint(), database_->options().partitions);
  publish(std::move(binding), std::move(classification));
  return owned_.get();
}

}  // namespace scyper::primary
