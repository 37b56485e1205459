#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "query/exec_context.h"
#include "query/result.h"

namespace scyper::query {

// The values of volatile functions (nextval(), random(), clock_timestamp(), ...) in one run of a statement. When the
// statement runs again, the functions give the same values and have no effects. So a second run over the same rows
// gives the same result. Threads: the statement's.
class DrawnValues {
 public:
  // While it lives, this thread's statement draws so. null: its values are not kept.
  class Scope {
   public:
    explicit Scope(DrawnValues* drawn) noexcept : saved_(std::exchange(current, drawn)) {}
    ~Scope() { current = saved_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    DrawnValues* const saved_;
  };
  static inline constinit thread_local DrawnValues* current = nullptr;

  // Forgets all values; takes those of the run that begins now.
  void record();
  // The run that begins now gets the values in their order.
  void replay();
  bool is_replaying() const { return is_replaying_; }
  // The second run has called other functions, or the same ones with other arguments. It has failed with 40001.
  bool has_differed() const { return has_differed_; }
  bool has_values() const { return !calls_.empty(); }
  size_t bytes() const { return values_.bytes(); }

  // call: names the function and its arguments.
  void note(std::string call, const SqlType& type, const Datum& value);
  void note_failure(std::string call, const ErrorState& error);
  int32_t give(ExecContext* context, const std::string& call, Datum* out);

 private:
  struct Drawn {
    std::string call;
    bool has_failed = false;
    ErrorState error;
  };
  std::vector<Drawn> calls_;
  ResultSet values_;  // one for each call
  size_t next_ = 0;
  bool is_replaying_ = false;
  bool has_differed_ = false;
};

}  // namespace scyper::query
