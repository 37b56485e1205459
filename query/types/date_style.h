#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// DateStyle: how a session's dates are written, and in which order it reads numbers like 03/04/2024. Threads: a scope
// holds for its own thread. types/timezone.h has the style of the thread's session.
namespace scyper::query {

enum class DateForm : uint8_t { kIso, kSql, kPostgres, kGerman };
enum class DateOrder : uint8_t { kMonthFirst, kDayFirst, kYearFirst };

struct DateStyle {
  DateForm form = DateForm::kIso;
  DateOrder order = DateOrder::kMonthFirst;
  bool operator==(const DateStyle&) const = default;
};

// The value as SHOW has it: "ISO, MDY".
std::string date_style_name(const DateStyle& style);
// A value of SET DateStyle. Parts that it leaves out stay as *style has them. Returns the detail of PostgreSQL's error;
// empty: none.
std::string read_date_style(std::string_view value, DateStyle* style);

// While it lives, this thread writes dates in ISO form, as JSON always has them.
class IsoDateScope {
 public:
  IsoDateScope() noexcept : saved_(is_on) { is_on = true; }
  ~IsoDateScope() { is_on = saved_; }
  IsoDateScope(const IsoDateScope&) = delete;
  IsoDateScope& operator=(const IsoDateScope&) = delete;
  static inline constinit thread_local bool is_on = false;

 private:
  const bool saved_;
};

// While it lives, this thread reads numbers of dates in that order.
class DateOrderScope {
 public:
  explicit DateOrderScope(DateOrder order) noexcept : order_(order), saved_(current) { current = &order_; }
  ~DateOrderScope() { current = saved_; }
  DateOrderScope(const DateOrderScope&) = delete;
  DateOrderScope& operator=(const DateOrderScope&) = delete;
  static inline constinit thread_local const DateOrder* current = nullptr;

 private:
  const DateOrder order_;
  const DateOrder* const saved_;
};

// While it lives, 'now', 'today' and the like have a meaning in this thread's texts: the time of its transaction.
class NowScope {
 public:
  explicit NowScope(int64_t now) noexcept : now_(now), saved_(current) { current = &now_; }
  ~NowScope() { current = saved_; }
  NowScope(const NowScope&) = delete;
  NowScope& operator=(const NowScope&) = delete;
  static inline constinit thread_local const int64_t* current = nullptr;  // microseconds since 2000-01-01, UTC

 private:
  const int64_t now_;
  const int64_t* const saved_;
};

}  // namespace scyper::query
