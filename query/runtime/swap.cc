#include "runtime/swap.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "compile/program_parts.h"
#include "ir/foreign_call.h"
#include "query/exec_context.h"
#include "query/program.h"
#include "runtime/team.h"

namespace scyper::query {

void serialise_instructions() noexcept {
#if defined(__x86_64__)
  uint32_t a = 0, b, c = 0, d;
  asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d)::"memory");
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

bool allow_serialise_all() noexcept {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
}

bool serialise_all() noexcept { return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0; }

GeneratedCode find_native_code(ExecContext* c, CodeSource* source) noexcept {
  if (source != nullptr) return source->code_for(c);
  jit::TieredCode& code = *c->program->parts().code;
  return code.begin_native().ok() ? code.native_entry() : nullptr;
}

namespace {

extern "C" {

SCYPER_FOREIGN_CALL int32_t rt_swap(ExecContext* c, const void* arguments, void* results, void* state,
                                    int64_t point) noexcept {
  const GeneratedCode better = c->better_code->load(std::memory_order_acquire);
  serialise_instructions();  // another process may have written it
  c->swaps++;
  c->swap_point = point;
  c->swap_state = state;
  return better(c, arguments, results);
}

// Where the work begins. Members of a team all do what the first of them that comes here has found.
SCYPER_FOREIGN_CALL int32_t rt_hand_over(ExecContext* c, const void* arguments, void* results) noexcept {
  const GeneratedCode code = c->team != nullptr ? c->team->native_code(c) : find_native_code(c, CodeSource::current);
  if (code == nullptr) return -1;
  serialise_instructions();
  return code(c, arguments, results);
}

void rt_swap_passed(ExecContext* c) noexcept {
  if (c->swap_passes-- == 0) c->better_code = c->program->parts().code->swap_target();
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_SWAP_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

ir::SwapPoints swap_points() {
  ir::SwapPoints how;
  how.code_at = offsetof(ExecContext, better_code);
  how.point_at = offsetof(ExecContext, swap_point);
  how.state_at = offsetof(ExecContext, swap_state);
  how.continue_ = &k_rt_swap;
  return how;
}

}  // namespace scyper::query
