#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

// The log has a definition's text, a zero byte, entries, and row changes (docs/redo_format.md, "Values of a
// definition"). Each command of ALTER TABLE that has drawn the values of a column has an entry.
namespace scyper::query {

struct Catalog;
class Definer;
struct DefinitionRun;

// `append` appends the values (storage/column_values.h).
void append_values_entry(uint32_t command, const std::function<void(std::string*)>& append, std::string* out);
// Takes all entries off the front of `rest`, which follows the zero byte. A damaged entry stays: it is no row change.
std::string_view take_values_entries(std::string_view* rest);
// The entries that a log has of a definition (DefinitionRun::log).
std::string_view values_of_log(std::string_view log);
// The values of a command; none: it has drawn nothing.
std::optional<std::string_view> find_values_entry(std::string_view entries, uint32_t command);
// Appends to the run's log the values that the definition has drawn, and the states of its sequences. next: the catalog
// that it makes; null: none. The definer forgets the values. 53400: they take more than row_bytes_max.
Status log_values(Definer* definer, const Catalog* next, DefinitionRun* run);

}  // namespace scyper::query
