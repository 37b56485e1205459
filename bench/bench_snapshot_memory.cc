// HyPer's curves of memory under snapshots (ICDE 2011, Fig. 10): (A) transactions alone, (B) with one snapshot from the
// beginning, (C) with a snapshot that is renewed every so many transactions. Physical pages: the sum over parent and
// children of what /proc/<pid>/smaps_rollup calls proportional.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench_node.h"
#include "query/queries.h"

namespace scyper::client {
namespace {

struct Options {
  CommonOptions common;
  ChOptions ch;
  uint64_t transactions = 2'000'000;
  uint64_t step = 100'000;
  uint64_t renew = 500'000;  // as in the paper
  std::string pages;         // empty = both
  std::string output = "table";
};

double physical_mb() {
  uint64_t bytes = 0;
  auto own = storage::memory_of_process(getpid());
  if (own.ok()) bytes += own->proportional_bytes;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (pid_t pid; children >> pid;) {
      auto memory = storage::memory_of_process(pid);
      if (memory.ok()) bytes += memory->proportional_bytes;
    }
  }
  return static_cast<double>(bytes) / (1 << 20);
}

struct Curve {
  std::string name;
  std::vector<double> mb;  // at 0, step, 2 * step, ...
};

StatusOr<Curve> measure(const Options& options, const std::string& pages, char which) {
  CommonOptions common = options.common;
  common.node_settings.emplace_back("pages", pages);
  ch::Generator generator(generator_options(options.ch));
  SCYPER_ASSIGN_OR_RETURN(auto node, start_node(common, options.ch, /*has_server=*/false));
  auto session = local_session(node->engine.get());
  ChDatabaseOptions load = database_options(options.ch);
  load.is_quiet = true;
  SCYPER_RETURN_IF_ERROR(create_ch_database(session.get(), generator, load).status());
  Curve curve;
  curve.name = std::string(1, which);
  if (which != 'A') SCYPER_RETURN_IF_ERROR(session->pin({}).status());
  curve.mb.push_back(physical_mb());
  OltpOptions oltp;
  oltp.transactions = options.step;
  for (uint64_t done = options.step; done <= options.transactions; done += options.step) {
    oltp.mix.seed = done;
    SCYPER_RETURN_IF_ERROR(run_oltp_in_process(node->engine.get(), generator, oltp, 1, {}).status());
    if (which == 'C' && done % options.renew == 0) SCYPER_RETURN_IF_ERROR(session->pin({}).status());
    curve.mb.push_back(physical_mb());
  }
  return curve;
}

void print(const Options& options, const std::string& pages, const std::vector<Curve>& curves) {
  std::printf("\n%s pages, %d warehouses; MB of physical memory\n", pages.c_str(), options.ch.warehouses);
  std::printf("%14s %12s %12s %12s %14s\n", "transactions", "A no snapshot", "B one", "C renewed", "B above A");
  for (size_t i = 0; i < curves[0].mb.size(); ++i) {
    std::printf("%14llu %12.0f %12.0f %12.0f %14.0f\n", static_cast<unsigned long long>(i * options.step),
                curves[0].mb[i], curves[1].mb[i], curves[2].mb[i], curves[1].mb[i] - curves[0].mb[i]);
  }
  std::printf(
      "The paper's curves: A grows with the new data; B lies above it by the pages that transactions change, which "
      "settles early, and runs parallel; C swings between the two, back near A after every renewal.\n");
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  Options options;
  options.ch.warehouses = 5;
  options.ch.is_quiet = true;
  options.common.node_settings = {{"workers", "1"}, {"snapshot_age_max", "1h"}, {"snapshot_memory", "64GB"}};
  CLI::App app("HyPer's memory curves under snapshots (ICDE 2011, Fig. 10).");
  app.add_option("--warehouses", options.ch.warehouses)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--transactions", options.transactions)->capture_default_str();
  app.add_option("--step", options.step, "transactions between two points")->capture_default_str();
  app.add_option("--renew", options.renew, "transactions after which curve C renews its snapshot")
      ->capture_default_str();
  app.add_option("--pages", options.pages, "default: both")->check(CLI::IsMember({"small", "huge"}));
  app.add_option("-o,--output", options.output)->check(CLI::IsMember({"table", "json"}))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  nlohmann::ordered_json out = {
      {"warehouses", options.ch.warehouses}, {"step", options.step}, {"renew", options.renew}};
  for (const std::string pages : {"small", "huge"}) {
    if (!options.pages.empty() && options.pages != pages) continue;
    std::vector<Curve> curves;
    for (char which : {'A', 'B', 'C'}) {
      auto curve = measure(options, pages, which);
      if (!curve.ok()) return show_failure(curve.status(), options.output == "json");
      curves.push_back(*std::move(curve));
      out[pages][curves.back().name] = curves.back().mb;
    }
    if (options.output == "table") print(options, pages, curves);
  }
  if (options.output == "json") std::printf("%s\n", out.dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace scyper::client

int main(int argc, char** argv) { return scyper::client::run(argc, argv); }
