#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

#include "runtime/drawn_function.h"
#include "runtime/function_body.h"
#include "runtime/spill_space.h"
#include "types/datetime.h"
#include "types/interval.h"
#include "types/timezone.h"

// The time as it goes by, where now() stands still for a transaction. Programs that call these are logged as row
// changes: what they saw is in them.
namespace scyper::query {

// Declared where the builtins are listed (bind/builtins_zone.cc).
extern const ir::External k_fn_clock_timestamp;
extern const ir::External k_fn_timeofday;
extern const ir::External k_fn_pg_sleep;
extern const ir::External k_fn_pg_sleep_for;

namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr int64_t kUnixEpochOffsetUs = int64_t{10957} * kMicrosPerDay;  // from 1970 to 2000

// Never before the transaction began, whatever the machine's clock does.
int64_t clock_us(const ExecContext* c) {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::max(duration_cast<microseconds>(since_1970).count() - kUnixEpochOffsetUs, c->transaction_time_us);
}

// A void. Ends early with the error of an interrupt.
int32_t sleep_seconds(ExecContext* c, double seconds, Datum* out) {
  constexpr microseconds kPollEvery{10000};
  constexpr double kSecondsMax = 1e9;  // some 30 years, so that the sum below has room
  if (std::isnan(seconds)) seconds = 0;
  const auto length = microseconds(static_cast<int64_t>(std::clamp(seconds, 0.0, kSecondsMax) * kMicrosPerSecond));
  const auto end = steady_clock::now() + length;
  for (auto left = length; left.count() > 0; left = duration_cast<microseconds>(end - steady_clock::now())) {
    if (int32_t outcome = poll_interrupt(c); outcome != 0) return outcome;
    std::this_thread::sleep_for(std::min(left, kPollEvery));
  }
  return give(out, int64_t{0});
}

extern "C" {

SCYPER_FUNCTION(clock_timestamp) { return give(out, clock_us(c)); }
SCYPER_FUNCTION(timeofday) {
  const int64_t now = clock_us(c), since_1970 = session_clock(now) + kUnixEpochOffsetUs;
  const time_t seconds = since_1970 / kMicrosPerSecond;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char begin[64], text[96];
  std::strftime(begin, sizeof(begin), "%a %b %d %H:%M:%S", &parts);
  std::snprintf(text, sizeof(text), "%s.%06d %d %s", begin, static_cast<int>(since_1970 % kMicrosPerSecond),
                parts.tm_year + 1900, session_zone_abbreviation(now).c_str());
  return give_copy(c, out, text);
}
SCYPER_FUNCTION(pg_sleep) { return sleep_seconds(c, float8(args[0]), out); }
SCYPER_FUNCTION(pg_sleep_for) {
  const Interval length = interval_of(args[0]);
  const double days = static_cast<double>(length.months) * 30 + static_cast<double>(length.days);
  return sleep_seconds(c, days * 86400 + static_cast<double>(length.micros) / kMicrosPerSecond, out);
}

}  // extern "C"

}  // namespace

SCYPER_DEFINE_DRAWN_FUNCTION(clock_timestamp, kTimestamptz, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(timeofday, kText, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(pg_sleep, kInt8, kNoText)
SCYPER_DEFINE_DRAWN_FUNCTION(pg_sleep_for, kInt8, kNoText)

}  // namespace scyper::query
