// Nanoseconds per operation of the indexes beside std::unordered_map and absl::btree_map.
//   index_bench [entries ...]      default 100000 1000000 10000000
// Keys: sequential numbers in normalised form, inserted in order ("append") or shuffled; finds are random and dependent
// on nothing, so that the processor may overlap them as in a transaction with several lookups; "chain" makes each find
// wait for the one before.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/container/btree_map.h"
#include "base/random.h"
#include "storage/index.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kMaxWidth = 32;
struct KeyBytes {
  char bytes[kMaxWidth];
};

// A key of int4 columns, written column by column as generated code does: constant ones first, then the number.
KeyBytes make_key(uint64_t number, uint32_t width) {
  KeyBytes key;
  for (uint32_t i = 0; i + 4 < width; i += 4) {
    const uint32_t column = 0x01000080;
    std::memcpy(key.bytes + i, &column, 4);
  }
  const uint32_t column = __builtin_bswap32(static_cast<uint32_t>(number) ^ 0x80000000);
  std::memcpy(key.bytes + width - 4, &column, 4);
  asm volatile("" ::: "memory");  // in memory, as behind a call
  return key;
}

// Times chunks of operations and reports the chunk at the lower quartile: other programs on the machine disturb most of
// a run, seldom all of it.
class ChunkTimer {
 public:
  // Call after every operation.
  void tick() {
    if (++operations_ % kChunk != 0) return;
    const double time = now();
    chunks_.push_back(time - start_);
    start_ = now();
  }
  double ns() {
    if (chunks_.empty()) return 0;
    std::nth_element(chunks_.begin(), chunks_.begin() + static_cast<ptrdiff_t>(chunks_.size() / 4), chunks_.end());
    return chunks_[chunks_.size() / 4] / kChunk;
  }

 private:
  static constexpr uint64_t kChunk = 500;
  static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  }
  uint64_t operations_ = 0;
  std::vector<double> chunks_;
  double start_ = now();
};

struct Orders {
  std::vector<uint32_t> shuffled;  // all numbers once
  std::vector<uint32_t> random;    // finds
  explicit Orders(uint64_t entries) : shuffled(entries), random(1000000) {
    Random source(1);
    std::iota(shuffled.begin(), shuffled.end(), 0u);
    for (uint64_t i = entries; i > 1; --i) std::swap(shuffled[i - 1], shuffled[source.below(i)]);
    for (uint32_t& number : random) number = static_cast<uint32_t>(source.below(entries));
  }
};

volatile uint64_t g_sink;

template <typename Index>
double fill(Index* index, const std::vector<uint32_t>& numbers, uint32_t width) {
  ChunkTimer timer;
  for (const uint32_t number : numbers) {
    const KeyBytes key = make_key(number, width);
    if (index->insert(key.bytes, width, number) != IndexResult::kOk) std::abort();
    timer.tick();
  }
  return timer.ns();
}

template <bool kChain, typename Index>
double find_ns(const Index& index, const Orders& orders, uint32_t width) {
  uint64_t sum = 0;
  uint64_t carry = 0;
  ChunkTimer timer;
  for (const uint32_t number : orders.random) {
    const KeyBytes key = make_key(number + (kChain ? carry : 0), width);
    const Tid tid = index.find(key.bytes, width);
    carry = tid >> 40;  // always 0, but known only after the find
    sum += tid;
    timer.tick();
  }
  g_sink = sum;
  return timer.ns();
}

double prefetched_ns(const HashIndex& index, const Orders& orders, uint32_t width) {
  uint64_t sum = 0;
  ChunkTimer timer;
  for (size_t i = 0; i + 10 <= orders.random.size(); i += 10) {  // as the ten lines of a NewOrder
    KeyBytes keys[10];
    for (size_t j = 0; j < 10; ++j) {
      keys[j] = make_key(orders.random[i + j], width);
      index.prefetch(keys[j].bytes, width);
    }
    for (size_t j = 0; j < 10; ++j) {
      sum += index.find(keys[j].bytes, width);
      timer.tick();
    }
  }
  g_sink = sum;
  return timer.ns();
}

double scan_ns(const OrderedIndex& index, const Orders& orders, uint64_t entries, uint32_t width, uint32_t rows) {
  uint64_t sum = 0;
  ChunkTimer timer;
  for (size_t i = 0; i < 50000; ++i) {
    const KeyBytes lo = make_key(orders.random[i], width);
    const KeyBytes hi = make_key(std::min<uint64_t>(orders.random[i] + rows, entries) - 1, width);
    OrderedCursor cursor;
    index.seek(&cursor, lo.bytes, width, hi.bytes, width, false);
    for (Tid tid = index.next(&cursor); tid != kNoTid; tid = index.next(&cursor)) sum += tid;
    timer.tick();
  }
  g_sink = sum;
  return timer.ns();
}

