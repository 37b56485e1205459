#include "client/ch/consistency.h"

#include <algorithm>
#include <tuple>

namespace scyper::ch {
namespace {

// Delivered lines per customer: the right-hand side of 10 and 12.
constexpr const char* kDelivered =
    "(SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS amount\n"
    "   FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id\n"
    "  WHERE ol_delivery_d IS NOT NULL\n"
    "  GROUP BY o_w_id, o_d_id, o_c_id) delivered";
constexpr const char* kOfCustomer = "o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id";
constexpr const char* kPaid =
    "(SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS amount\n"
    "   FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) paid";
constexpr const char* kByCustomer = "h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id";

std::string nothing_delivered() {
  return std::string("NOT EXISTS (SELECT * FROM orders WHERE ") + kOfCustomer + " AND o_carrier_id IS NOT NULL)";
}

void add_district_checks(std::vector<ConsistencyCheck>& checks, const Scale& scale) {
  checks.push_back({1, "1", "W_YTD is the sum of its districts' D_YTD",
                    "SELECT w_id, w_ytd, districts.ytd\n"
                    "  FROM warehouse JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district GROUP BY d_w_id) districts\n"
                    "    ON d_w_id = w_id\n"
                    " WHERE w_ytd <> districts.ytd",
                    false});
  checks.push_back({2, "2a", "D_NEXT_O_ID - 1 is the newest order",
                    "SELECT d_w_id, d_id, d_next_o_id, newest.id\n"
                    "  FROM district JOIN (SELECT o_w_id, o_d_id, max(o_id) AS id\n"
                    "                        FROM orders GROUP BY o_w_id, o_d_id) newest\n"
                    "    ON o_w_id = d_w_id AND o_d_id = d_id\n"
                    " WHERE d_next_o_id - 1 <> newest.id",
                    false});
  checks.push_back({2, "2b", "D_NEXT_O_ID - 1 is the newest open order (if there is one)",
                    "SELECT d_w_id, d_id, d_next_o_id, newest.id\n"
                    "  FROM district JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS id\n"
                    "                        FROM new_order GROUP BY no_w_id, no_d_id) newest\n"
                    "    ON no_w_id = d_w_id AND no_d_id = d_id\n"
                    " WHERE d_next_o_id - 1 <> newest.id",
                    false});
  checks.push_back({3, "3", "The open orders of a district have no gap",
                    "SELECT no_w_id, no_d_id, max(no_o_id) - min(no_o_id) + 1, count(*)\n"
                    "  FROM new_order\n"
                    " GROUP BY no_w_id, no_d_id\n"
                    "HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)",
                    false});
  checks.push_back({4, "4", "A district has as many order lines as its orders say",
                    "SELECT o_w_id, o_d_id, expected, present\n"
                    "  FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS expected\n"
                    "          FROM orders GROUP BY o_w_id, o_d_id) o\n"
                    "  JOIN (SELECT ol_w_id, ol_d_id, count(*) AS present\n"
                    "          FROM order_line GROUP BY ol_w_id, ol_d_id) l\n"
                    "    ON ol_w_id = o_w_id AND ol_d_id = o_d_id\n"
                    " WHERE expected <> present",
                    false});
  checks.push_back({8, "8", "W_YTD is the sum of the warehouse's payments",
                    "SELECT w_id, w_ytd, payments.amount\n"
                    "  FROM warehouse JOIN (SELECT h_w_id, sum(h_amount) AS amount FROM history GROUP BY h_w_id) "
                    "payments\n"
                    "    ON h_w_id = w_id\n"
                    " WHERE w_ytd <> payments.amount",
                    false});
  checks.push_back({9, "9", "D_YTD is the sum of the district's payments",
                    "SELECT d_w_id, d_id, d_ytd, payments.amount\n"
                    "  FROM district JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS amount\n"
                    "                        FROM history GROUP BY h_w_id, h_d_id) payments\n"
                    "    ON h_w_id = d_w_id AND h_d_id = d_id\n"
                    " WHERE d_ytd <> payments.amount",
                    false});
  const std::string delivered = std::to_string(scale.delivered_per_district());
  checks.push_back({11, "11", "After the load " + delivered + " orders of a district are delivered",
                    "SELECT o_w_id, o_d_id, orders_present, open_orders\n"
                    "  FROM (SELECT o_w_id, o_d_id, count(*) AS orders_present\n"
                    "          FROM orders GROUP BY o_w_id, o_d_id) o\n"
                    "  JOIN (SELECT no_w_id, no_d_id, count(*) AS open_orders\n"
                    "          FROM new_order GROUP BY no_w_id, no_d_id) n\n"
                    "    ON no_w_id = o_w_id AND no_d_id = o_d_id\n"
                    " WHERE orders_present - open_orders <> " +
                        delivered,
                    true});
}

void add_order_checks(std::vector<ConsistencyCheck>& checks) {
  checks.push_back({5, "5a", "An order without a carrier is open",
                    "SELECT o_w_id, o_d_id, o_id\n"
                    "  FROM orders\n"
                    " WHERE o_carrier_id IS NULL\n"
                    "   AND NOT EXISTS (SELECT * FROM new_order\n"
                    "                    WHERE no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id)",
                    false});
  checks.push_back({5, "5b", "An open order has no carrier",
                    "SELECT no_w_id, no_d_id, no_o_id\n"
                    "  FROM new_order\n"
                    " WHERE NOT EXISTS (SELECT * FROM orders\n"
                    "                    WHERE o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id\n"
                    "                      AND o_carrier_id IS NULL)",
                    false});
  checks.push_back({6, "6a", "O_OL_CNT is the number of the order's lines",
                    "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, present\n"
                    "  FROM orders JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS present\n"
                    "                      FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l\n"
                    "    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id\n"
                    " WHERE o_ol_cnt <> present",
                    false});
  checks.push_back({6, "6b", "Every order has lines",
                    "SELECT o_w_id, o_d_id, o_id\n"
                    "  FROM orders\n"
                    " WHERE NOT EXISTS (SELECT * FROM order_line\n"
                    "                    WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id)",
                    false});
  checks.push_back({7, "7", "A line has a delivery date exactly if its order has a carrier",
                    "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number\n"
                    "  FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id\n"
                    " WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL)\n"
                    "    OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)",
                    false});
}

void add_customer_checks(std::vector<ConsistencyCheck>& checks) {
  checks.push_back({10, "10a", "C_BALANCE is what was delivered less what was paid",
                    std::string("SELECT c_w_id, c_d_id, c_id, c_balance, delivered.amount, paid.amount\n"
                                "  FROM customer\n"
                                "  JOIN ") +
                        kDelivered + "\n    ON " + kOfCustomer + "\n  JOIN " + kPaid + "\n    ON " + kByCustomer +
                        "\n WHERE c_balance <> delivered.amount - paid.amount",
                    false});
  checks.push_back({10, "10b", "C_BALANCE of a customer without a delivery is what was paid",
                    std::string("SELECT c_w_id, c_d_id, c_id, c_balance, paid.amount\n"
                                "  FROM customer JOIN ") +
                        kPaid + "\n    ON " + kByCustomer + "\n WHERE c_balance <> 0 - paid.amount\n   AND " +
                        nothing_delivered(),
                    false});
  checks.push_back({12, "12a", "C_BALANCE + C_YTD_PAYMENT is what was delivered",
                    std::string("SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered.amount\n"
                                "  FROM customer JOIN ") +
                        kDelivered + "\n    ON " + kOfCustomer +
                        "\n WHERE c_balance + c_ytd_payment <> delivered.amount",
                    false});
  checks.push_back({12, "12b", "C_BALANCE + C_YTD_PAYMENT of a customer without a delivery is 0",
                    "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment\n"
                    "  FROM customer\n"
                    " WHERE c_balance + c_ytd_payment <> 0\n   AND " +
                        nothing_delivered(),
                    false});
}

}  // namespace

std::vector<ConsistencyCheck> consistency_checks(const Scale& scale) {
  std::vector<ConsistencyCheck> checks;
  add_district_checks(checks, scale);
  add_order_checks(checks);
  add_customer_checks(checks);
  std::sort(checks.begin(), checks.end(), [](const ConsistencyCheck& a, const ConsistencyCheck& b) {
    return std::tie(a.condition, a.name) < std::tie(b.condition, b.name);
  });
  return checks;
}

}  // namespace scyper::ch
