#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/enum_type.h"
#include "storage/type.h"

namespace scyper::query {

struct Routine;

// CREATE DOMAIN: one immutable version of it. Values are those of the base type: what is of a domain (columns,
// parameters, variables) keeps the domain's number beside its type, and what becomes of one goes through `check`.
struct Domain {
  struct Check {
    std::string name;
    std::string expression;  // SQL, of VALUE
    bool is_validated = true;
  };
  uint32_t id = 0;           // never given twice; 0: no domain
  std::string name;          // key (base/object_name.h)
  SqlType base;              // of whatever domains it is made of
  uint32_t parent = 0;       // the domain that it is made of; 0: none
  std::string default_text;  // empty = NULL
  bool not_null = false;
  std::vector<Check> checks;  // by name
  // A function of what is to become a value of it: gives it back, or fails as the checks of all its domains say. Null:
  // there is nothing to check.
  std::shared_ptr<const Routine> check;
};

constexpr uint32_t kDomainsMax = 100'000;  // numbers that the catalogs of tools have room for

using EnumTypes = std::map<std::string, std::shared_ptr<const EnumType>, std::less<>>;
using Domains = std::map<std::string, std::shared_ptr<const Domain>, std::less<>>;

// The types of a catalog. It outlives this.
struct UserTypes {
  const EnumTypes* enums = nullptr;
  const Domains* domains = nullptr;
};

}  // namespace scyper::query
