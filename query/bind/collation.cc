#include "bind/collation.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace scyper::query {

Status check_collation_name(std::string_view name) {
  constexpr std::string_view kKnown[] = {"C", "POSIX", "default", "ucs_basic", "C.utf8", "C.UTF-8"};
  if (std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown)) return Status();
  const std::string quoted = "\"" + std::string(name) + "\"";
  if (name.ends_with("-x-icu")) return sql_error("0A000", "collation " + quoted + " is not supported");
  return sql_error("42704", "collation " + quoted + " for encoding \"UTF8\" does not exist");
}

}  // namespace scyper::query
