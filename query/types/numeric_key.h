#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/type.h"

// Numerics of any length as bytes whose order is the order of the numbers. The bytes say nothing of the scale that the
// number shows. No encoding is the beginning of another one.
namespace scyper::query {

struct NumericKey {
  std::string bytes;
  uint32_t scale = 0;  // digits behind the point that the text has
};

// `text`: as numeric's output function writes it.
NumericKey numeric_key_of_text(std::string_view text);
std::string text_of_numeric_key(const NumericKey& key);
// `numeric` is not null.
NumericKey numeric_key_of(const Datum& numeric);

// numeric_recv() and numeric_send(). 22P03, 08P01.
Status receive_numeric_key(std::string_view sent, NumericKey* out);
void send_numeric_key(std::string* out, const NumericKey& key);

}  // namespace scyper::query
