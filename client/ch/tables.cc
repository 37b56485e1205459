#include "client/ch/tables.h"

namespace scyper::ch {
namespace {

constexpr SqlType kInt = make_type(TypeId::kInt4);
constexpr SqlType kSmall = make_type(TypeId::kInt2);
constexpr SqlType kTime = make_type(TypeId::kTimestamp);
constexpr SqlType fixed(int length) { return make_string(TypeId::kChar, length); }
constexpr SqlType varying(int length) { return make_string(TypeId::kVarchar, length); }

constexpr Column kRegionColumns[] = {{"r_regionkey", kInt}, {"r_name", fixed(25)}, {"r_comment", varying(152)}};

constexpr Column kNationColumns[] = {
    {"n_nationkey", kInt}, {"n_name", fixed(25)}, {"n_regionkey", kInt}, {"n_comment", varying(152)}};

constexpr Column kSupplierColumns[] = {{"su_suppkey", kInt},        {"su_name", fixed(25)},
                                       {"su_address", varying(40)}, {"su_nationkey", kInt},
                                       {"su_phone", fixed(15)},     {"su_acctbal", make_numeric(12, 2)},
                                       {"su_comment", varying(101)}};

constexpr Column kItemColumns[] = {{"i_id", kInt},
                                   {"i_im_id", kInt},
                                   {"i_name", varying(24)},
                                   {"i_price", make_numeric(5, 2)},
                                   {"i_data", varying(50)}};

constexpr Column kWarehouseColumns[] = {{"w_id", kInt},
                                        {"w_name", varying(10)},
                                        {"w_street_1", varying(20)},
                                        {"w_street_2", varying(20)},
                                        {"w_city", varying(20)},
                                        {"w_state", fixed(2)},
                                        {"w_zip", fixed(9)},
                                        {"w_tax", make_numeric(4, 4)},
                                        {"w_ytd", make_numeric(12, 2)}};

constexpr Column kDistrictColumns[] = {{"d_id", kSmall},
                                       {"d_w_id", kInt},
                                       {"d_name", varying(10)},
                                       {"d_street_1", varying(20)},
                                       {"d_street_2", varying(20)},
                                       {"d_city", varying(20)},
                                       {"d_state", fixed(2)},
                                       {"d_zip", fixed(9)},
                                       {"d_tax", make_numeric(4, 4)},
                                       {"d_ytd", make_numeric(12, 2)},
                                       {"d_next_o_id", kInt}};

constexpr Column kCustomerColumns[] = {{"c_id", kInt},
                                       {"c_d_id", kSmall},
                                       {"c_w_id", kInt},
                                       {"c_first", varying(16)},
                                       {"c_middle", fixed(2)},
                                       {"c_last", varying(16)},
                                       {"c_street_1", varying(20)},
                                       {"c_street_2", varying(20)},
                                       {"c_city", varying(20)},
                                       {"c_state", fixed(2)},
                                       {"c_zip", fixed(9)},
                                       {"c_phone", fixed(16)},
                                       {"c_since", kTime},
                                       {"c_credit", fixed(2)},
                                       {"c_credit_lim", make_numeric(12, 2)},
                                       {"c_discount", make_numeric(4, 4)},
                                       {"c_balance", make_numeric(12, 2)},
                                       {"c_ytd_payment", make_numeric(12, 2)},
                                       {"c_payment_cnt", kInt},
                                       {"c_delivery_cnt", kInt},
                                       {"c_data", varying(500)}};

constexpr Column kHistoryColumns[] = {{"h_c_id", kInt},
                                      {"h_c_d_id", kSmall},
                                      {"h_c_w_id", kInt},
                                      {"h_d_id", kSmall},
                                      {"h_w_id", kInt},
                                      {"h_date", kTime},
                                      {"h_amount", make_numeric(6, 2)},
                                      {"h_data", varying(24)}};

constexpr Column kOrdersColumns[] = {{"o_id", kInt},       {"o_d_id", kSmall},     {"o_w_id", kInt},
                                     {"o_c_id", kInt},     {"o_entry_d", kTime},   {"o_carrier_id", kSmall, true},
                                     {"o_ol_cnt", kSmall}, {"o_all_local", kSmall}};

constexpr Column kNewOrderColumns[] = {{"no_o_id", kInt}, {"no_d_id", kSmall}, {"no_w_id", kInt}};

constexpr Column kOrderLineColumns[] = {{"ol_o_id", kInt},
                                        {"ol_d_id", kSmall},
                                        {"ol_w_id", kInt},
                                        {"ol_number", kSmall},
                                        {"ol_i_id", kInt},
                                        {"ol_supply_w_id", kInt},
                                        {"ol_delivery_d", kTime, true},
                                        {"ol_quantity", kSmall},
                                        {"ol_amount", make_numeric(6, 2)},
                                        {"ol_dist_info", fixed(24)}};

constexpr Column kStockColumns[] = {{"s_i_id", kInt},         {"s_w_id", kInt},         {"s_quantity", kSmall},
                                    {"s_dist_01", fixed(24)}, {"s_dist_02", fixed(24)}, {"s_dist_03", fixed(24)},
                                    {"s_dist_04", fixed(24)}, {"s_dist_05", fixed(24)}, {"s_dist_06", fixed(24)},
                                    {"s_dist_07", fixed(24)}, {"s_dist_08", fixed(24)}, {"s_dist_09", fixed(24)},
                                    {"s_dist_10", fixed(24)}, {"s_ytd", kInt},          {"s_order_cnt", kInt},
                                    {"s_remote_cnt", kInt},   {"s_data", varying(50)}};

constexpr std::array<TableInfo, kTableCount> kTables = {{
    {Table::kRegion, "region", kRegionColumns, -1},
    {Table::kNation, "nation", kNationColumns, -1},
    {Table::kSupplier, "supplier", kSupplierColumns, -1},
    {Table::kItem, "item", kItemColumns, -1},
    {Table::kWarehouse, "warehouse", kWarehouseColumns, 0},
    {Table::kDistrict, "district", kDistrictColumns, 1},
    {Table::kCustomer, "customer", kCustomerColumns, 2},
    {Table::kHistory, "history", kHistoryColumns, 4},
    {Table::kOrders, "orders", kOrdersColumns, 2},
    {Table::kNewOrder, "new_order", kNewOrderColumns, 2},
    {Table::kOrderLine, "order_line", kOrderLineColumns, 2},
    {Table::kStock, "stock", kStockColumns, 1},
}};

}  // namespace

const TableInfo& table_info(Table table) { return kTables[static_cast<size_t>(table)]; }

std::span<const TableInfo> all_tables() { return kTables; }

}  // namespace scyper::ch
