#include "etcd_measured.h"

#include <chrono>
#include <string>
#include <type_traits>
#include <utility>

namespace scyper::consensus {

namespace {

constexpr char kCalls[] = "scyper_etcd_calls_total";
constexpr char kCallsHelp[] = "Calls of etcd by outcome: answered (also that something is not as wished), failed.";

const Status& status_of(const Status& status) { return status; }
template <typename T>
const Status& status_of(const StatusOr<T>& result) {
  return result.status();
}

class MeasuredEtcd final : public Etcd {
 public:
  MeasuredEtcd(std::unique_ptr<Etcd> etcd, MetricsRegistry* metrics)
      : etcd_(std::move(etcd)),
        answered_(metrics->counter(kCalls, kCallsHelp, {{"outcome", "answered"}})),
        failed_(metrics->counter(kCalls, kCallsHelp, {{"outcome", "failed"}})),
        duration_(metrics->timer("scyper_etcd_call_duration_seconds", "What calls of etcd took that were answered.")) {}

  StatusOr<Range> read(const std::string& prefix) override {
    return note([&] { return etcd_->read(prefix); });
  }
  Status put(const EtcdTxn::Put& put) override {
    return note([&] { return etcd_->put(put); });
  }
  StatusOr<int64_t> remove(const std::string& prefix) override {
    return note([&] { return etcd_->remove(prefix); });
  }
  StatusOr<Outcome> txn(const EtcdTxn& txn) override {
    return note([&] { return etcd_->txn(txn); });
  }
  StatusOr<Granted> grant(int64_t ttl_s) override {
    return note([&] { return etcd_->grant(ttl_s); });
  }
  StatusOr<int64_t> keep_alive(int64_t lease) override {
    return note([&] { return etcd_->keep_alive(lease); });
  }
  Status revoke(int64_t lease) override {
    return note([&] { return etcd_->revoke(lease); });
  }
  Status watch(const std::string& prefix, const std::function<void()>& on_change) override {
    return etcd_->watch(prefix, on_change);
  }
  void cancel() override { etcd_->cancel(); }

 private:
  template <typename Call>
  std::invoke_result_t<Call> note(const Call& call) {
    const auto start = std::chrono::steady_clock::now();
    auto result = call();
    const Status& status = status_of(result);
    if (status.ok() || absl::IsNotFound(status)) {
      answered_.add();
      duration_.record_ns(static_cast<uint64_t>((std::chrono::steady_clock::now() - start).count()));
    } else if (!absl::IsCancelled(status)) {
      failed_.add();
    }
    return result;
  }

  const std::unique_ptr<Etcd> etcd_;
  Counter& answered_;
  Counter& failed_;
  Timer& duration_;
};

}  // namespace

std::unique_ptr<Etcd> measure_etcd(std::unique_ptr<Etcd> etcd, MetricsRegistry* metrics) {
  return std::make_unique<MeasuredEtcd>(std::move(etcd), metrics);
}

}  // namespace scyper::consensus
