#include "types/datetime_words.h"

#include <algorithm>
#include <iterator>

#include "types/all_zones.h"
#include "types/digits.h"

// Abbreviations whose meaning has changed: PostgreSQL's usual ones that name a zone of the database.
namespace scyper::query {

namespace {

struct Abbreviation {
  std::string_view word, zone;
};

constexpr Abbreviation kAbbreviations[] = {
    {"amst", "Asia/Yerevan"},
    {"anast", "Asia/Anadyr"},
    {"anat", "Asia/Anadyr"},
    {"arst", "America/Argentina/Buenos_Aires"},
    {"art", "America/Argentina/Buenos_Aires"},
    {"azst", "Asia/Baku"},
    {"azt", "Asia/Baku"},
    {"ckt", "Pacific/Rarotonga"},
    {"clt", "America/Santiago"},
    {"davt", "Antarctica/Davis"},
    {"easst", "Pacific/Easter"},
    {"east", "Pacific/Easter"},
    {"fkst", "Atlantic/Stanley"},
    {"fkt", "Atlantic/Stanley"},
    {"gest", "Asia/Tbilisi"},
    {"get", "Asia/Tbilisi"},
    {"gyt", "America/Guyana"},
    {"iot", "Indian/Chagos"},
    {"irkst", "Asia/Irkutsk"},
    {"irkt", "Asia/Irkutsk"},
    {"kgt", "Asia/Bishkek"},
    {"kost", "Pacific/Kosrae"},
    {"krast", "Asia/Krasnoyarsk"},
    {"krat", "Asia/Krasnoyarsk"},
    {"lhdt", "Australia/Lord_Howe"},
    {"lint", "Pacific/Kiritimati"},
    {"lkt", "Asia/Colombo"},
    {"magst", "Asia/Magadan"},
    {"magt", "Asia/Magadan"},
    {"mawt", "Antarctica/Mawson"},
    {"msk", "Europe/Moscow"},
    {"novst", "Asia/Novosibirsk"},
    {"novt", "Asia/Novosibirsk"},
    {"nut", "Pacific/Niue"},
    {"omsst", "Asia/Omsk"},
    {"omst", "Asia/Omsk"},
    {"petst", "Asia/Kamchatka"},
    {"pett", "Asia/Kamchatka"},
    {"pyt", "America/Asuncion"},
    {"sgt", "Asia/Singapore"},
    {"tkt", "Pacific/Fakaofo"},
    {"tmt", "Asia/Ashgabat"},
    {"ulat", "Asia/Ulaanbaatar"},
    {"vet", "America/Caracas"},
    {"vlast", "Asia/Vladivostok"},
    {"vlat", "Asia/Vladivostok"},
    {"volt", "Europe/Volgograd"},
    {"yakst", "Asia/Yakutsk"},
    {"yakt", "Asia/Yakutsk"},
    {"yekt", "Asia/Yekaterinburg"},
};

// Those of a constant displacement that are daylight-saving time.
constexpr std::string_view kSummerWords[] = {
    "acdt", "acsst", "adt",  "aedt",   "aesst", "akdt", "almst",  "awsst", "azost",  "bdst",   "brst", "bst",
    "cadt", "cdt",   "cest", "cetdst", "chadt", "clst", "edt",    "eest",  "eetdst", "egst",   "fjst", "fnst",
    "idt",  "kdt",   "kgst", "mdt",    "mest",  "mesz", "metdst", "msd",   "must",   "ndt",    "nzdt", "pdt",
    "pkst", "pmdt",  "pyst", "sadt",   "ulast", "uyst", "uzst",   "wadt",  "wdt",    "wetdst", "wgst", "yekst",
};

constexpr size_t kLettersMax = 8;

}  // namespace

std::string_view zone_of_abbreviation(std::string_view name) noexcept {
  char text[kLettersMax];
  if (name.size() > kLettersMax) return {};
  std::transform(name.begin(), name.end(), text, to_lower);
  const std::string_view word(text, name.size());
  const auto* found = std::lower_bound(std::begin(kAbbreviations), std::end(kAbbreviations), word,
                                       [](const Abbreviation& a, std::string_view b) { return a.word < b; });
  return found != std::end(kAbbreviations) && found->word == word ? found->zone : std::string_view();
}

bool is_summer_abbreviation(std::string_view word) noexcept {
  return std::binary_search(std::begin(kSummerWords), std::end(kSummerWords), word);
}

}  // namespace scyper::query
