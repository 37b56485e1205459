#include "tpcc_flags.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "client/ch/outcome.h"

namespace scyper::bench {

void TpccFlags::add_to(CLI::App& app) {
  app.add_option("--warehouses", warehouses, "Warehouses")->check(CLI::Range(1, 4000))->capture_default_str();
  app.add_option("--seconds", seconds, "How long to measure")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--warmup-seconds", warm_up_seconds, "How long to run before measuring")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--transactions", transactions, "Run so many and print a digest of what they answered")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", seed, "Seed of the inputs")->capture_default_str();
  app.add_option("--scale", scale, "full, or tiny: 1,000 items, 120 customers and orders per district")
      ->check(CLI::IsMember({"full", "tiny"}))
      ->capture_default_str();
  app.add_option("--profile", profile, "The data")
      ->check(CLI::IsMember({"spec", "varied", "census"}))
      ->capture_default_str();
  app.add_option("--remote", remote,
                 "Partition-crossing: spec (1 % of the lines, 15 % of the payments), none, or the percentage of "
                 "NewOrder and Payment that touch a second warehouse")
      ->check([](const std::string& text) {
        if (text == "spec" || text == "none") return std::string();
        return CLI::Range(0.0, 100.0)(const_cast<std::string&>(text));
      })
      ->capture_default_str();
  app.add_option("--dump", dump, "With --transactions: write every outcome as a line of this file");
  app.add_flag("--digest", digest, "With --transactions, where it is the default");
  app.add_option("-o,--output", output, "text or json")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
}

ch::GeneratorOptions TpccFlags::generator_options() const {
  ch::GeneratorOptions options;
  options.scale.warehouses = warehouses;
  if (scale == "tiny") options.scale = ch::Scale::tiny(warehouses);
  if (profile == "varied") options.profile = ch::Profile::kVaried;
  if (profile == "census") options.profile = ch::Profile::kCensus;
  return options;
}

ch::MixOptions TpccFlags::mix_options() const {
  ch::MixOptions options;
  options.seed = seed;
  options.spec_remote = remote == "spec";
  if (remote != "spec" && remote != "none") options.crossing_percent = std::stod(remote);
  return options;
}

OutcomeWriter::OutcomeWriter(const TpccFlags& flags) {
  if (flags.dump.empty()) return;
  file_.open(flags.dump, std::ios::trunc);
  if (!file_) {
    std::cerr << "cannot write " << flags.dump << "\n";
    std::exit(1);
  }
}

std::string& OutcomeWriter::begin_line() {
  line_.clear();
  return line_;
}

void OutcomeWriter::end_line() {
  digest_ = ch::extend_digest(digest_, line_);
  if (file_.is_open()) file_ << line_ << '\n';
}

std::string OutcomeWriter::digest() const { return ch::digest_text(digest_); }

int64_t first_run_time() {
  constexpr int64_t kYear = int64_t{365} * 86'400 * 1'000'000;
  return ch::kRunTimeFrom + 10 * kYear;
}

void print_result(const nlohmann::json& result, const TpccFlags& flags) {
  if (flags.output == "json") {
    std::cout << result.dump() << "\n";
    return;
  }
  for (const auto& [key, value] : result.items()) {
    if (!value.is_object()) std::cout << key << ": " << value.dump() << "\n";
  }
  for (const auto& [key, value] : result.items()) {
    if (!value.is_object()) continue;
    std::cout << key << ":\n";
    for (const auto& [name, entry] : value.items()) std::cout << "  " << name << ": " << entry.dump() << "\n";
  }
}

}  // namespace scyper::bench
