#include "runtime/team.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "query/program.h"
#include "runtime/memory.h"
#include "runtime/scan_samples.h"
#include "runtime/spill.h"
#include "storage/table.h"

namespace scyper::query {

namespace {
constexpr std::chrono::milliseconds kPoll{5};  // of interrupts, while waiting for the others
}

void Team::pass_interrupt(ExecContext* c) const {
  if (c == main_) return;
  uint32_t why = main_->interrupt.load(std::memory_order_relaxed) & ~kSafepointBit;
  if (why != 0) c->interrupt.store(why, std::memory_order_relaxed);
}

bool Team::meet(ExecContext* c) {
  std::unique_lock<std::mutex> lock(mutex_);
  uint64_t meeting = meetings_;
  if (++waiting_ == size_) {
    waiting_ = 0;
    meetings_++;
    all_came_.notify_all();
    return failed() < 0;
  }
  while (meetings_ == meeting) {
    if (failed() >= 0) return false;
    pass_interrupt(c);
    if (c->is_interrupted()) return false;
    all_came_.wait_for(lock, kPoll);
  }
  return failed() < 0;
}

void* const* Team::exchange(ExecContext* c, void* mine) {
  void** offers = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    offers = offers_[meetings_ % 2].data();  // nobody is two meetings ahead
    offers[c->thread] = mine;
  }
  return meet(c) ? offers : nullptr;
}

GeneratedCode Team::native_code(ExecContext* c) noexcept {
  std::lock_guard<std::mutex> lock(finding_code_);
  if (!native_code_.has_value()) native_code_ = find_native_code(c, code_source_);
  return *native_code_;
}

Team::Scan* Team::find(int64_t number, const void* of) {
  for (Scan& scan : scans_)
    if (scan.number == number && scan.of == of) return &scan;
  scans_.push_back({number, of, 0, nullptr});
  return &scans_.back();
}

int64_t Team::next_morsel(ExecContext* c, int64_t number, const void* partition, int64_t tuples) {
  pass_interrupt(c);
  std::lock_guard<std::mutex> lock(mutex_);
  Scan* scan = find(number, partition);
  scan->next += tuples;
  return scan->next - tuples;
}

TupleStore::Chunk* Team::next_chunk(ExecContext* c, int64_t number, TupleStore* store) {
  pass_interrupt(c);
  std::lock_guard<std::mutex> lock(mutex_);
  Scan* scan = find(number, store);
  scan->chunk = scan->next++ == 0 ? store->first : scan->chunk == nullptr ? nullptr : scan->chunk->next;
  return scan->chunk;
}

void Team::fail(uint32_t thread) {
  int none = -1;
  failed_.compare_exchange_strong(none, static_cast<int>(thread), std::memory_order_acq_rel);
  std::lock_guard<std::mutex> lock(mutex_);
  all_came_.notify_all();
}

namespace {
// One member's own.
struct Member {
  explicit Member(size_t scratch_bytes) : scratch(scratch_bytes) {}
  ScratchArena scratch;
  ResultSet result;
  std::vector<std::string> notices;
  std::optional<SpillSpace> spill;
  ExecContext context;
};

std::unique_ptr<Member> make_member(const ExecContext& main, Team* team, uint32_t thread, size_t scratch_bytes) {
  auto member = std::make_unique<Member>(scratch_bytes);
  ExecContext& c = member->context;
  c.transaction_time_us = main.transaction_time_us;
  c.partition = main.partition;
  c.partitions = main.partitions;
  c.crossing = main.crossing;
  c.scratch = &member->scratch;
  c.result = &member->result;
  c.notices = &member->notices;
  if (main.spill != nullptr) c.spill = &member->spill.emplace(main.spill->limits(), team->size());
  c.team = team;
  c.thread = thread;
  return member;
}

}  // namespace

// What a member says that left because of another one, or of the query's end.
int32_t fail_meeting(ExecContext* c) {
  bool timeout = (c->interrupt.load() & ~kSafepointBit) == static_cast<uint32_t>(Interrupt::kTimeout);
  return c->fail("57014",
                 timeout ? "canceling statement due to statement timeout" : "canceling statement due to user request",
                 false);
}

Outcome run_in_team(const Program& program, ExecContext* main, const Datum* arguments, uint32_t threads,
                    size_t scratch_bytes) noexcept {
  Team team(threads, main);
  main->team = &team;
  main->thread = 0;
  std::optional<SpillSpace> share;  // of the memory
  SpillSpace* const whole = main->spill;
  if (whole != nullptr) main->spill = &share.emplace(whole->limits(), threads);
  auto run = [&](ExecContext* c) {
    Outcome outcome = program.run(c, arguments);
    if (outcome != Outcome::kOk) team.fail(c->thread);
    return outcome;
  };
  std::vector<std::unique_ptr<Member>> members;
  std::vector<Outcome> outcomes(threads, Outcome::kOk);
  std::vector<std::thread> running;
  for (uint32_t i = 1; i < threads; i++) members.push_back(make_member(*main, &team, i, scratch_bytes));
  for (uint32_t i = 1; i < threads; i++)
    running.emplace_back([&, i, samples = ScanSamples::current] {
      const ScanSamples::Scope scope(samples);
      outcomes[i] = run(&members[i - 1]->context);
    });
  outcomes[0] = run(main);
  for (auto& thread : running) thread.join();
  for (const auto& member : members) main->swaps += member->context.swaps;
  main->team = nullptr;
  main->spill = whole;
  int failed = team.failed();
  if (failed < 0) return Outcome::kOk;
  if (failed > 0) main->error = members[static_cast<size_t>(failed) - 1]->context.error;
  return outcomes[static_cast<size_t>(failed)];
}

