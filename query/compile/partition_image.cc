#include "compile/partition_image.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace scyper::query {

namespace {

template <typename IO>
void walk(IO& io, Partitioning& partitioning) {
  io.number(partitioning.by);
  partitioning.keys.resize(io.count(partitioning.keys.size()));
  for (Partitioning::Key& key : partitioning.keys) {
    io.text(key.expression);
    io.text(key.column);
    walk(io, key.type);
  }
}

template <typename IO>
void walk(IO& io, std::vector<PartitionBound::Value>& values) {
  values.resize(io.count(values.size()));
  for (PartitionBound::Value& value : values) {
    io.number(value.limit);
    walk_bool(io, value.is_null);
    io.text(value.text);
  }
}

template <typename IO>
void walk(IO& io, DeclaredPartition& partition) {
  walk_id(io, partition.id);
  walk_id(io, partition.root);
  walk_id(io, partition.parent);
  walk_bool(io, partition.bound.is_default);
  walk(io, partition.bound.values);
  walk(io, partition.bound.from);
  walk(io, partition.bound.to);
  walk(io, partition.partitioning);
  walk(io, partition.checks);
}

}  // namespace

void encode_partitions(ImageWriter* out, const Catalog& catalog) {
  for (const auto& [name, table] : catalog.tables) {
    const auto rules = catalog.rules.find(table->schema().id);
    Partitioning written = rules == catalog.rules.end() ? Partitioning() : rules->second.partitioning;
    walk(*out, written);
  }
  for (const auto& [name, view] : catalog.views) {
    bool is_partition = view->partition != nullptr;
    walk_bool(*out, is_partition);
    if (!is_partition) continue;
    DeclaredPartition written = *view->partition;
    walk(*out, written);
    out->count(written.defaults.size());
    for (auto& [column, text] : written.defaults) {
      std::string key = column;
      out->text(key);
      out->text(text);
    }
  }
}

bool decode_partitions(ImageReader* in, Catalog* catalog) {
  for (const auto& [name, table] : catalog->tables) {
    Partitioning read;
    walk(*in, read);
    if (!in->ok() || read.by > PartitionedBy::kList || (read && read.keys.empty())) return false;
    catalog->rules[table->schema().id].partitioning = std::move(read);
  }
  for (auto& [name, view] : catalog->views) {
    bool is_partition = false;
    walk_bool(*in, is_partition);
    if (!in->ok()) return false;
    if (!is_partition) continue;
    auto partition = std::make_shared<DeclaredPartition>();
    walk(*in, *partition);
    const uint32_t defaults = in->count(0);
    for (uint32_t i = 0; i < defaults && in->ok(); ++i) {
      std::string column;
      in->text(column);
      in->text(partition->defaults[column]);
    }
    if (!in->ok() || catalog->find_table(partition->root) == nullptr) return false;
    auto read = std::make_shared<View>(*view);
    read->partition = std::move(partition);
    view = std::move(read);
  }
  return true;
}

}  // namespace scyper::query
