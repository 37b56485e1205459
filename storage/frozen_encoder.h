#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "bit_packing.h"
#include "frozen_format.h"
#include "storage/frozen_vector.h"

// What the encoders of numbers and texts have in common: choosing a scheme, and the image under construction.
namespace scyper::storage {

static_assert(kChunkTuples <= 65536);  // positions in images have 16 bits

// What decoding costs, in nanoseconds per value, as bench_compaction measured it (Zen 3): for the choice of schemes. A
// run costs its entry and kRunNs.
inline constexpr std::array<double, kFrozenSchemes> kDecodeNs = {0.1, 0.05, 0.3, 0.4};
inline constexpr double kRunNs = 1.5;

inline uint32_t bits_of(uint64_t value) { return static_cast<uint32_t>(std::bit_width(value)); }

struct Choice {
  FrozenScheme scheme = FrozenScheme::kPlain;
  bool runs = false;
  bool shared = false;
  double score = 0;
};

// The best of what is offered; wishes of the options beat scores.
class Chooser {
 public:
  Chooser(const FreezeOptions& options, uint32_t count) : options_(options), count_(count) {}

  double score(FrozenScheme scheme, bool runs, uint64_t entries, uint64_t bytes) const {
    double ns = static_cast<double>(entries) * kDecodeNs[static_cast<uint32_t>(scheme)];
    if (runs) {
      ns += static_cast<double>(entries) * kRunNs + 0.1 * count_;
      bytes += entries * sizeof(uint16_t);
    }
    double score = static_cast<double>(bytes) + ns;
    if (options_.scheme.has_value() && *options_.scheme != scheme) score += kUnwanted;
    if (options_.runs.has_value() && *options_.runs != runs) score += kUnwanted;
    return score;
  }
  void offer(FrozenScheme scheme, bool runs, bool shared, uint64_t entries, uint64_t bytes) {
    const Choice choice{scheme, runs, shared, score(scheme, runs, entries, bytes)};
    if (!has_choice_ || choice.score < best_.score) best_ = choice;
    has_choice_ = true;
  }
  const Choice& best() const {
    CHECK(has_choice_);
    return best_;
  }

 private:
  static constexpr double kUnwanted = 1e15;
  const FreezeOptions& options_;
  const double count_;
  bool has_choice_ = false;
  Choice best_;
};

// An image under construction.
class VectorImage {
 public:
  VectorImage(const FrozenSource& source, std::string* out) : out_(out), start_(out->size()) {
    CHECK(start_ % 8 == 0 && source.count > 0 && source.count <= kChunkTuples);
    out_->append(sizeof(FrozenHeader), '\0');
    FrozenHeader& head = header();
    head.kind = source.access.kind;
    head.type = source.type.id;
    head.scale = source.type.scale;
    head.cell_bytes = source.access.cell_bytes;
    head.count = source.count;
  }
  FrozenHeader& header() { return *reinterpret_cast<FrozenHeader*>(out_->data() + start_); }
  // Zero, aligned to 8.
  uint32_t add_section(uint64_t bytes) {
    const uint64_t begin = out_->size() - start_;
    out_->append((bytes + 7) / 8 * 8, '\0');
    CHECK(out_->size() - start_ < uint64_t{1} << 31);
    return static_cast<uint32_t>(begin);
  }
  char* at(uint32_t offset) { return out_->data() + start_ + offset; }
  void add_codes(const std::vector<uint64_t>& codes, uint32_t bits) {
    add_slots(codes, bits);
    const uint32_t begin = add_section(packed_bytes(codes.size(), bits));
    pack(codes.data(), codes.size(), bits, at(begin));
    header().codes_at = begin;
    header().code_bits = static_cast<uint8_t>(bits);
  }
  void add_run_ends(const std::vector<uint16_t>& ends) {
    const uint32_t begin = add_section(ends.size() * sizeof(uint16_t));
    std::memcpy(at(begin), ends.data(), ends.size() * sizeof(uint16_t));
    header().run_ends_at = begin;
    header().has_runs = 1;
  }
  void finish() { header().bytes = static_cast<uint32_t>(out_->size() - start_); }

 private:
  void add_slots(const std::vector<uint64_t>& codes, uint32_t bits);

  std::string* const out_;
  const size_t start_;
};

// Positions whose value matters: they are live and not NULL.
struct Positions {
  std::vector<uint8_t> matters;
  std::vector<uint8_t> nulls;  // live and NULL
  uint32_t null_count = 0;
  uint32_t first = 0;  // that matters; count when none does
  bool all = false;    // matter
};

template <typename Value>
std::vector<uint16_t> find_run_ends(const std::vector<Value>& values) {
  std::vector<uint16_t> ends;
  for (size_t i = 1; i < values.size(); ++i) {
    if (!(values[i] == values[i - 1])) ends.push_back(static_cast<uint16_t>(i));
  }
  ends.push_back(static_cast<uint16_t>(values.size()));
  return ends;
}

template <typename Value>
uint32_t count_runs(const std::vector<Value>& values) {
  uint32_t runs = 1;
  for (size_t i = 1; i < values.size(); ++i) runs += values[i] == values[i - 1] ? 0 : 1;
  return runs;
}

template <typename Value>
std::vector<Value> take_runs(const std::vector<Value>& values, const std::vector<uint16_t>& ends) {
  std::vector<Value> runs;
  runs.reserve(ends.size());
  for (uint16_t end : ends) runs.push_back(values[end - 1]);
  return runs;
}

// The values of one vector; NULLs are there already.
void encode_texts(const FrozenSource& source, const FreezeOptions& options, const Positions& positions,
                  VectorImage* image);

}  // namespace scyper::storage
