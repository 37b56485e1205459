#include "query/text_converter.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace scyper::query {

namespace {

constexpr std::string_view kUtf8 = "UTF-8";

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > '\0'; });
}

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    char hex[8];
    std::snprintf(hex, sizeof hex, "%s0x%02x", text.empty() ? "" : " ", static_cast<unsigned>(static_cast<uint8_t>(c)));
    text += hex;
  }
  return text;
}

size_t utf8_length(char first) {
  const auto byte = static_cast<uint8_t>(first);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace

std::unique_ptr<TextConverter> TextConverter::make(const Encoding& encoding, Direction direction) {
  if (encoding.iconv.empty()) return nullptr;
  const bool is_to_utf8 = direction == Direction::kToUtf8;
  const std::string from(is_to_utf8 ? encoding.iconv : kUtf8), to(is_to_utf8 ? kUtf8 : encoding.iconv);
  const iconv_t descriptor = iconv_open(to.c_str(), from.c_str());
  if (descriptor == reinterpret_cast<iconv_t>(-1)) return nullptr;  // NOLINT(performance-no-int-to-ptr): POSIX's value
  return std::unique_ptr<TextConverter>(new TextConverter(&encoding, direction, descriptor));
}

TextConverter::~TextConverter() { iconv_close(descriptor_); }

// What stands at the front of `rest` cannot be converted.
Status TextConverter::wrong_at(std::string_view rest, bool is_cut) const {
  const bool is_to_utf8 = direction_ == Direction::kToUtf8;
  const std::string_view source = is_to_utf8 ? encoding_->name : "UTF8", target = is_to_utf8 ? "UTF8" : encoding_->name;
  const auto most = static_cast<size_t>(encoding_->bytes_max);
  const bool is_invalid = is_to_utf8 && (is_cut || most > 1 || rest.front() == '\0');
  const size_t length = rest.front() == '\0' ? 1 : is_to_utf8 ? std::min<size_t>(most, 2) : utf8_length(rest.front());
  const std::string bytes = hex_of(rest.substr(0, length));
  if (is_invalid)
    return sql_error("22021",
                     absl::StrCat("invalid byte sequence for encoding \"", std::string(source), "\": ", bytes));
  return sql_error("22P05", absl::StrCat("character with byte sequence ", bytes, " in encoding \"", std::string(source),
                                         "\" has no equivalent in encoding \"", std::string(target), "\""));
}

Status TextConverter::convert(std::string_view text, bool is_whole, bool is_forgiving, std::string* out) {
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos && direction_ == Direction::kToUtf8)
    return wrong_at(text.substr(zero), false);
  iconv(descriptor_, nullptr, nullptr, nullptr, nullptr);
  auto* in = const_cast<char*>(text.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): iconv only reads it
  size_t in_left = text.size();
  char buffer[1024];
  while (in_left > 0) {
    char* to = buffer;
    size_t to_left = sizeof buffer;
    const bool is_done = iconv(descriptor_, &in, &in_left, &to, &to_left) != static_cast<size_t>(-1);
    const int error = errno;
    out->append(buffer, static_cast<size_t>(to - buffer));
    if (is_done || error == E2BIG) continue;
    const std::string_view rest(in, in_left);
    if (error == EINVAL && !is_whole) {
      begun_ = rest;
      return Status();
    }
    if (!is_forgiving) return wrong_at(rest, error == EINVAL);
    *out += '?';
    const size_t skipped = std::min(direction_ == Direction::kToUtf8 ? 1 : utf8_length(*in), in_left);
    in += skipped;
    in_left -= skipped;
  }
  return Status();
}

Status TextConverter::append(std::string_view text, std::string* out) {
  if (is_ascii(text)) return out->append(text), Status();
  return convert(text, /*is_whole=*/true, /*is_forgiving=*/false, out);
}

Status TextConverter::append_piece(std::string_view piece, std::string* out) {
  if (begun_.empty() && is_ascii(piece)) return out->append(piece), Status();
  std::string text;
  text.swap(begun_);
  text.append(piece);
  return convert(text, /*is_whole=*/false, /*is_forgiving=*/false, out);
}

Status TextConverter::finish() {
  if (begun_.empty()) return Status();
  std::string rest;
  rest.swap(begun_);
  return wrong_at(rest, /*is_cut=*/true);
}

void TextConverter::append_anyway(std::string_view text, std::string* out) {
  if (is_ascii(text)) {
    out->append(text);
    return;
  }
  static_cast<void>(convert(text, /*is_whole=*/true, /*is_forgiving=*/true, out));
}

}  // namespace scyper::query
