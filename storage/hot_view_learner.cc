#include "storage/hot_view_learner.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/tiered_chunk.h"
#include "view_candidates.h"

namespace scyper::storage {
namespace {

constexpr size_t kCandidatesMax = 24;     // of a workload, measured at a time
constexpr size_t kMeasuredChunks = 4;     // of a partition
constexpr uint64_t kTrialWindowsMax = 3;  // nobody takes steps: there is nothing to place
constexpr size_t kConditionsMax = 64;     // of a sample
constexpr size_t kTextBytesMax = 1024;    // in them

double share_of(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

HotView copy_of(const TableSchema& schema, const HotView& view) {
  HotView copy;
  copy.name = view.name;
  copy.columns = view.columns;
  for (const ColumnCondition& one : view.conditions) add_condition(schema, one, &copy);
  return copy;
}

void add_columns(const std::vector<uint32_t>& more, std::vector<uint32_t>* columns) {
  std::vector<uint32_t> both;
  std::set_union(columns->begin(), columns->end(), more.begin(), more.end(), std::back_inserter(both));
  columns->swap(both);
}

}  // namespace

const char* workload_name(Workload workload) {
  return workload == Workload::kTransactions ? "transactions" : "analytics";
}

HotView make_sample(const TableSchema& schema, std::span<const uint32_t> columns,
                    std::span<const ColumnCondition> conditions) {
  HotView sample;
  sample.columns.assign(columns.begin(), columns.end());
  std::sort(sample.columns.begin(), sample.columns.end());
  size_t text_bytes = 0;
  for (const ColumnCondition& one : conditions) {
    if (!holds_bytes(schema.columns[one.column].type.id)) continue;
    for (const Datum& bound : {one.predicate.low, one.predicate.high}) text_bytes += bound.null != 0 ? 0 : bound.size();
  }
  if (conditions.size() > kConditionsMax || text_bytes > kTextBytesMax) return sample;
  for (const ColumnCondition& one : conditions) add_condition(schema, one, &sample);
  return sample;
}

bool HotViewLearner::wants(Workload workload) noexcept {
  const uint64_t before = seen_[static_cast<size_t>(workload)].fetch_add(1, std::memory_order_relaxed);
  if (before < kNotedMax) return true;
  // the chance that keeps all scans of the window alike: Vitter, Random Sampling with a Reservoir, TOMS 1985
  const uint64_t any = (before + 1) * 0x9e3779b97f4a7c15;
  return (any >> 20) % (before + 1) < kNotedMax;
}

void HotViewLearner::note(Workload workload, HotView asked) {
  if (is_evaluating_.load(std::memory_order_relaxed)) return;
  MutexLock lock(&mutex_);
  std::vector<HotView>& noted = noted_[static_cast<size_t>(workload)];
  if (noted.size() < kNotedMax) {
    noted.push_back(std::move(asked));
  } else {
    noted[random_.below(kNotedMax)] = std::move(asked);
  }
}

HotViewLearner::Changes HotViewLearner::evaluate(FrozenStore* store) {
  std::vector<std::shared_ptr<const HotView>> views;
  is_evaluating_.store(true, std::memory_order_relaxed);
  const Changes changes = take_step(&views);
  is_evaluating_.store(false, std::memory_order_relaxed);
  if (changes.adopted + changes.given_up > 0) store->set_learned_views(std::move(views));
  return changes;
}

HotViewLearner::Changes HotViewLearner::take_step(std::vector<std::shared_ptr<const HotView>>* views) {
  MutexLock lock(&mutex_);
  ++window_;
  take_noted();
  if (trial_ == nullptr) {
    if (std::exchange(has_changed_, false)) begin_trial();
    return {};
  }
  const bool is_measured = trial_->tuples > 0 && window_ > trial_->window;
  if (!is_measured && window_ < trial_->window + kTrialWindowsMax) return {};
  const Changes changes = judge();
  trial_ = nullptr;
  for (const LearnedView& one : views_) views->push_back(one.view);
  return changes;
}

void HotViewLearner::take_noted() {
  for (size_t i = 0; i < kWorkloads; ++i) {
    seen_[i].store(0, std::memory_order_relaxed);
    std::deque<Sample>& samples = samples_[i];
    has_changed_ |= !noted_[i].empty();
    for (HotView& one : noted_[i]) samples.push_back({std::move(one), window_});
    noted_[i].clear();
    while (!samples.empty() && (samples.size() > kSamplesMax || samples.front().window + kWindowsMax < window_)) {
      samples.pop_front();
      has_changed_ = true;
    }
  }
}

std::shared_ptr<const HotView> HotViewLearner::with_columns(Workload workload, HotView view) {
  for (const Sample& sample : samples_[static_cast<size_t>(workload)]) {
    if (implies(schema_, sample.asked.conditions, view.conditions)) add_columns(sample.asked.columns, &view.columns);
  }
  return std::make_shared<const HotView>(std::move(view));
}

// The same where no column has come that matters.
std::shared_ptr<const HotView> HotViewLearner::refreshed(const LearnedView& used) {
  HotView view = copy_of(schema_, *used.view);
  auto made = with_columns(used.workload, std::move(view));
  return made->columns == used.view->columns ? used.view : made;
}

// What is in use, and what could be instead or besides.
void HotViewLearner::begin_trial() {
  trial_ = std::make_shared<Trial>();
  trial_->window = window_;
  for (const LearnedView& used : views_)
    trial_->candidates.push_back({refreshed(used), used.workload, used.left_out, true});
  for (const Workload workload : {Workload::kTransactions, Workload::kAnalytics}) {
    const std::deque<Sample>& samples = samples_[static_cast<size_t>(workload)];
    std::vector<const HotView*> asked;
    for (const Sample& sample : samples) asked.push_back(&sample.asked);
    std::multimap<size_t, HotView, std::greater<>> found;  // by how many statements they contain
    for (HotView& view : find_view_candidates(schema_, asked, kSamplesMin)) {
      const auto contained = static_cast<size_t>(std::count_if(asked.begin(), asked.end(), [&](const HotView* one) {
        return implies(schema_, one->conditions, view.conditions);
      }));
      if (contained >= kSamplesMin && share_of(contained, asked.size()) >= kAdopted) {
        found.emplace(contained, std::move(view));
      }
    }
    size_t taken = 0;
    for (auto& [contained, view] : found) {
      if (is_used(workload, view) || ++taken > kCandidatesMax) continue;
      trial_->candidates.push_back({with_columns(workload, std::move(view)), workload, 0, false});
    }
  }
}

bool HotViewLearner::is_used(Workload workload, const HotView& view) const {
  return std::any_of(views_.begin(), views_.end(), [&](const LearnedView& used) {
    return used.workload == workload && implies(schema_, used.view->conditions, view.conditions) &&
           implies(schema_, view.conditions, used.view->conditions);
  });
}

// Up to so many chunks of a partition, evenly spread.
bool HotViewLearner::take_chunk(const TablePartition* partition, uint64_t* chunk) {
  const auto [left, is_new] = trial_->left.try_emplace(partition);
  if (is_new) {
    std::vector<uint64_t> frozen;
    for (uint64_t i = 0; i < partition->chunk_count; ++i) {
      if (partition->frozen[i].state == ChunkState::kFrozen) frozen.push_back(i);
    }
    const size_t count = std::min(frozen.size(), kMeasuredChunks);
    for (size_t i = 0; i < count; ++i) left->second.push_back(frozen[(2 * i + 1) * frozen.size() / (2 * count)]);
  }
  if (left->second.empty()) return false;
  *chunk = left->second.back();
  left->second.pop_back();
  return true;
}

bool HotViewLearner::measure_one(const TablePartition* partition) {
  if (is_evaluating_.load(std::memory_order_relaxed)) return false;
  std::shared_ptr<Trial> trial;
  uint64_t chunk = 0;
  {
    MutexLock lock(&mutex_);
    if (trial_ == nullptr || partition->frozen == nullptr || !take_chunk(partition, &chunk)) return false;
    trial = trial_;
  }
  const FrozenSlot& slot = partition->frozen[chunk];
  if (slot.state != ChunkState::kFrozen) return true;
  VectorReader vectors;
  vectors.open(partition, slot);
  std::vector<uint32_t> counts;
  for (const Candidate& candidate : trial->candidates) {
    ChunkSelection selection{};
    uint32_t count = 0;
    if (select_rows(&vectors, slot.invalid, candidate.view->conditions, &selection)) {
      for (const uint64_t word : selection) count += static_cast<uint32_t>(std::popcount(word));
    }
    counts.push_back(count);
  }
  if (!vectors.status().ok()) return true;
  const uint32_t tuples = kChunkTuples - slot.invalid.positions();
  MutexLock lock(&mutex_);
  trial->tuples += tuples;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > tuples / kFewRelevant) continue;
    Candidate& candidate = trial->candidates[i];
    candidate.left_out += tuples - counts[i];
    candidate.few += counts[i];
    candidate.few_of += tuples;
  }
  return true;
}

