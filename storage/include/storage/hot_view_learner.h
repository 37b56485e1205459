#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/random.h"
#include "storage/hot_views.h"
#include "storage/schema.h"

// Hot data views that a node makes for itself of what statements ask (docs/tiering.md).
namespace scyper::storage {

struct FrozenStore;
struct TablePartition;

// What statements belong to; each has samples and views of its own, so that the many small ones of transactions do not
// hide the few large ones of queries.
enum class Workload : uint8_t { kTransactions, kAnalytics };
constexpr size_t kWorkloads = 2;
const char* workload_name(Workload workload);

// What a scan asked and the columns that it read, for note(). One that asked too much to be kept counts as one without
// conditions, which no view contains.
HotView make_sample(const TableSchema& schema, std::span<const uint32_t> columns,
                    std::span<const ColumnCondition> conditions);

// A view that is in use.
struct LearnedView {
  std::shared_ptr<const HotView> view;
  Workload workload = Workload::kTransactions;
  double statements = 0;  // share of the sampled ones of its workload whose conditions it contains
  double left_out = 0;    // share of the rows in chunks that those need not read, or will not when they are placed
};

// Of one table: keeps a sample of what scans have asked of its frozen chunks, makes views of it, has them measured on
// some chunks, and takes those into use of which the share of statements times the share of rows left out is large
// enough. Samples are those of the last kSamplesMax statements of a workload, of each window some at most, and of none
// older than kWindowsMax windows: so views go when what is asked shifts. One that is in use stays until it is of little
// use, or another is better by a quarter: a view that comes has all chunks asked anew.
// Whatever it finds decides only where rows lie and which chunks are asked for which views; answers depend on promises
// per chunk alone (hot_views.h).
// Owner: FrozenStore. Threads: wants(), note(), views(), samples() any; measure_one() by whom the partition belongs to,
// between transactions; evaluate() one at a time. Fork: the child must not call it.
// Source: Meyer et al., ADMS 2015, 4, 4.1.1 (workload statistics, views of query templates and their binding
// attributes), which leaves open how they are made.
class HotViewLearner {
 public:
  static constexpr size_t kNotedMax = 32;     // samples of a window
  static constexpr size_t kSamplesMax = 256;  // of a workload
  static constexpr size_t kSamplesMin = 8;    // that a view has to contain
  static constexpr uint64_t kWindowsMax = 360;
  static constexpr size_t kViewsMax = 4;  // of a workload
  static constexpr double kAdopted = 1.0 / 16;
  static constexpr double kKept = 1.0 / 32;
  static constexpr double kBetter = 1.25;

  explicit HotViewLearner(const TableSchema& schema) : schema_(schema) {}

  // Whether the scan that asks is to be noted; cheap, and mostly no where there are many.
  bool wants(Workload workload) noexcept;
  void note(Workload workload, HotView asked);  // lost while evaluate() is at work: nobody waits for it

  // At the end of a window: the next step of making views, which are set in `store` when they change.
  struct Changes {
    uint64_t adopted = 0;  // views
    uint64_t given_up = 0;
  };
  Changes evaluate(FrozenStore* store);
  // Measures the views at hand on one chunk of the partition. False: nothing to do there.
  bool measure_one(const TablePartition* partition);

  std::vector<LearnedView> views() const;
  size_t samples(Workload workload) const;  // kept now

 private:
  struct Sample {
    HotView asked;
    uint64_t window;
  };
  // Views that are in use, and those that may be.
  struct Candidate {
    std::shared_ptr<const HotView> view;
    Workload workload;
    double left_out_before;  // LearnedView::left_out
    bool is_used;
    uint64_t left_out = 0;         // tuples of the chunks that were asked, in those it leaves out
    uint64_t few = 0, few_of = 0;  // of these chunks: its tuples, which would move, and all
  };
  struct Trial {
    uint64_t window = 0;  // when it began
    std::vector<Candidate> candidates;
    uint64_t tuples = 0;                                          // of the chunks that were asked
    std::map<const TablePartition*, std::vector<uint64_t>> left;  // chunks to ask
  };

  Changes take_step(std::vector<std::shared_ptr<const HotView>>* views) ABSL_LOCKS_EXCLUDED(mutex_);
  void take_noted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void begin_trial() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const HotView> with_columns(Workload workload, HotView view) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const HotView> refreshed(const LearnedView& used) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool is_used(Workload workload, const HotView& view) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool take_chunk(const TablePartition* partition, uint64_t* chunk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Changes judge() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void choose(Workload workload, std::vector<LearnedView>* chosen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const HotView> named(const Candidate& candidate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double left_out_of(const Candidate& candidate) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TableSchema schema_;                              // types of the columns: they stay as long as the rows
  std::array<std::atomic<uint64_t>, kWorkloads> seen_{};  // scans of this window
  std::atomic<bool> is_evaluating_{false};
  mutable Mutex mutex_;
  Random random_ ABSL_GUARDED_BY(mutex_){1};
  std::array<std::vector<HotView>, kWorkloads> noted_ ABSL_GUARDED_BY(mutex_);  // in this window
  std::array<std::deque<Sample>, kWorkloads> samples_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Trial> trial_ ABSL_GUARDED_BY(mutex_);  // candidates stay as long as it lives
  std::vector<LearnedView> views_ ABSL_GUARDED_BY(mutex_);
  uint64_t window_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_changed_ ABSL_GUARDED_BY(mutex_) = false;  // samples, since the last trial began
  uint64_t last_name_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace scyper::storage
