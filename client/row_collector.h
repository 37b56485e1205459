#pragma once

#include <vector>

#include "client/client.h"

namespace scyper::client {

// Keeps all rows of a statement.
class RowCollector : public QueryHandler {
 public:
  void on_columns(const std::vector<query::ResultColumn>& columns) override {
    all_.clear();
    all_.columns = columns;
  }
  void on_rows(const query::ResultSet& rows) override {
    const size_t width = all_.columns.size();
    for (size_t i = 0; i < rows.values().size(); ++i) all_.append(all_.columns[i % width].type, rows.values()[i]);
  }
  void on_complete(const query::ResultSet& end, const query::Receipt*) override {
    all_.command_tag = end.command_tag;
    all_.affected_rows = end.affected_rows;
    all_.notices = end.notices;
  }
  query::ResultSet& all() { return all_; }

 private:
  query::ResultSet all_;
};

// Hands over all rows of each statement.
class ResultHandover final : public RowCollector {
 public:
  explicit ResultHandover(const Client::ReceiptHandler& each) : each_(each) {}
  void on_complete(const query::ResultSet& end, const query::Receipt* receipt) override {
    RowCollector::on_complete(end, receipt);
    each_(all(), receipt);
  }

 private:
  const Client::ReceiptHandler& each_;
};

}  // namespace scyper::client
