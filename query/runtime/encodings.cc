#include "query/encodings.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"

namespace scyper::query {

namespace {

// By number, from 0. Systems' tables of the last two have no backslash, so statements could not be read by them.
constexpr Encoding kEncodings[] = {
    {0, "SQL_ASCII", "UTF-8", 1},
    {1, "EUC_JP", "EUC-JP", 3},
    {2, "EUC_CN", "EUC-CN", 2},
    {3, "EUC_KR", "EUC-KR", 3},
    {4, "EUC_TW", "EUC-TW", 4},
    {5, "EUC_JIS_2004", "EUC-JISX0213", 3},
    {6, "UTF8", "UTF-8", 4},
    {7, "MULE_INTERNAL", "", 4},
    {8, "LATIN1", "ISO-8859-1", 1},
    {9, "LATIN2", "ISO-8859-2", 1},
    {10, "LATIN3", "ISO-8859-3", 1},
    {11, "LATIN4", "ISO-8859-4", 1},
    {12, "LATIN5", "ISO-8859-9", 1},
    {13, "LATIN6", "ISO-8859-10", 1},
    {14, "LATIN7", "ISO-8859-13", 1},
    {15, "LATIN8", "ISO-8859-14", 1},
    {16, "LATIN9", "ISO-8859-15", 1},
    {17, "LATIN10", "ISO-8859-16", 1},
    {18, "WIN1256", "CP1256", 1},
    {19, "WIN1258", "CP1258", 1},
    {20, "WIN866", "CP866", 1},
    {21, "WIN874", "CP874", 1},
    {22, "KOI8R", "KOI8-R", 1},
    {23, "WIN1251", "CP1251", 1},
    {24, "WIN1252", "CP1252", 1},
    {25, "ISO_8859_5", "ISO-8859-5", 1},
    {26, "ISO_8859_6", "ISO-8859-6", 1},
    {27, "ISO_8859_7", "ISO-8859-7", 1},
    {28, "ISO_8859_8", "ISO-8859-8", 1},
    {29, "WIN1250", "CP1250", 1},
    {30, "WIN1253", "CP1253", 1},
    {31, "WIN1254", "CP1254", 1},
    {32, "WIN1255", "CP1255", 1},
    {33, "WIN1257", "CP1257", 1},
    {34, "KOI8U", "KOI8-U", 1},
    {35, "SJIS", "CP932", 2},
    {36, "BIG5", "BIG5", 2},
    {37, "GBK", "GBK", 2},
    {38, "UHC", "UHC", 2},
    {39, "GB18030", "GB18030", 4},
    {40, "JOHAB", "", 3},
    {41, "SHIFT_JIS_2004", "", 2},
};

struct Alias {
  std::string_view name;
  int number;
};
constexpr Alias kAliases[] = {
    {"abc", 19},         {"alt", 20},         {"iso88591", 8},     {"iso885910", 13},   {"iso885913", 14},
    {"iso885914", 15},   {"iso885915", 16},   {"iso885916", 17},   {"iso88592", 9},     {"iso88593", 10},
    {"iso88594", 11},    {"iso88599", 12},    {"koi8", 22},        {"mskanji", 35},     {"shiftjis", 35},
    {"tcvn", 19},        {"tcvn5712", 19},    {"unicode", 6},      {"vscii", 19},       {"win", 23},
    {"win932", 35},      {"win936", 37},      {"win949", 38},      {"win950", 36},      {"windows1250", 29},
    {"windows1251", 23}, {"windows1252", 24}, {"windows1253", 30}, {"windows1254", 31}, {"windows1255", 32},
    {"windows1256", 18}, {"windows1257", 33}, {"windows1258", 19}, {"windows866", 20},  {"windows874", 21},
    {"windows932", 35},  {"windows936", 37},  {"windows949", 38},  {"windows950", 36},
};

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) plain += absl::ascii_tolower(static_cast<unsigned char>(c));
  return plain;
}

}  // namespace

const Encoding* find_encoding(int number) {
  const bool is_known = number >= 0 && static_cast<size_t>(number) < std::size(kEncodings);
  return is_known ? &kEncodings[number] : nullptr;
}

const Encoding* find_encoding(std::string_view name) {
  const std::string plain = plain_name(name);
  for (const Encoding& encoding : kEncodings)
    if (plain_name(encoding.name) == plain) return &encoding;
  const auto alias = std::ranges::find(kAliases, plain, &Alias::name);
  return alias == std::end(kAliases) ? nullptr : find_encoding(alias->number);
}

}  // namespace scyper::query
