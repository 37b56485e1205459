#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace scyper {

// CREATE TYPE ... AS ENUM: one immutable version of it. A value is the code of its label; codes have the order of the
// labels, with gaps for labels that come between them, and never change.
struct EnumType {
  struct Label {
    std::string text;
    int64_t code = 0;
  };
  int32_t number = 0;         // SqlType::length of its values; of this process
  std::string name;           // key (base/object_name.h)
  std::vector<Label> labels;  // in order

  const Label* find(std::string_view text) const;
  const Label* find(int64_t code) const;
};

// The enums of a process, by number: what reads and writes texts of values has a type and no catalog. A catalog version
// owns its definitions; the last that was published is found here. Numbers are not given twice, and what was published
// is kept: readers, children of forks among them, take no lock. Threads: any.
constexpr int32_t kEnumTypesMax = 1 << 14;
// 0 = there are too many.
int32_t new_enum_number();
void publish_enum(std::shared_ptr<const EnumType> type);
// nullptr: nothing was published.
const EnumType* find_enum(int32_t number);

}  // namespace scyper
