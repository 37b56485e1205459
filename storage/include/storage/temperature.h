#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scyper::storage {

class Table;

// What of a table is hot, cooling, cold and frozen (docs/compaction.md), and what it takes. Without indexes.
struct TableTemperature {
  struct Part {
    uint64_t chunks = 0;
    uint64_t tuples = 0;
  };
  Part hot, cooling, cold, frozen;
  uint64_t hot_bytes = 0;         // chunks that are not frozen, and what their cells refer to
  uint64_t frozen_bytes = 0;      // images
  uint64_t dictionary_bytes = 0;  // of all frozen chunks together
  uint64_t thawed_bytes = 0;      // of frozen chunks if they were hot, without what their cells would refer to
  uint64_t invalid_tuples = 0;    // positions of frozen chunks that have none, and
  uint64_t invalid_ranges = 0;    // how many ranges they are
  uint64_t tiered_bytes = 0;      // of vectors of frozen chunks whose data is in the tier (docs/tiering.md)

  // Of frozen chunks that were asked for the table's hot data views: in those that hold tuples of one, and of none.
  uint64_t relevant_tuples = 0;
  uint64_t irrelevant_tuples = 0;

  // Of the frozen chunks.
  struct Attribute {
    std::string name;
    uint64_t frozen_bytes = 0;
    uint64_t thawed_bytes = 0;
    uint64_t dictionary_bytes = 0;  // of the relation's dictionary
    uint64_t dictionary_values = 0;
  };
  std::vector<Attribute> attributes;  // by column; none while no chunk can be frozen
};

// While nobody changes the table.
TableTemperature temperature_of(const Table& table);

}  // namespace scyper::storage
