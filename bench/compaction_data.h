#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "storage/frozen_vector.h"

// What the figures of compaction are measured on.
namespace scyper::bench {

// US census 1990 last names, the most frequent first.
const std::vector<std::string>& census_names();

// Ranks with probability 1 / rank^s.
class Zipf {
 public:
  Zipf(size_t ranks, double s);
  size_t draw(Random* random) const {
    const double at = random->real() * sums_.back();
    return static_cast<size_t>(std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

// A column as tables hold it: cells and NULL bytes, texts of a heap beside them.
struct PlainColumn {
  std::string name;
  SqlType type;
  bool not_null = true;
  std::vector<char> cells;
  std::vector<char> nulls;
  uint64_t heap_bytes = 0;

  void append_number(int64_t value);
  void append_null();
  void append_text(const std::string& text);  // kept by the caller where it does not fit in the cell
  uint64_t count() const { return cells.size() / storage::cell_bytes_of(type); }
  uint64_t bytes() const { return cells.size() + nulls.size() + heap_bytes; }
};

// The same in frozen vectors of a chunk's size each.
class FrozenColumn {
 public:
  FrozenColumn(const PlainColumn& column, const storage::FreezeOptions& options);
  uint32_t vectors() const { return static_cast<uint32_t>(images_.size()); }
  storage::FrozenVector vector(uint32_t i) const {
    return storage::FrozenVector(images_[i].data(), options_.dictionary);
  }
  uint64_t bytes() const;
  std::string schemes() const;  // of the first vector

 private:
  storage::FreezeOptions options_;
  std::vector<std::string> images_;
};

// Of this thread: other load on the machine does not count (its cache misses do).
double processor_seconds();
// The shortest of several runs, in ms.
template <typename Run>
double best_ms(int repeat, Run run) {
  double best = 1e300;
  for (int i = 0; i < repeat; ++i) {
    const double start = processor_seconds();
    run();
    best = std::min(best, (processor_seconds() - start) * 1e3);
  }
  return best;
}

}  // namespace scyper::bench
