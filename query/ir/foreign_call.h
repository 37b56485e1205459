#pragma once

// Marks functions that call through a pointer whose type is not the callee's: generated code has no type information
// and externals are called by word count (ir.h), which clang's -fsanitize=function would take for errors.
#ifdef __clang__
#define SCYPER_FOREIGN_CALL __attribute__((no_sanitize("function")))
#else
#define SCYPER_FOREIGN_CALL
#endif