void concatenate_stores(TupleStore* const* stores, uint32_t count) {
  TupleStore* all = stores[0];
  rt_seal(all);
  for (uint32_t i = 1; i < count; i++) {
    TupleStore* other = stores[i];
    rt_seal(other);
    if (other->first == nullptr) continue;  // or all on disk
    if (all->last != nullptr)
      all->last->next = other->first;
    else
      all->first = other->first;
    all->last = other->last;
    all->cursor = other->cursor;
    all->limit = other->limit;
    all->count += other->count;
    all->bytes += other->bytes;
  }
  for (uint32_t i = 1; i < count && all->spill != nullptr; i++) {
    auto& runs = stores[i]->spill->runs;
    all->spill->runs.insert(all->spill->runs.end(), runs.begin(), runs.end());
    all->spilled |= stores[i]->spilled;
  }
}

namespace {

extern "C" {

int64_t rt_next_morsel(ExecContext* c, int64_t scan, const void* partition, int64_t first) noexcept {
  return c->team == nullptr ? first : c->team->next_morsel(c, scan, partition, storage::kChunkTuples);
}

TupleStore::Chunk* rt_next_chunk(ExecContext* c, int64_t scan, TupleStore* store, TupleStore::Chunk* before) noexcept {
  if (c->team != nullptr && store->spilled == 0) return c->team->next_chunk(c, scan, store);
  return before == nullptr ? store->first : before->next;
}

int32_t rt_tuples_gather(ExecContext* c, TupleStore* store, int64_t for_all) noexcept {
  if (c->team == nullptr) {
    rt_seal(store);
    c->value[0] = reinterpret_cast<int64_t>(store);
    return 0;
  }
  void* const* stores = c->team->exchange(c, store);
  if (stores == nullptr) return fail_meeting(c);
  auto* all = static_cast<TupleStore*>(stores[0]);
  if (c->thread == 0) concatenate_stores(reinterpret_cast<TupleStore* const*>(stores), c->team->size());
  if (!c->team->meet(c)) return fail_meeting(c);
  if (for_all == 0 && c->thread != 0) {
    store->first = store->last = nullptr;
    store->cursor = store->limit = nullptr;
    store->count = 0;
    store->spilled = 0;
    store->spill = nullptr;
    all = store;
  }
  c->value[0] = reinterpret_cast<int64_t>(all);
  return 0;
}

int32_t rt_exchange(ExecContext* c, void* mine) noexcept {
  c->value[1] = 1;
  if (c->team == nullptr) return 0;
  void* const* all = c->team->exchange(c, mine);
  if (all == nullptr) return fail_meeting(c);
  c->value[0] = reinterpret_cast<int64_t>(all);
  c->value[1] = c->team->size();
  return 0;
}

int32_t rt_meet(ExecContext* c) noexcept { return c->team == nullptr || c->team->meet(c) ? 0 : fail_meeting(c); }

void rt_copy_tuple(char* to, const char* from, int64_t bytes) noexcept {
  std::memcpy(to + sizeof(TupleEntry), from + sizeof(TupleEntry), static_cast<size_t>(bytes) - sizeof(TupleEntry));
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_TEAM_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

// Join tables: everybody's tuples in one table, linked by those who have them.
int32_t build_together(ExecContext* c, TupleStore* store) noexcept {
  TupleStore::Chunk* first = store->first;
  if (store->last != nullptr) store->last->end = store->cursor;
  TupleStore::Chunk* last = store->last;
  announce(store);
  void* const* stores = c->team->exchange(c, store);
  if (stores == nullptr) return fail_meeting(c);
  if (has_announced(reinterpret_cast<TupleStore* const*>(stores), c->team->size())) {
    c->value[0] = reinterpret_cast<int64_t>(store);
    return leave_finally(c, store);
  }
  auto* all = static_cast<TupleStore*>(stores[0]);
  int32_t outcome = 0;
  if (c->thread == 0) {
    concatenate_stores(reinterpret_cast<TupleStore* const*>(stores), c->team->size());
    outcome = make_join_slots(c, all);
    if (outcome != 0) return outcome;
  }
  if (!c->team->meet(c)) return fail_meeting(c);
  for (TupleStore::Chunk* chunk = first; chunk != nullptr; chunk = chunk == last ? nullptr : chunk->next) {
    if (outcome = poll_interrupt(c); outcome != 0) return outcome;
    link_shared(all, chunk, chunk);
  }
  if (!c->team->meet(c)) return fail_meeting(c);
  c->value[0] = reinterpret_cast<int64_t>(all);
  return 0;
}

}  // namespace scyper::query
