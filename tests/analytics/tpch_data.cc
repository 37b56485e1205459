#include "tpch_data.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace scyper::tests {

namespace {

constexpr int kSuppliers = 25, kParts = 200, kCustomers = 90, kOrders = 700;

class Random {
 public:
  // uniform in [low, high]
  int next(int low, int high) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return low + static_cast<int>((state_ >> 33) % static_cast<uint64_t>(high - low + 1));
  }
  template <size_t N>
  const char* pick(const std::array<const char*, N>& words) {
    return words[static_cast<size_t>(next(0, static_cast<int>(N) - 1))];
  }

 private:
  uint64_t state_ = 42;
};

constexpr std::array<const char*, 5> kRegions = {"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"};
struct Nation {
  const char* name;
  int region;
};
constexpr std::array<Nation, 25> kNations = {
    {{"ALGERIA", 0},      {"ARGENTINA", 1},  {"BRAZIL", 1},  {"CANADA", 1},         {"EGYPT", 4},
     {"ETHIOPIA", 0},     {"FRANCE", 3},     {"GERMANY", 3}, {"INDIA", 2},          {"INDONESIA", 2},
     {"IRAN", 4},         {"IRAQ", 4},       {"JAPAN", 2},   {"JORDAN", 4},         {"KENYA", 0},
     {"MOROCCO", 0},      {"MOZAMBIQUE", 0}, {"PERU", 1},    {"CHINA", 2},          {"ROMANIA", 3},
     {"SAUDI ARABIA", 4}, {"VIETNAM", 2},    {"RUSSIA", 3},  {"UNITED KINGDOM", 3}, {"UNITED STATES", 1}}};
constexpr std::array<const char*, 6> kColours = {"green", "forest", "almond", "red", "blue", "ivory"};
constexpr std::array<const char*, 4> kTypes1 = {"STANDARD", "SMALL", "MEDIUM", "PROMO"};
constexpr std::array<const char*, 3> kTypes2 = {"ANODIZED", "POLISHED", "PLATED"};
constexpr std::array<const char*, 3> kTypes3 = {"STEEL", "BRASS", "TIN"};
constexpr std::array<const char*, 4> kBrands = {"Brand#12", "Brand#23", "Brand#34", "Brand#45"};
constexpr std::array<const char*, 3> kSizes = {"SM", "MED", "LG"};
constexpr std::array<const char*, 4> kBoxes = {"CASE", "BOX", "PACK", "PKG"};
constexpr std::array<const char*, 4> kSegments = {"BUILDING", "AUTOMOBILE", "MACHINERY", "HOUSEHOLD"};
constexpr std::array<const char*, 5> kPriorities = {"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"};
constexpr std::array<const char*, 5> kModes = {"MAIL", "SHIP", "AIR", "REG AIR", "TRUCK"};
constexpr std::array<const char*, 3> kComments = {"carefully even deposits", "special packages; requests sleep",
                                                  "Customer has Complaints"};

std::string text(const char* format, auto... args) {
  std::array<char, 512> buffer;
  std::snprintf(buffer.data(), buffer.size(), format, args...);
  return buffer.data();
}

std::string date(int day) {  // days after 1992-01-01, months of 30 days but February
  int year = 1992 + day / 336;
  int month = day % 336 / 28 + 1;
  return text("date '%04d-%02d-%02d'", year, month, day % 28 + 1);
}

std::string money(Random* random, int low, int high) {
  int cents = random->next(low * 100, high * 100);
  return text("%s%d.%02d", cents < 0 ? "-" : "", std::abs(cents) / 100, std::abs(cents) % 100);
}

class Inserts {
 public:
  void add(const char* table, const std::string& row) {
    if (table_ != table || rows_ == 100) {
      table_ = table;
      rows_ = 0;
      statements_.push_back(std::string("INSERT INTO ") + table + " VALUES ");
    }
    statements_.back() += (rows_++ > 0 ? ", (" : "(") + row + ")";
  }
  std::vector<std::string> take() { return std::move(statements_); }

