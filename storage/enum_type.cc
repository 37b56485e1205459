#include "storage/enum_type.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "base/check.h"

namespace scyper {
namespace {

constinit std::atomic<int32_t> last_number{0};
constinit std::array<std::atomic<const EnumType*>, kEnumTypesMax> published{};

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

void publish_enum(std::shared_ptr<const EnumType> type) {
  static std::mutex mutex;
  static auto* kept = new std::vector<std::shared_ptr<const EnumType>>;
  CHECK(type->number > 0 && type->number < kEnumTypesMax);
  auto& place = published[static_cast<size_t>(type->number)];
  std::lock_guard<std::mutex> lock(mutex);
  if (place.load(std::memory_order_relaxed) == type.get()) return;
  kept->push_back(type);
  place.store(type.get(), std::memory_order_release);
}

const EnumType* find_enum(int32_t number) {
  if (number <= 0 || number >= kEnumTypesMax) return nullptr;
  return published[static_cast<size_t>(number)].load(std::memory_order_acquire);
}

}  // namespace scyper
