#pragma once

#include <string>

#include "base/status.h"
#include "client/ch/generator.h"

namespace scyper::ch {

// Writes a table, all its warehouses, as PostgreSQL's COPY ... (FORMAT csv) reads it; header: a first line of names.
Status write_csv_file(const Generator& generator, Table table, const std::string& path, bool header = false);

// All tables as <directory>/<table>.csv. The directory must exist.
Status write_csv_files(const Generator& generator, const std::string& directory, bool header = false);

}  // namespace scyper::ch
