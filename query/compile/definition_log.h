#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

// What the log has of a definition behind its text and a zero byte (docs/redo_format.md, "Values of a definition"): an
// entry for each command of ALTER TABLE that has drawn the values of a column. Row changes follow.
namespace scyper::query {

// `append` appends the values (storage/column_values.h).
void append_values_entry(uint32_t command, const std::function<void(std::string*)>& append, std::string* out);
// Takes all entries off the front of what follows the zero byte. Damaged ones stay there: they are no row changes.
std::string_view take_values_entries(std::string_view* rest);
// The entries that a log has of a definition (DefinitionRun::log).
std::string_view values_of_log(std::string_view log);
// Those of one command; none: it has drawn nothing.
std::optional<std::string_view> find_values_entry(std::string_view entries, uint32_t command);

}  // namespace scyper::query
