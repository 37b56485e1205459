#pragma once

#include <cstdint>
#include <functional>

#include "query/result.h"
#include "scyper.pb.h"

namespace scyper::server {

enum class RowForm : uint8_t { kTyped, kPacked, kColumnar };

template <typename Request>
RowForm row_form_of(const Request& request) {
  if (request.columnar_rows()) return RowForm::kColumnar;
  return request.packed_rows() ? RowForm::kPacked : RowForm::kTyped;
}

// The rows of a result, cut into messages that are large against a message's fixed cost and small against flow-control
// windows. send: false = no more of them. Threads: any.
void encode_rows(const query::ResultSet& result, RowForm form,
                 const std::function<bool(v1::ExecuteResponse::Rows*)>& send);

}  // namespace scyper::server
