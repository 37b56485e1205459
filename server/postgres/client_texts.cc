#include "postgres/client_texts.h"

#include <utility>

#include "server/packed.h"

namespace scyper::server::postgres {

namespace {

// Whose binary format is its text, with at most a number before it.
bool is_sent_as_text(const SqlType& type) {
  return is_string(type.id) || type.id == TypeId::kUnknown || type.id == TypeId::kEnum || type.id == TypeId::kJsonb;
}

// An array's binary format with each element converted: flags and bounds, then lengths and values.
Status convert_elements(std::string_view bytes, query::TextConverter* converter, std::string* out) {
  constexpr size_t kHeadBytes = 12, kBoundsBytes = 8;
  MessageReader reader(bytes);
  const int32_t dimensions = reader.read_int32();
  const size_t head = kHeadBytes + kBoundsBytes * static_cast<size_t>(dimensions < 0 ? 0 : dimensions);
  if (!reader.is_whole() || dimensions < 0 || bytes.size() < head) return out->append(bytes), Status();
  out->append(bytes.substr(0, head));
  reader = MessageReader(bytes.substr(head));
  MessageWriter writer(out);
  while (!reader.rest().empty()) {
    const int32_t size = reader.read_int32();
    const std::string_view element = reader.read_bytes(size < 0 ? 0 : static_cast<size_t>(size));
    if (!reader.is_whole()) return out->append(bytes.substr(head)), Status();  // whoever reads it says what is wrong
    if (size < 0) {
      writer.put_int32(size);
      continue;
    }
    const size_t place = writer.place_length();
    SCYPER_RETURN_IF_ERROR(converter->append(element, out));
    writer.fill_length(place);
  }
  return {};
}

Status convert_value(const SqlType& type, Format format, std::string_view bytes, query::TextConverter* converter,
                     std::string* out) {
  if (format == Format::kText || is_sent_as_text(type)) return converter->append(bytes, out);
  if (type.id == TypeId::kArray && is_sent_as_text(element_of(type))) return convert_elements(bytes, converter, out);
  out->append(bytes);
  return {};
}

}  // namespace

void ClientTexts::use(const query::Encoding* encoding) {
  if (encoding == encoding_) return;
  encoding_ = encoding;
  using Direction = query::TextConverter::Direction;
  const bool is_plain =
      encoding == nullptr || encoding->number == query::kUtf8Encoding || encoding->number == query::kSqlAsciiEncoding;
  auto from = is_plain ? nullptr : query::TextConverter::make(*encoding, Direction::kToUtf8);
  auto to = is_plain ? nullptr : query::TextConverter::make(*encoding, Direction::kFromUtf8);
  if (!is_plain && (from == nullptr || to == nullptr)) return;
  from_client_ = std::move(from);
  to_client_ = std::move(to);
}

StatusOr<std::string> ClientTexts::received(std::string_view text) const {
  if (is_plain()) {
    SCYPER_RETURN_IF_ERROR(check_text(text));
    return std::string(text);
  }
  std::string out;
  SCYPER_RETURN_IF_ERROR(from_client_->append(text, &out));
  return out;
}

Status ClientTexts::receive_value(const SqlType& type, Format format, std::string_view bytes, std::string* out) const {
  return convert_value(type, format, bytes, from_client_.get(), out);
}

Status ClientTexts::convert_field(const SqlType& type, Format format, size_t place, MessageWriter* writer) const {
  std::string& text = *writer->out();
  if (is_plain() || MessageReader(std::string_view(text).substr(place)).read_int32() < 0) return {};
  const std::string field = text.substr(place + kLengthBytes);
  text.resize(place + kLengthBytes);
  SCYPER_RETURN_IF_ERROR(convert_value(type, format, field, to_client_.get(), &text));
  writer->fill_length(place);
  return {};
}

}  // namespace scyper::server::postgres
