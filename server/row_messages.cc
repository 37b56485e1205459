#include "row_messages.h"

#include <algorithm>
#include <vector>

#include "query/column_batch.h"
#include "server/packed.h"
#include "typed_values.h"

namespace scyper::server {

void encode_rows(const query::ResultSet& result, RowForm form,
                 const std::function<bool(v1::ExecuteResponse::Rows*)>& send) {
  constexpr size_t kBytesAim = 64 << 10;
  std::vector<SqlType> types;
  for (const query::ResultColumn& column : result.columns) types.push_back(column.type);
  const size_t row_count = result.row_count();
  // Rows of the typed form are of about the same size as in the engine.
  const size_t row_bytes_guess = row_count == 0 ? 1 : result.bytes() / row_count + 16 * types.size() + 1;
  const size_t rows_max = kBytesAim / row_bytes_guess + 1;
  v1::ExecuteResponse::Rows rows;
  for (size_t row = 0; row < row_count;) {
    rows.Clear();
    uint32_t count = 0;
    if (form == RowForm::kColumnar) {
      count = static_cast<uint32_t>(std::min(row_count - row, rows_max));
      query::encode_columns(types, &result.value(row, 0), count, rows.mutable_columns());
      row += count;
    } else if (form == RowForm::kPacked) {
      for (; row < row_count && rows.packed().size() < kBytesAim; ++count)
        append_row(types, &result.value(row++, 0), rows.mutable_packed());
    } else {
      for (; row < row_count && count < rows_max; ++count)
        encode_row(result.columns, &result.value(row++, 0), rows.add_rows());
    }
    rows.set_row_count(count);
    if (!send(&rows)) return;
  }
}

}  // namespace scyper::server
