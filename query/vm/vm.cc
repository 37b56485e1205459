#include "vm/vm.h"

#include <alloca.h>

#include <cstdlib>
#include <cstring>

#include "vm/code.h"

namespace scyper::query::vm {

VmFunction::VmFunction() = default;
VmFunction::~VmFunction() = default;

int32_t VmFunction::run(void* context, const void* arguments, void* results) const noexcept {
  const bool on_stack = frame_bytes_ <= kStackFrameBytes;
  auto* frame = static_cast<std::byte*>(on_stack ? alloca(frame_bytes_) : aligned_alloc(16, frame_bytes_));
  CHECK(frame != nullptr);
  const uint64_t parameters[] = {reinterpret_cast<uint64_t>(context), reinterpret_cast<uint64_t>(arguments),
                                 reinterpret_cast<uint64_t>(results)};
  memcpy(frame, parameters, sizeof parameters);
  const size_t constant_bytes = constants_.size() * sizeof(uint64_t);
  if (constant_bytes != 0) memcpy(frame + sizeof parameters, constants_.data(), constant_bytes);
  memset(frame + sizeof parameters + constant_bytes, 0, variable_bytes_);
  const int32_t status = interpret(code_.data(), call_slots_.data(), frame);
  if (!on_stack) free(frame);
  return status;
}

size_t VmFunction::code_count() const { return code_.size(); }

size_t VmFunction::size_bytes() const {
  return sizeof *this + code_.capacity() * sizeof(Code) + call_slots_.capacity() * sizeof(uint32_t) +
         (constants_.capacity() + data_.capacity()) * sizeof(uint64_t);
}

}  // namespace scyper::query::vm
