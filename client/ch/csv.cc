#include "client/ch/csv.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "client/ch/text.h"

namespace scyper::ch {
namespace {

Status write_error(const std::string& path) {
  return sql_error("58030", "could not write file \"" + path + "\": " + std::strerror(errno));
}

}  // namespace

Status write_csv_file(const Generator& generator, Table table, const std::string& path, bool header) {
  const TableInfo& info = table_info(table);
  const bool shared = info.warehouse_column < 0;
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "w"), &std::fclose);
  if (file == nullptr) return write_error(path);
  std::string text;
  if (header) {
    for (const Column& column : info.columns) {
      if (!text.empty()) text += ',';
      text += column.name;
    }
    text += '\n';
  }
  for (int32_t w = shared ? 0 : 1; w <= (shared ? 0 : generator.scale().warehouses); ++w) {
    RowCursor cursor(generator, table, w);
    for (RowBatch batch = cursor.next(); batch.rows > 0; batch = cursor.next()) {
      for (size_t r = 0; r < batch.rows; ++r) append_csv_row(text, batch.row(r), info.columns);
      if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) return write_error(path);
      text.clear();
    }
  }
  if (std::fclose(file.release()) != 0) return write_error(path);
  return absl::OkStatus();
}

Status write_csv_files(const Generator& generator, const std::string& directory, bool header) {
  for (const TableInfo& info : all_tables()) {
    SCYPER_RETURN_IF_ERROR(
        write_csv_file(generator, info.table, directory + "/" + std::string(info.name) + ".csv", header));
  }
  return absl::OkStatus();
}

}  // namespace scyper::ch
