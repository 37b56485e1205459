#include "compaction_data.h"

#include <time.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "base/check.h"
#include "storage/string_heap.h"

namespace scyper::bench {

using storage::CellKind;
using storage::kChunkTuples;

const std::vector<std::string>& census_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> read;
    std::ifstream file(SCYPER_CENSUS_NAMES);
    for (std::string line; std::getline(file, line);) read.push_back(line.substr(0, line.find(',')));
    return read;
  }();
  CHECK(!names.empty());
  return names;
}

Zipf::Zipf(size_t ranks, double s) {
  double sum = 0;
  for (size_t rank = 1; rank <= ranks; ++rank) sums_.push_back(sum += std::pow(static_cast<double>(rank), -s));
}

void PlainColumn::append_number(int64_t value) {
  const uint32_t bytes = storage::cell_bytes_of(type);
  cells.resize(cells.size() + bytes);
  storage::write_plain_cell(storage::cell_kind_of(type), cells.data() + cells.size() - bytes, int_datum(value));
  if (!not_null) nulls.push_back(0);
}

void PlainColumn::append_null() {
  CHECK(!not_null);
  cells.resize(cells.size() + storage::cell_bytes_of(type));
  nulls.push_back(1);
}

void PlainColumn::append_text(const std::string& text) {
  const uint32_t bytes = storage::cell_bytes_of(type);
  cells.resize(cells.size() + bytes);
  char* cell = cells.data() + cells.size() - bytes;
  const auto size = static_cast<uint32_t>(text.size());
  if (!not_null) nulls.push_back(0);
  if (storage::cell_kind_of(type) == CellKind::kShortString) {
    CHECK(size < bytes);
    *cell = static_cast<char>(size);
    std::memcpy(cell + 1, text.data(), size);
    return;
  }
  storage::save_cell(cell, size);
  std::memcpy(cell + 4, text.data(), size <= storage::kLongStringInline ? size : 4);
  if (size <= storage::kLongStringInline) return;
  storage::save_cell(cell + 8, text.data());
  heap_bytes += storage::StringHeap::piece_bytes(size);
}

FrozenColumn::FrozenColumn(const PlainColumn& column, const storage::FreezeOptions& options) : options_(options) {
  const uint32_t bytes = storage::cell_bytes_of(column.type);
  for (uint64_t first = 0; first < column.count(); first += kChunkTuples) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(kChunkTuples, column.count() - first));
    storage::ColumnAccess access{storage::cell_kind_of(column.type), bytes, 0, bytes, 0, 1};
    std::vector<char> chunk(column.cells.begin() + static_cast<std::ptrdiff_t>(first * bytes),
                            column.cells.begin() + static_cast<std::ptrdiff_t>((first + count) * bytes));
    if (!column.not_null) {
      access.null_offset = static_cast<uint32_t>(chunk.size());
      chunk.insert(chunk.end(), column.nulls.begin() + static_cast<std::ptrdiff_t>(first),
                   column.nulls.begin() + static_cast<std::ptrdiff_t>(first + count));
    }
    std::string image;
    storage::freeze_vector({column.type, access, chunk.data(), nullptr, count}, options, &image);
    images_.push_back(std::move(image));
  }
}

uint64_t FrozenColumn::bytes() const {
  uint64_t bytes = 0;
  for (const std::string& image : images_) bytes += image.size();
  return bytes;
}

std::string FrozenColumn::schemes() const {
  const storage::FrozenHeader& head = vector(0).header();
  return std::string(storage::scheme_name(head.scheme)) + (head.has_shared_text != 0 ? " shared" : "") +
         (head.has_runs != 0 ? " runs" : "");
}

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace scyper::bench