template <typename Index>
double erase_ns(Index* index, const Orders& orders, uint32_t width) {
  ChunkTimer timer;
  for (const uint32_t number : orders.shuffled) {
    const KeyBytes key = make_key(number, width);
    if (index->erase(key.bytes, width) != IndexResult::kOk) std::abort();
    timer.tick();
  }
  return timer.ns();
}

std::unique_ptr<Arena> make_arena(PageMode mode) { return *Arena::create(size_t{16} << 30, size_t{16} << 30, mode); }
const char* mode_name(PageMode mode) { return mode == PageMode::kSmall ? "4k" : "huge"; }

void bench_hash(uint64_t entries, const Orders& orders, uint32_t width, uint32_t key_bytes, PageMode mode) {
  const auto arena = make_arena(mode);
  const auto index = HashIndex::create(arena.get(), key_bytes);
  const double insert = fill(index.get(), orders.shuffled, width);
  const double find = find_ns<false>(*index, orders, width);
  const double chain = find_ns<true>(*index, orders, width);
  const double prefetched = prefetched_ns(*index, orders, width);
  const double bytes = static_cast<double>(index->memory_bytes()) / static_cast<double>(entries);
  const double erase = erase_ns(index.get(), orders, width);
  std::printf(
      "hash    %2u%s %-4s | insert %6.1f find %6.1f chain %6.1f prefetched %6.1f erase %6.1f | %5.1f bytes/entry\n",
      width, key_bytes == 0 ? " var" : "    ", mode_name(mode), insert, find, chain, prefetched, erase, bytes);
}

void bench_ordered(uint64_t entries, const Orders& orders, uint32_t width, uint32_t key_bytes, PageMode mode) {
  const auto arena = make_arena(mode);
  double append = 0;
  {
    const auto index = OrderedIndex::create(arena.get(), key_bytes);
    std::vector<uint32_t> sequence(entries);
    std::iota(sequence.begin(), sequence.end(), 0u);
    append = fill(index.get(), sequence, width);
  }
  const auto index = OrderedIndex::create(arena.get(), key_bytes);
  const double insert = fill(index.get(), orders.shuffled, width);
  const double find = find_ns<false>(*index, orders, width);
  const double chain = find_ns<true>(*index, orders, width);
  const double one = scan_ns(*index, orders, entries, width, 1);
  const double hundred = scan_ns(*index, orders, entries, width, 100);
  const double bytes = static_cast<double>(index->memory_bytes()) / static_cast<double>(entries);
  const double erase = erase_ns(index.get(), orders, width);
  std::printf(
      "ordered %2u%s %-4s | append %6.1f insert %6.1f find %6.1f chain %6.1f scan1 %6.1f scan100 %7.1f erase %6.1f | "
      "%5.1f "
      "bytes/entry\n",
      width, key_bytes == 0 ? " var" : "    ", mode_name(mode), append, insert, find, chain, one, hundred, erase,
      bytes);
}

// The yardsticks, with 8-byte keys; memory from malloc.
template <typename Map>
void bench_map(const char* name, const Orders& orders) {
  Map map;
  ChunkTimer insert_timer, find_timer, chain_timer;
  for (const uint32_t number : orders.shuffled) {
    map.emplace(number, number);
    insert_timer.tick();
  }
  uint64_t sum = 0;
  for (const uint32_t number : orders.random) {
    sum += map.find(number)->second;
    find_timer.tick();
  }
  uint64_t carry = 0;
  for (const uint32_t number : orders.random) {
    const uint64_t tid = map.find(number + carry)->second;
    carry = tid >> 40;
    sum += tid;
    chain_timer.tick();
  }
  g_sink = sum;
  std::printf("%-19s | insert %6.1f find %6.1f chain %6.1f\n", name, insert_timer.ns(), find_timer.ns(),
              chain_timer.ns());
}

void bench(uint64_t entries) {
  const Orders orders(entries);
  std::printf("--- %lu entries, ns per operation (scan: per scan)\n", static_cast<unsigned long>(entries));
  bench_map<std::unordered_map<uint64_t, uint64_t>>("std::unordered_map", orders);
  bench_map<absl::btree_map<uint64_t, uint64_t>>("absl::btree_map", orders);
  for (const PageMode mode : {PageMode::kSmall, PageMode::kTransparentHuge}) {
    for (const uint32_t width : {8u, 12u, 16u}) bench_hash(entries, orders, width, width, mode);
    bench_hash(entries, orders, 24, 0, mode);
    for (const uint32_t width : {8u, 16u, 24u}) bench_ordered(entries, orders, width, width, mode);
    bench_ordered(entries, orders, 24, 0, mode);
  }
}

}  // namespace
}  // namespace scyper::storage

int main(int argc, char** argv) {
  std::vector<uint64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {100000, 1000000, 10000000};
  for (const uint64_t entries : sizes) scyper::storage::bench(entries);
}
