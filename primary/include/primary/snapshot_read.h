#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "primary/rows_digest.h"
#include "query/result.h"
#include "query/settings.h"

namespace scyper::primary {

// A query of a block in REPEATABLE READ or SERIALIZABLE that has run on the block's snapshot. When the block writes,
// the query has to give the same rows then.
struct SnapshotRead {
  std::string text;
  query::ResultSet arguments;  // their values
  std::vector<SqlType> types;  // of these
  std::shared_ptr<const query::SettingValues> settings;
  RowsDigest rows;
  uint64_t lsn = 0;       // of the snapshot; 0: not known
  bool is_whole = false;  // the client has taken all rows
};

}  // namespace scyper::primary
