#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query/result.h"

namespace scyper::query {

// A cursor that a routine has left open: its client fetches from it until the transaction ends.
struct OpenCursor {
  std::string name;
  ResultSet rows;
  int64_t position = 0;  // 0: before the first row
  bool is_scrolling = false;
};

struct ExecContext;
// Copies the cursors that the program which has just run has left open, before its memory goes.
void keep_open_cursors(const ExecContext& context, std::vector<OpenCursor>* to);

}  // namespace scyper::query