HotViewLearner::Changes HotViewLearner::judge() {
  std::vector<LearnedView> chosen;
  for (const Workload workload : {Workload::kTransactions, Workload::kAnalytics}) choose(workload, &chosen);
  const auto has = [](const std::vector<LearnedView>& views, const LearnedView& wanted) {
    return std::any_of(views.begin(), views.end(), [&](const LearnedView& one) { return one.view == wanted.view; });
  };
  const auto missing = [&](const std::vector<LearnedView>& from, const std::vector<LearnedView>& in) {
    return static_cast<uint64_t>(
        std::count_if(from.begin(), from.end(), [&](const LearnedView& one) { return !has(in, one); }));
  };
  const Changes changes{missing(chosen, views_), missing(views_, chosen)};
  views_ = std::move(chosen);
  return changes;
}

// One after the other the one that is of most use for what those before it do not contain.
void HotViewLearner::choose(Workload workload, std::vector<LearnedView>* chosen) {
  const std::deque<Sample>& samples = samples_[static_cast<size_t>(workload)];
  if (!samples.empty() && samples.size() < kSamplesMin) {  // too few say anything
    for (const LearnedView& used : views_) {
      if (used.workload == workload) chosen->push_back(used);
    }
    return;
  }
  std::vector<bool> contained(samples.size());
  const auto news_of = [&](const Candidate& candidate) {
    uint64_t news = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      news += !contained[i] && implies(schema_, samples[i].asked.conditions, candidate.view->conditions) ? 1 : 0;
    }
    return news;
  };
  double moving = 0;  // of the tuples of a chunk
  for (size_t count = 0; count < kViewsMax && !samples.empty(); ++count) {
    const Candidate* best = nullptr;
    double best_use = 0;
    for (const Candidate& candidate : trial_->candidates) {
      if (candidate.workload != workload) continue;
      const uint64_t news = news_of(candidate);
      const double use = share_of(news, samples.size()) * left_out_of(candidate);
      if (use < (candidate.is_used ? kKept : kAdopted) || (!candidate.is_used && news < kSamplesMin)) continue;
      if (moving + share_of(candidate.few, candidate.few_of) > 1.0 / kFewRelevant) continue;
      const double weight = candidate.is_used ? kBetter : 1;
      if (use * weight <= best_use) continue;
      best = &candidate;
      best_use = use * weight;
    }
    if (best == nullptr) return;
    moving += share_of(best->few, best->few_of);
    uint64_t statements = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (!implies(schema_, samples[i].asked.conditions, best->view->conditions)) continue;
      contained[i] = true;
      ++statements;
    }
    chosen->push_back({named(*best), workload, share_of(statements, samples.size()), left_out_of(*best)});
  }
}

std::shared_ptr<const HotView> HotViewLearner::named(const Candidate& candidate) {
  if (candidate.is_used) return candidate.view;
  HotView view = copy_of(schema_, *candidate.view);
  view.name = absl::StrCat("learned_", workload_name(candidate.workload), "_", ++last_name_);
  return std::make_shared<const HotView>(std::move(view));
}

double HotViewLearner::left_out_of(const Candidate& candidate) const {
  return trial_->tuples == 0 ? candidate.left_out_before : share_of(candidate.left_out, trial_->tuples);
}

std::vector<LearnedView> HotViewLearner::views() const {
  MutexLock lock(&mutex_);
  return views_;
}

size_t HotViewLearner::samples(Workload workload) const {
  MutexLock lock(&mutex_);
  return samples_[static_cast<size_t>(workload)].size();
}

}  // namespace scyper::storage
