// Every long loop of a query asks whether it is to end. Counted, not timed: at least once for so many rows that pass.
#include <gtest/gtest.h>

#include "runtime/window_frame.h"
#include "testing/session.h"

namespace scyper::query {
namespace {

constexpr uint64_t kRows = 200'000;
constexpr uint64_t kRowsPerPoll = 1 << 16;  // about two milliseconds of the slowest of these loops

class PollTest : public testing::TestWithParam<ExecutionMode> {
 protected:
  static std::unique_ptr<Session> make_session(size_t spill_from_bytes = 0) {
    DatabaseOptions options;
    options.execution = GetParam();
    options.spill_from_bytes = spill_from_bytes;
    auto session = std::make_unique<Session>(options);
    Status status = session->script(
        "CREATE TABLE t (n integer PRIMARY KEY, same integer NOT NULL, text varchar(10) NOT NULL);"
        "CREATE TABLE s (n integer PRIMARY KEY, same integer NOT NULL)");
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(session
                    ->script("INSERT INTO t SELECT i, 1, 't' || i % 100 FROM generate_series(1, " +
                             std::to_string(kRows) + ") i; INSERT INTO s SELECT i, 1 FROM generate_series(1, 2000) i")
                    .ok());
    return session;
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, PollTest, testing::Values(ExecutionMode::kInterpreted, ExecutionMode::kQuick));

struct Loop {
  const char* sql;
  uint64_t rows;  // that pass through its longest loop
};
constexpr Loop kLoops[] = {
    {"SELECT count(*) FROM t WHERE n % 7 = 8", kRows},                                    // a scan
    {"SELECT count(*) FROM t a JOIN t b ON a.n = b.n", 3 * kRows},                        // build, link, probe
    {"SELECT count(*) FROM s a JOIN s b ON a.same = b.same AND a.n > b.n", 2000 * 2000},  // one long chain
    {"SELECT count(*) FROM s a JOIN s b ON a.n > b.n + 1", 2000 * 2000},                  // nested loop
    {"SELECT count(*) FROM s WHERE NOT EXISTS (SELECT FROM s b WHERE b.same = s.same AND b.n = s.n + 5000)", 2000},
    {"SELECT sum(c) FROM (SELECT n, count(*) c FROM t GROUP BY n) x", 2 * kRows},             // groups and their output
    {"SELECT count(*) FROM (SELECT n FROM t ORDER BY text, n DESC OFFSET 1) x", 3 * kRows},   // sort, merge, output
    {"SELECT n FROM t ORDER BY text DESC, n LIMIT 3", 2 * kRows},                             // the top ones
    {"SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY text) r FROM t) x", 3 * kRows},  // window
    {"SELECT sum(r) FROM (SELECT lag(n) OVER (PARTITION BY text ORDER BY n) r FROM t) x", 3 * kRows},
    {"SELECT sum(r) FROM (SELECT sum(n) OVER (ORDER BY n) r FROM t) x", 3 * kRows},
    {"SELECT count(*) FROM (SELECT n FROM t UNION SELECT n + 1 FROM t) x", 2 * kRows},  // set operations
    {"SELECT count(*) FROM (SELECT n FROM t UNION ALL SELECT n FROM t) x", 4 * kRows},
    {"SELECT count(*) FROM generate_series(1, 300000) g", 300'000},
};

TEST_P(PollTest, EveryLoopAsks) {
  auto session = make_session();
  for (const Loop& loop : kLoops) EXPECT_GE(session->count_polls(loop.sql), loop.rows / kRowsPerPoll) << loop.sql;
}

TEST_P(PollTest, OnItsWayToDiskToo) {
  auto session = make_session(1);
  session->set_spill(size_t{256} << 10);
  for (const Loop& loop : kLoops) EXPECT_GE(session->count_polls(loop.sql), loop.rows / kRowsPerPoll) << loop.sql;
}

// Loops of the runtime over one partition, each by itself: those around them ask for each row.
TEST(WindowPollTest, EveryLoopOverAPartitionAsks) {
  constexpr int64_t kPartition = 1 << 18;
  struct Tuple {
    int64_t value;
  };
  std::vector<Tuple> tuples(kPartition);
  std::vector<char*> rows;
  std::vector<int64_t> numbers(kPartition), begins(kPartition), ends(kPartition);
  for (int64_t i = 0; i < kPartition; i++) {
    tuples[static_cast<size_t>(i)].value = i;
    rows.push_back(reinterpret_cast<char*>(&tuples[static_cast<size_t>(i)]));
    numbers[static_cast<size_t>(i)] = i;
  }
  ScratchArena scratch(size_t{256} << 20);
  ExecContext context;
  context.scratch = &scratch;
  struct Counter {
    ExecContext* context;
    int64_t polls = 0;
  } counter{&context};
  context.safepoint_owner = &counter;
  context.safepoint = [](void* owner) {
    auto* self = static_cast<Counter*>(owner);
    self->polls++;
    self->context->interrupt.fetch_or(kSafepointBit);
  };
  context.interrupt = kSafepointBit;
  WindowRun run;
  run.partition = rows.data();
  run.count = kPartition;
  run.peer_begin = run.group = run.group_begin = numbers.data();
  run.peer_end = ends.data();
  run.groups = kPartition;
  run.frame_begin = begins.data();
  run.frame_end = ends.data();
  WindowSpec spec{};
  spec.value = spec.key = spec.start_offset = {make_type(TypeId::kInt8), 0, -1, 8, 0};
  auto polls_of = [&](FrameMode mode, FrameBound start, WindowMethod method) {
    spec.frame.mode = mode;
    spec.frame.start = start;
    spec.frame.end = FrameBound::kUnboundedFollowing;
    counter.polls = 0;
    using Aggregate = int32_t (*)(ExecContext*, WindowRun*, const WindowSpec*, int64_t);
    EXPECT_EQ(
        reinterpret_cast<Aggregate>(k_rt_window_aggregate.address)(&context, &run, &spec, static_cast<int64_t>(method)),
        0);
    return counter.polls;
  };
  constexpr int64_t kEach = kPartition / kWindowRowsPerPoll;  // per loop
  EXPECT_GE(polls_of(FrameMode::kRows, FrameBound::kCurrentRow, WindowMethod::kStep), 2 * kEach);
  EXPECT_GE(polls_of(FrameMode::kRows, FrameBound::kCurrentRow, WindowMethod::kSum), 3 * kEach);
  EXPECT_GE(polls_of(FrameMode::kRows, FrameBound::kCurrentRow, WindowMethod::kExtreme), 4 * kEach - 1);
  EXPECT_GE(polls_of(FrameMode::kRange, FrameBound::kPreceding, WindowMethod::kStep), 3 * kEach);
  context.interrupt = static_cast<uint32_t>(Interrupt::kCancel);
  EXPECT_NE(find_frames(&context, &run, spec), 0);
  EXPECT_EQ(context.error.sqlstate, "57014");
}

}  // namespace
}  // namespace scyper::query
