#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "postgres/message.h"
#include "postgres/wire_values.h"
#include "query/encodings.h"
#include "query/text_converter.h"
#include "storage/type.h"

namespace scyper::server::postgres {

// The texts of one client in its client_encoding. Of SQL_ASCII nothing is converted, as in PostgreSQL. Threads: one.
class ClientTexts {
 public:
  // From here on. An encoding that the system cannot convert leaves all as it was: settings refuse those.
  void use(const query::Encoding* encoding);
  bool is_plain() const { return from_client_ == nullptr; }  // nothing has to be converted
  // Of texts that are sent; null: none is needed.
  query::TextConverter* to_client() const { return to_client_.get(); }

  // A text that has come, in UTF-8. 22021: it is none of its encoding. 22P05: UTF-8 has no such character.
  StatusOr<std::string> received(std::string_view text) const;
  // A parameter's value that has come.
  Status receive_value(const SqlType& type, Format format, std::string_view bytes, std::string* out) const;
  // A field that stands in the writer's text from `place` on, its length first: as the client gets it. 22P05.
  Status convert_field(const SqlType& type, Format format, size_t place, MessageWriter* writer) const;

 private:
  const query::Encoding* encoding_ = nullptr;
  std::unique_ptr<query::TextConverter> from_client_, to_client_;
};

}  // namespace scyper::server::postgres
