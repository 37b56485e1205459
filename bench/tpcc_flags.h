#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "client/ch/generator.h"
#include "client/ch/mix.h"

#include <nlohmann/json_fwd.hpp>

namespace CLI {
class App;
}

namespace scyper::bench {

// What the TPC-C programs have in common on their command lines.
struct TpccFlags {
  int32_t warehouses = 5;
  double seconds = 10;
  double warm_up_seconds = 1;
  int64_t transactions = 0;  // above 0: this many, with a digest of their outcomes, instead of a timed run
  uint64_t seed = 1;
  std::string scale = "full";
  std::string profile = "spec";
  std::string remote = "spec";
  bool digest = true;
  std::string dump;
  std::string output = "text";

  void add_to(CLI::App& app);
  ch::GeneratorOptions generator_options() const;
  ch::MixOptions mix_options() const;
};

// Collects the canonical lines of a counted run: their digest and, if asked, a file of them.
class OutcomeWriter {
 public:
  explicit OutcomeWriter(const TpccFlags& flags);
  std::string& begin_line();
  void end_line();
  std::string digest() const;

 private:
  std::ofstream file_;
  std::string line_;
  uint64_t digest_ = 0;
};

// now() of the first transaction of a run without a clock: late enough to be masked (client/ch/outcome.h).
int64_t first_run_time();

void print_result(const nlohmann::json& result, const TpccFlags& flags);

}  // namespace scyper::bench
