#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "types/value_error.h"

// PostgreSQL as the judge of our functions. A test collects pairs of an SQL expression and what our code makes of it;
// check() evaluates all expressions in few queries and reports every difference.
namespace scyper::query {

class Oracle {
 public:
  Oracle();
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  // Each expression's text output as "=text", "null", or "!SQLSTATE message|detail|hint".
  std::vector<std::string> evaluate(const std::vector<std::string>& expressions);
  // A statement that must succeed.
  void execute(const std::string& sql);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The one of this process.
Oracle& oracle();

// Our results in the oracle's form.
std::string value_outcome(std::string_view text);
std::string error_outcome(ValueError error, const SqlType& type = {}, std::string_view text = {});

class Comparison {
 public:
  void expect(std::string expression, std::string outcome);
  void check();

 private:
  std::vector<std::string> expressions_;
  std::vector<std::string> outcomes_;
};

// Seeded by test_seed().
std::mt19937_64& random_source();
inline uint64_t random_below(uint64_t bound) { return random_source()() % bound; }
// 'text' as an SQL literal.
std::string sql_quote(std::string_view text);

}  // namespace scyper::query
