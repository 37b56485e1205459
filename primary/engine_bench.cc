// What the engine adds to each transaction: calls of a procedure that does nothing, by batch size and workers.
//   engine_bench [seconds per figure]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "testing/bank.h"

namespace scyper::primary {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchCall : Transaction {
  std::atomic<uint32_t>* waiting = nullptr;  // of its batch
};

// Keeps `kWindow` batches out, as a client of a stream does.
class Submitter {
 public:
  static constexpr size_t kWindow = 8;

  Submitter(Engine* engine, std::shared_ptr<const Statement> statement,
            const std::vector<std::vector<int64_t>>& arguments, size_t batch)
      : engine_(engine), batch_(batch), calls_(kWindow * batch), waiting_(kWindow) {
    for (size_t i = 0; i < calls_.size(); ++i) {
      BenchCall& call = calls_[i];
      call.statement = statement;
      for (int64_t value : arguments[i % arguments.size()]) call.arguments.push_back(int_datum(value));
      call.waiting = &waiting_[i / batch];
      call.done = [](Transaction* transaction) {
        static_cast<BenchCall*>(transaction)->waiting->fetch_sub(1, std::memory_order_release);
      };
    }
  }

  uint64_t run(Clock::time_point end) {
    uint64_t finished = 0;
    std::vector<Transaction*> batch(batch_);
    for (size_t i = 0; Clock::now() < end; i = (i + 1) % kWindow) {
      wait_for(i);
      finished += batch_;
      for (size_t j = 0; j < batch_; ++j) batch[j] = &calls_[i * batch_ + j];
      waiting_[i].store(static_cast<uint32_t>(batch_), std::memory_order_relaxed);
      engine_->submit(batch);
    }
    for (size_t i = 0; i < kWindow; ++i) wait_for(i);
    return finished;
  }

 private:
  void wait_for(size_t i) {
    for (int spins = 0; waiting_[i].load(std::memory_order_acquire) != 0; ++spins) {
      if (spins > 200) std::this_thread::yield();
      spin_pause();
    }
  }

  Engine* const engine_;
  const size_t batch_;
  std::vector<BenchCall> calls_;
  std::vector<std::atomic<uint32_t>> waiting_;
};

void measure(const char* what, Bank* bank, const char* sql, std::vector<std::vector<int64_t>> arguments, size_t batch,
             double seconds) {
  Submitter submitter(&bank->engine(), bank->prepare(sql), arguments, batch);
  submitter.run(Clock::now() + std::chrono::milliseconds(100));
  uint64_t crossing = bank->engine().counters().crossing.load();
  auto start = Clock::now();
  uint64_t finished =
      submitter.run(start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
  double elapsed_ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  crossing = bank->engine().counters().crossing.load() - crossing;
  std::printf("%-22s workers %u batch %4zu: %8.0f ns each, %9.0f /s, %4.1f %% crossing\n", what,
              bank->engine().options().workers, batch, elapsed_ns / static_cast<double>(finished),
              static_cast<double>(finished) * 1e9 / elapsed_ns,
              100.0 * static_cast<double>(crossing) / static_cast<double>(finished));
}

void run_all(double seconds) {
  for (uint32_t workers : {1u, 2u}) {
    for (RedoMode redo : {RedoMode::kLogical, RedoMode::kPhysical}) {
      EngineOptions options = Bank::small_options();
      options.workers = workers;
      options.redo = redo;
      options.execution = ExecutionMode::kQuick;
      Bank bank(options);
      std::vector<std::vector<int64_t>> branches, deposits, moves;
      for (int64_t i = 0; i < 1000; ++i) {
        int64_t b = i % Bank::kBranches;
        branches.push_back({b});
        deposits.push_back({b, i % Bank::kAccounts, 1});
        moves.push_back({b, 1, i % 10 == 0 ? bank.branch_elsewhere(static_cast<int32_t>(b)) : b, 2, 1});
      }
      if (redo == RedoMode::kLogical) {
        for (size_t batch : {1, 4, 16, 64, 256})
          measure("nothing", &bank, "CALL nothing($1)", branches, batch, seconds);
      }
      const char* name = redo == RedoMode::kLogical ? "deposit, logical" : "deposit, physical";
      for (size_t batch : {16, 256}) measure(name, &bank, "CALL deposit($1, $2, $3)", deposits, batch, seconds);
      for (size_t batch : {16, 256})
        measure("move, 10 % crossing", &bank, "CALL move($1, $2, $3, $4, $5)", moves, batch, seconds);
    }
  }
}

// Push and take by one thread: what the queue itself costs where nobody contends and nobody sleeps.
void measure_queue() {
  for (size_t batch : {1, 16, 64}) {
    TransactionQueue queue(1 << 20);
    std::vector<Transaction> transactions(batch);
    constexpr size_t kRounds = 200'000;
    auto start = Clock::now();
    for (size_t round = 0; round < kRounds; ++round) {
      Chain chain;
      for (Transaction& transaction : transactions) chain.add(&transaction);
      queue.reserve(chain.count);
      queue.push(chain);
      for (Transaction* taken = queue.take_all(); taken != nullptr; taken = taken->next) queue.finish();
    }
    double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    std::printf("queue alone                      batch %4zu: %8.1f ns each\n", batch,
                ns / static_cast<double>(kRounds * batch));
  }
}

void show_latencies(const char* what, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  std::printf("%s: p50 %.1f us, p99 %.1f us\n", what, us[us.size() / 2], us[us.size() * 99 / 100]);
}

void measure_execute() {
  EngineOptions options = Bank::small_options();
  options.execution = ExecutionMode::kQuick;
  Bank bank(options);
  std::vector<double> us;
  for (int64_t i = 0; i < 5000; ++i) {
    Datum parameters[2] = {int_datum(i % Bank::kBranches), int_datum(1)};
    query::ResultSet result;
    auto start = Clock::now();
    Status status =
        bank.engine().execute("SELECT balance FROM accounts WHERE branch = $1 AND id = $2", parameters, &result);
    if (!status.ok()) std::abort();
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  show_latencies("execute() of a cached point statement", std::move(us));
}

// Point statements as a shell sends them: each with literals of its own.
void measure_ad_hoc() {
  EngineOptions options = Bank::small_options();
  Bank bank(options);
  std::vector<double> us;
  uint64_t compiled = bank.engine().counters().statements_compiled.load();
  for (int64_t i = 0; i < 5000; ++i) {
    std::string sql = "UPDATE accounts SET balance = balance + " + std::to_string(i) +
                      " WHERE branch = " + std::to_string(i % Bank::kBranches) + " AND id = 1";
    auto start = Clock::now();
    if (!bank.engine().execute_script(sql, {}).ok()) std::abort();
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  show_latencies("execute_script() of ad-hoc point updates", std::move(us));
  std::printf("  programs compiled: %llu\n",
              static_cast<unsigned long long>(bank.engine().counters().statements_compiled.load() - compiled));
}

}  // namespace
}  // namespace scyper::primary

int main(int argc, char** argv) {
  scyper::primary::measure_queue();
  scyper::primary::run_all(argc > 1 ? std::atof(argv[1]) : 0.5);
  scyper::primary::measure_execute();
  scyper::primary::measure_ad_hoc();
}
