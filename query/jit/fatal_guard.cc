#include "jit/fatal_guard.h"

#include <csetjmp>
#include <cstdio>
#include <mutex>

#include "base/internal_error.h"
#include "llvm/Support/ErrorHandling.h"

namespace scyper::query::jit {
namespace {

struct Place {
  std::jmp_buf jump;
  char reason[512];
};
thread_local Place* guarded = nullptr;

// Without a guard LLVM prints the reason and ends the process.
void jump_out(void*, const char* reason, bool) {
  if (guarded == nullptr) return static_cast<void>(std::fprintf(stderr, "LLVM ERROR: %s\n", reason));
  std::snprintf(guarded->reason, sizeof(guarded->reason), "%s", reason);
  std::longjmp(guarded->jump, 1);
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(jump_out);
    llvm::install_bad_alloc_error_handler(jump_out);
  });
}

class Guarded {
 public:
  explicit Guarded(Place* place) { guarded = place; }
  ~Guarded() { guarded = nullptr; }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
};

}  // namespace

Status guard_fatal(const std::function<Status()>& work) {
  install_handlers();
  Place place;
  const Guarded scope(&place);
  if (setjmp(place.jump) != 0) return internal_error({Phase::kCompiling, std::string("LLVM: ") + place.reason, ""});
  return work();
}

}  // namespace scyper::query::jit