 private:
  std::string table_;
  int rows_ = 0;
  std::vector<std::string> statements_;
};

void add_orders(Random* random, Inserts* inserts) {
  for (int o = 1; o <= kOrders; o++) {
    int day = random->next(0, 2200);
    // a third of the customers has no order
    int customer = random->next(0, kCustomers / 3 - 1) * 3 + random->next(1, 2);
    inserts->add("orders", text("%d, %d, '%s', %s, %s, '%s', 'Clerk#%09d', 0, '%s'", o, customer,
                                random->next(0, 1) ? "F" : "O", money(random, 1000, 300000).c_str(), date(day).c_str(),
                                random->pick(kPriorities), random->next(1, 50), random->pick(kComments)));
    int lines = random->next(1, 7);
    for (int l = 1; l <= lines; l++) {
      int shipped = day + random->next(1, 120), received = shipped + random->next(1, 30);
      int part = random->next(1, kParts);
      inserts->add("lineitem",
                   text("%d, %d, %d, %d, %d, %s, 0.%02d, 0.%02d, '%s', '%s', %s, %s, %s, 'NONE', '%s', 'line'", o, part,
                        (part + random->next(0, 3) * 6) % kSuppliers + 1, l, random->next(1, 50),
                        money(random, 900, 90000).c_str(), random->next(0, 10), random->next(0, 8),
                        shipped > 1200       ? "N"
                        : random->next(0, 1) ? "R"
                                             : "A",
                        shipped > 1200 ? "O" : "F", date(shipped).c_str(), date(day + random->next(30, 90)).c_str(),
                        date(received).c_str(), random->pick(kModes)));
    }
  }
}

}  // namespace

std::vector<std::string> tpch_inserts() {
  Random random;
  Inserts inserts;
  for (size_t r = 0; r < kRegions.size(); r++)
    inserts.add("region", text("%d, '%s', NULL", static_cast<int>(r), kRegions[r]));
  for (size_t n = 0; n < kNations.size(); n++)
    inserts.add("nation", text("%d, '%s', %d, 'a nation'", static_cast<int>(n), kNations[n].name, kNations[n].region));
  for (int s = 1; s <= kSuppliers; s++) {
    int nation = s % 5 == 0 ? 7 : random.next(0, 24);
    inserts.add("supplier", text("%d, 'Supplier#%09d', 'address %d', %d, '%d-100-200', %s, '%s'", s, s, s, nation,
                                 nation + 10, money(&random, -999, 9999).c_str(), random.pick(kComments)));
  }
  for (int p = 1; p <= kParts; p++) {
    inserts.add("part", text("%d, '%s %s', 'Manufacturer#%d', '%s', '%s %s %s', %d, '%s %s', %s, 'a part'", p,
                             random.pick(kColours), random.pick(kColours), random.next(1, 5), random.pick(kBrands),
                             random.pick(kTypes1), random.pick(kTypes2), random.pick(kTypes3), random.next(1, 50),
                             random.pick(kSizes), random.pick(kBoxes), money(&random, 900, 2000).c_str()));
    for (int i = 0; i < 4; i++)
      inserts.add("partsupp", text("%d, %d, %d, %s, 'supplied'", p, (p + i * 6) % kSuppliers + 1, random.next(1, 9999),
                                   money(&random, 1, 1000).c_str()));
  }
  for (int c = 1; c <= kCustomers; c++) {
    int nation = random.next(0, 24);
    inserts.add("customer",
                text("%d, 'Customer#%09d', 'address %d', %d, '%d-100-%d', %s, '%s', '%s'", c, c, c, nation, nation + 10,
                     c, money(&random, -999, 9999).c_str(), random.pick(kSegments), random.pick(kComments)));
  }
  add_orders(&random, &inserts);
  return inserts.take();
}

}  // namespace scyper::tests
