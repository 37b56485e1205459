#pragma once

#include <string>

#include "query/exec_context.h"
#include "types/datum_text.h"
#include "types/text_search.h"
#include "types/timezone.h"

namespace scyper::query {

// The configuration of that name; nullptr: the session's. An error is in the context.
inline int32_t find_configuration(ExecContext* c, const Datum* named, const TextConfiguration** out) {
  const std::string_view name = named != nullptr ? text_of(*named) : session_text_configuration();
  *out = find_text_configuration(name);
  return *out != nullptr ? 0 : c->fail(no_text_configuration(name));
}

// A message for the client.
inline void note(ExecContext* c, std::string text) {
  if (c->notices != nullptr) c->notices->push_back("NOTICE:  " + std::move(text));
}

inline int32_t finish_document(ExecContext* c, const DocumentReader& reader, TextVector* out) {
  for (size_t i = 0; i < reader.ignored(); ++i)
    note(c, "word is too long to be indexed\nDETAIL:  Words longer than " + std::to_string(kLexemeBytesMax) +
                " characters are ignored.");
  const Status status = reader.finish(out);
  return status.ok() ? 0 : c->fail(status);
}

inline int32_t read_document(ExecContext* c, const TextConfiguration& configuration, std::string_view text,
                             TextVector* out) {
  DocumentReader reader(configuration);
  reader.read(text);
  return finish_document(c, reader, out);
}

}  // namespace scyper::query
