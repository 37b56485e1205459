#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "types/text_configuration.h"
#include "types/text_query.h"

namespace scyper::query {

// What ts_headline() may be told: PostgreSQL's options, with the values that hold without them.
struct HeadlineOptions {
  int max_words = 35, min_words = 15, short_word = 3, max_fragments = 0;
  bool highlights_all = false;
  std::string start = "<b>", stop = "</b>", delimiter = " ... ";
};
// "MaxWords=10, StartSel = '<i>'"
Status read_headline_options(std::string_view text, HeadlineOptions* out);

// The part of the text that matches the query best, with the words of the query marked.
std::string headline(const TextConfiguration& configuration, std::string_view text, const TextQuery& query,
                     const HeadlineOptions& options);

}  // namespace scyper::query
