#include "query/drawn_values.h"

#include <utility>

namespace scyper::query {

void DrawnValues::record() {
  calls_.clear();
  values_.clear();
  is_replaying_ = has_differed_ = false;
}

void DrawnValues::replay() {
  next_ = 0;
  is_replaying_ = true;
  has_differed_ = false;
}

void DrawnValues::note(std::string call, const SqlType& type, const Datum& value) {
  calls_.push_back({std::move(call), false, {}});
  values_.append(type, value);
}

void DrawnValues::note_failure(std::string call, const ErrorState& error) {
  calls_.push_back({std::move(call), true, error});
  values_.append(make_type(TypeId::kInt8), null_datum());
}

int32_t DrawnValues::give(ExecContext* context, const std::string& call, Datum* out) {
  if (next_ == calls_.size() || calls_[next_].call != call) {
    has_differed_ = true;
    return context->fail("40001", "could not serialize access due to read/write dependencies among transactions",
                         /*catchable=*/false);
  }
  const Drawn& drawn = calls_[next_];
  *out = values_.values()[next_];
  ++next_;
  if (!drawn.has_failed) return 0;
  context->error = drawn.error;
  return static_cast<int32_t>(Outcome::kError);
}

}  // namespace scyper::query
