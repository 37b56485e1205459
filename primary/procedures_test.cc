#include "procedures.h"

#include <gtest/gtest.h>

#include <string>

namespace scyper::primary {
namespace {

TEST(ProceduresTest, NamesAreThoseOfTheCatalog) {
  for (const auto& [sql, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"CALL pay($1)", "pay"},
           {"  -- first\n/* a /* b */ c */ call Pay (1, 'x(')", "pay"},
           {"CALL public.pay()", "pay"},
           {"CALL \"Shop\" . \"Pay \"\"now\"\"\"(1)", "Pay \"now\""},
           {"CALL zahl\xc3\xa9$1_2()", "zahl\xc3\xa9$1_2"},
           {"SELECT pay(1)", ""},
           {"callpay()", ""},
           {"CALL", ""},
           {"CALL pay", ""},
           {"CALL \"pay", ""},
           {"/* CALL pay()", ""},
           {"", ""}}) {
    EXPECT_EQ(called_procedure(sql), name) << sql;
  }
}

TEST(ProceduresTest, SlotsAreNamesAndAreBounded) {
  ProcedureTable table;
  EXPECT_EQ(table.slot_of("UPDATE pay SET a = 1"), ProcedureTable::kStatements);
  const uint32_t pay = table.slot_of("CALL pay($1)");
  EXPECT_GT(pay, ProcedureTable::kOthers);
  EXPECT_EQ(table.slot_of("call PAY(7)"), pay);
  EXPECT_EQ(table.names()[pay], "pay");
  for (uint32_t i = 0; i < 2 * ProcedureTable::kSlots; ++i) {
    const uint32_t slot = table.slot_of("CALL p" + std::to_string(i) + "()");
    EXPECT_EQ(slot == ProcedureTable::kOthers, i + pay + 1 >= ProcedureTable::kSlots) << i;
    table.times(slot).runs.record_ns(1);
  }
  EXPECT_EQ(table.names().size(), ProcedureTable::kSlots);
  EXPECT_EQ(table.slot_of("CALL pay()"), pay);
}

}  // namespace
}  // namespace scyper::primary
