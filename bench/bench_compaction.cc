// The figures of "Compacting Transactional Data" (VLDB 2012) that storage alone can show: how small frozen vectors are
// (5.5), sums and lookups on runs (5.6.2, Fig. 13), prefix scans (5.6.3, Fig. 14), and what decoding costs per scheme.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "compaction_figures.h"

int main(int argc, char** argv) {
  CLI::App app("Figures of compaction: storage alone");
  scyper::bench::CompactionFlags flags;
  std::string output = "table";
  app.add_option("--orders", flags.orders, "orders of the sizes (ten lines each)")->capture_default_str();
  app.add_option("--values", flags.values, "integers that Fig. 13 sums (the paper: 500,000,000)")
      ->capture_default_str();
  app.add_option("--lookups", flags.lookups, "point lookups")->capture_default_str();
  app.add_option("--lines", flags.lines, "order lines of the prefix scans (the paper: 3,600,000)")
      ->capture_default_str();
  app.add_option("--repeat", flags.repeat, "the best of so many runs")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_option("-o,--output", output)->check(CLI::IsMember({"table", "json"}))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  nlohmann::ordered_json out;
  out["sizes"] = scyper::bench::measure_sizes(flags);
  out["runs"] = scyper::bench::measure_runs(flags);
  out["prefix_scans"] = scyper::bench::measure_prefix_scans(flags);
  out["decoding"] = scyper::bench::measure_decoding(flags);
  if (output == "json") {
    std::printf("%s\n", out.dump(2).c_str());
    return 0;
  }
  for (const auto& [section, rows] : out.items()) {
    std::printf("%s\n", section.c_str());
    for (const auto& row : rows) {
      for (const auto& [name, value] : row.items()) std::printf("  %s %s", name.c_str(), value.dump().c_str());
      std::printf("\n");
    }
  }
  return 0;
}
