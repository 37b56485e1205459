#include "storage/enum_type.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "base/check.h"
#include "storage/enum_transaction.h"
#include "storage/type.h"

namespace scyper {
namespace {

constinit std::atomic<int32_t> last_number{0};
constinit std::array<std::atomic<const EnumType*>, kEnumTypesMax> published{};
constinit std::array<std::atomic<const EnumType*>, kEnumTypesMax> committed{};  // of a new type the first
// The trial that has published the type's newest version; 0: that version is committed.
constinit std::array<std::atomic<uint64_t>, kEnumTypesMax> trial_of{};
constinit std::atomic<uint64_t> last_trial{0};
constinit thread_local uint64_t thread_trial = 0;

// What was published is kept for ever: readers take no lock.
void publish(std::shared_ptr<const EnumType> type, bool is_committed) {
  static std::mutex mutex;
  static auto* kept = new std::vector<std::shared_ptr<const EnumType>>;
  CHECK(type->number > 0 && type->number < kEnumTypesMax);
  const auto number = static_cast<size_t>(type->number);
  const EnumType* known = type.get();
  std::lock_guard<std::mutex> lock(mutex);
  const bool is_kept = published[number].load(std::memory_order_relaxed) == known ||
                       committed[number].load(std::memory_order_relaxed) == known;
  if (!is_kept) kept->push_back(std::move(type));
  published[number].store(known, std::memory_order_release);
  const bool is_new = committed[number].load(std::memory_order_relaxed) == nullptr;
  if (is_committed || is_new) committed[number].store(known, std::memory_order_release);
  trial_of[number].store(is_committed ? 0 : thread_trial, std::memory_order_release);
}

}  // namespace

const EnumType::Label* EnumType::find(std::string_view text) const {
  auto found = std::find_if(labels.begin(), labels.end(), [&](const Label& label) { return label.text == text; });
  return found == labels.end() ? nullptr : &*found;
}

const EnumType::Label* EnumType::find(int64_t code) const {
  auto found = std::lower_bound(labels.begin(), labels.end(), code,
                                [](const Label& label, int64_t wanted) { return label.code < wanted; });
  return found == labels.end() || found->code != code ? nullptr : &*found;
}

int32_t new_enum_number() {
  const int32_t number = last_number.fetch_add(1) + 1;
  return number < kEnumTypesMax ? number : 0;
}

void publish_enum(std::shared_ptr<const EnumType> type) { publish(std::move(type), /*is_committed=*/true); }

void publish_enum_on_trial(std::shared_ptr<const EnumType> type) { publish(std::move(type), /*is_committed=*/false); }

EnumTrial begin_enum_trial() {
  thread_trial = last_trial.fetch_add(1) + 1;
  return enum_trial();
}

EnumTrial enum_trial() noexcept { return EnumTrial(thread_trial); }

void see_enum_trial(EnumTrial trial) noexcept { thread_trial = trial.value(); }

void publish_enum_again(const EnumType& type) noexcept {
  published[static_cast<size_t>(type.number)].store(&type, std::memory_order_release);
}

Status check_label(const EnumType& type, const EnumType::Label& label) {
  const EnumType* known = committed[static_cast<size_t>(type.number)].load(std::memory_order_acquire);
  if (known == nullptr || known == &type || known->find(label.code) != nullptr) return absl::OkStatus();
  SqlType of = make_type(TypeId::kEnum);
  of.length = type.number;
  return with_hint(sql_error("55P04", "unsafe use of new value \"" + label.text + "\" of enum type " + type_name(of)),
                   "New enum values must be committed before they can be used.");
}

const EnumType* find_enum(int32_t number) {
  if (number <= 0 || number >= kEnumTypesMax) return nullptr;
  const auto at = static_cast<size_t>(number);
  const uint64_t trial = trial_of[at].load(std::memory_order_acquire);
  const bool is_seen = trial == 0 || trial == thread_trial;
  return (is_seen ? published : committed)[at].load(std::memory_order_acquire);
}

}  // namespace scyper
