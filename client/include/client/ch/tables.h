#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "storage/type.h"

namespace scyper::ch {

// The tables of CH-benCHmark. Numbered in an order in which they can be loaded.
enum class Table : uint8_t {
  kRegion,
  kNation,
  kSupplier,
  kItem,
  kWarehouse,
  kDistrict,
  kCustomer,
  kHistory,
  kOrders,
  kNewOrder,
  kOrderLine,
  kStock,
};
constexpr int kTableCount = 12;

struct Column {
  std::string_view name;
  SqlType type;
  bool nullable = false;
};

struct TableInfo {
  Table table;
  std::string_view name;
  std::span<const Column> columns;  // in the order of the schema
  int warehouse_column;             // index of the partitioning key, -1 = a shared table
};

const TableInfo& table_info(Table table);

// All tables, in load order.
std::span<const TableInfo> all_tables();

}  // namespace scyper::ch
