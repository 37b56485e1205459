#include "server/messages.h"

#include <grpcpp/support/status.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "google/rpc/details.pb.h"
#include "query/error_status.h"
#include "query/value_text.h"
#include "scyper.pb.h"

namespace scyper::server {

namespace {
constexpr size_t kSqlstateBytes = 5;
}

void encode_type(const SqlType& type, v1::Type* out) {
  out->set_id(static_cast<v1::TypeId>(type.id));
  out->set_element(static_cast<v1::TypeId>(type.element));
  out->set_precision(type.precision);
  out->set_scale(type.scale);
  out->set_length(type.length);
}

SqlType type_of(const v1::Type& type) {
  return SqlType{static_cast<TypeId>(type.id()), static_cast<TypeId>(type.element()),
                 static_cast<uint8_t>(type.precision()), static_cast<uint8_t>(type.scale()), type.length()};
}

void encode_columns(std::span<const query::ResultColumn> columns, google::protobuf::RepeatedPtrField<v1::Column>* out) {
  for (const query::ResultColumn& column : columns) {
    v1::Column* made = out->Add();
    made->set_name(column.name);
    encode_type(column.type, made->mutable_type());
    if (column.declared.id != TypeId::kUnknown) encode_type(column.declared, made->mutable_declared());
  }
}

std::vector<query::ResultColumn> columns_of(const google::protobuf::RepeatedPtrField<v1::Column>& columns) {
  std::vector<query::ResultColumn> out;
  for (const v1::Column& column : columns) {
    out.push_back({column.name(), type_of(column.type())});
    if (column.has_declared()) out.back().declared = type_of(column.declared());
  }
  return out;
}

void encode_receipt(const query::Receipt& receipt, v1::Receipt* out) {
  out->set_lsn(receipt.lsn);
  out->set_snapshot(receipt.snapshot);
  out->set_term(receipt.term);
  out->set_age_ms(receipt.age_ms);
  out->set_node(receipt.node);
  out->set_wait_ms(receipt.wait_ms);
  out->set_compile_ms(receipt.compile_ms);
  out->set_run_ms(receipt.run_ms);
  out->set_memory_bytes(receipt.memory_bytes);
}

query::Receipt receipt_of(const v1::Receipt& from) {
  query::Receipt receipt;
  receipt.lsn = from.lsn();
  receipt.snapshot = from.snapshot();
  receipt.term = from.term();
  receipt.age_ms = from.age_ms();
  receipt.node = from.node();
  receipt.wait_ms = from.wait_ms();
  receipt.compile_ms = from.compile_ms();
  receipt.run_ms = from.run_ms();
  receipt.memory_bytes = from.memory_bytes();
  return receipt;
}

namespace {

// What values of a row point to.
struct RowMemory {
  std::vector<std::unique_ptr<ArrayValue>> arrays;
  std::vector<std::unique_ptr<Datum[]>> elements;
  query::ValueArena numbers;
};

Datum number_of(const v1::Decimal& value) {
  return {static_cast<int64_t>(value.low()), value.high(), static_cast<int32_t>(value.scale()), 0, {}};
}

StatusOr<Datum> datum_of(const v1::Value& value, RowMemory* memory, const SqlType& type) {
  switch (value.kind_case()) {
    case v1::Value::KIND_NOT_SET:
      return null_datum();
    case v1::Value::kBoolean:
      return int_datum(value.boolean() ? 1 : 0);
    case v1::Value::kInteger:
      return int_datum(value.integer());
    case v1::Value::kReal:
      return float_datum(value.real());
    case v1::Value::kText:
      if (type.id == TypeId::kNumeric) {  // what a Decimal does not hold
        Datum number;
        SCYPER_RETURN_IF_ERROR(query::parse_value(type, value.text(), &memory->numbers, &number));
        return number;
      }
      return string_datum(value.text().data(), value.text().size());
    case v1::Value::kDecimal:
      return number_of(value.decimal());
    case v1::Value::kDate:
      return int_datum(value.date());
    case v1::Value::kTimestamp:
      return int_datum(value.timestamp());
    case v1::Value::kArray:
      break;
  }
  int32_t size = value.array().values_size();
  memory->elements.emplace_back(new Datum[static_cast<size_t>(size) + 1]);
  Datum* made = memory->elements.back().get();
  for (int32_t i = 0; i < size; ++i) {
    SCYPER_ASSIGN_OR_RETURN(made[i], datum_of(value.array().values(i), memory, element_of(type)));
  }
  memory->arrays.push_back(
      std::make_unique<ArrayValue>(ArrayValue{size, size, value.array().lower_bound(), type.element, made}));
  return Datum{reinterpret_cast<int64_t>(memory->arrays.back().get()), 0, 0, 0, {}};
}

Status append_typed_row(const v1::Row& row, query::ResultSet* result) {
  if (static_cast<size_t>(row.values_size()) != result->columns.size()) {
    return sql_error("08P01", "the node sent a row of the wrong length");
  }
  RowMemory memory;
  for (int i = 0; i < row.values_size(); ++i) {
    const SqlType& type = result->columns[static_cast<size_t>(i)].type;
    SCYPER_ASSIGN_OR_RETURN(const Datum value, datum_of(row.values(i), &memory, type));
    result->append(type, value);
  }
  return {};
}

}  // namespace

Status read_result(const v1::CallResult& from, query::ResultSet* result) {
  result->clear();
  result->columns = columns_of(from.columns());
  read_end(from, result);
  for (const v1::Row& row : from.rows()) SCYPER_RETURN_IF_ERROR(append_typed_row(row, result));
  return Status();
}

Status status_of(const v1::Error& error) {
  const std::string_view sqlstate =
      error.sqlstate().size() == kSqlstateBytes ? std::string_view(error.sqlstate()) : "XX000";
  Status status = sql_error(sqlstate, error.message(), error.position());
  if (!error.detail().empty()) status = with_detail(std::move(status), error.detail());
  if (!error.hint().empty()) status = with_hint(std::move(status), error.hint());
  if (!error.context().empty()) status = query::with_context(std::move(status), error.context());
  return query::with_notices(std::move(status), {error.notices().begin(), error.notices().end()});
}

bool find_error(const grpc::Status& status, v1::Error* error) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return false;
  for (const auto& any : details.details()) {
    if (any.Is<v1::Error>() && any.UnpackTo(error)) return true;
  }
  return false;
}

}  // namespace scyper::server
