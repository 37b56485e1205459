#include "base/metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace scyper {
namespace {

TEST(Metrics, CountsFromManyThreads) {
  MetricsRegistry registry;
  Counter& counter = registry.counter("scyper_test_total", "t");
  Timer& timer = registry.timer("scyper_test_seconds", "t");
  std::vector<std::thread> threads;
  for (int t = 0; t < 20; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) counter.add(2);
      timer.record_ns(1'000);
      timer.record_ns(1'001);
      timer.record_ns(20'000'000'000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), 40'000u);
  const Timer::Reading reading = timer.read();
  EXPECT_EQ(reading.count, 60u);
  EXPECT_EQ(reading.counts[0], 20u);
  EXPECT_EQ(reading.counts[1], 20u);
  EXPECT_EQ(reading.counts.back(), 20u);
  EXPECT_EQ(reading.sum_ns, 20u * (1'000 + 1'001 + 20'000'000'000));
}

TEST(Metrics, SameNameAndLabelsIsTheSameMetric) {
  MetricsRegistry registry;
  Counter& a = registry.counter("scyper_a_total", "a", {{"x", "1"}, {"y", "2"}});
  Counter& b = registry.counter("scyper_a_total", "a", {{"y", "2"}, {"x", "1"}});
  Counter& c = registry.counter("scyper_a_total", "a", {{"x", "2"}});
  EXPECT_EQ(&a, &b);
  EXPECT_NE(&a, &c);
  a.add();
  c.add(5);
  const std::vector<MetricFamily> families = registry.collect();
  ASSERT_EQ(families.size(), 1u);
  ASSERT_EQ(families[0].samples.size(), 2u);
  EXPECT_EQ(families[0].samples[0].value, 1.0);
  EXPECT_EQ(families[0].samples[1].value, 5.0);
  EXPECT_EQ(families[0].samples[1].labels, (MetricLabels{{"x", "2"}}));
}

TEST(Metrics, ObservedValuesEndWithTheirRegistration) {
  MetricsRegistry registry;
  Gauge& gauge = registry.gauge("scyper_b", "b");
  gauge.set(7);
  gauge.add(-10);
  {
    auto registration = registry.observe("scyper_a", "a", MetricType::kGauge, {}, [] { return 1.5; });
    MetricsRegistry::Registration moved = std::move(registration);
    const std::vector<MetricFamily> families = registry.collect();
    ASSERT_EQ(families.size(), 2u);
    EXPECT_EQ(families[0].name, "scyper_a");
    EXPECT_EQ(families[0].samples[0].value, 1.5);
    EXPECT_EQ(families[1].samples[0].value, -3.0);
  }
  EXPECT_EQ(registry.collect().size(), 1u);
  EXPECT_EQ(gauge.value(), -3);
}

// Guarded by absl::Mutex: also shows that ThreadSanitizer knows that mutex (absl_mutex_tsan.cc).
TEST(Metrics, RegistersFromManyThreads) {
  MetricsRegistry registry;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&registry, t] {
      for (int i = 0; i < 100; ++i) {
        registry.counter("scyper_a_total", "a", {{"i", std::to_string(i)}}).add();
        auto registration =
            registry.observe("scyper_b", "b", MetricType::kGauge, {{"t", std::to_string(t)}}, [] { return 1.0; });
        if (i % 10 == 0) {
          EXPECT_FALSE(registry.collect().empty());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  double sum = 0;
  const std::vector<MetricFamily> families = registry.collect();
  for (const MetricSample& sample : families.at(0).samples) sum += sample.value;
  EXPECT_EQ(sum, 800.0);
}

TEST(MetricsDeathTest, OneNameHasOneType) {
  MetricsRegistry registry;
  registry.counter("scyper_a_total", "a");
  EXPECT_DEATH(registry.gauge("scyper_a_total", "a"), "type");
}

}  // namespace
}  // namespace scyper
