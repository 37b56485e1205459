#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

// Settings that are numbers, and settings that are one word of a list, with PostgreSQL's ranges, units and lists
// (guc.c). A number is kept in the base unit of its setting. SHOW writes it with the largest unit that divides it.
namespace scyper::query {

enum class SettingUnit : uint8_t { kNone, kMilliseconds, kKilobytes, kBlocks, kSeconds, kBytes };  // a block: 8 kB

struct NumberSetting {
  std::string_view name;  // as messages write it
  bool is_real;
  SettingUnit unit;
  double least;
  double most;
};
const NumberSetting* find_number_setting(std::string_view name);  // nullptr: its value is no number
// The number in base units. 22023: no number, an unknown unit, or outside the range.
StatusOr<double> read_number(const NumberSetting& setting, const std::string& value);
// The number that SHOW has written; 0 where the text is no number of this setting.
double shown_number(std::string_view name, const std::string& shown);
std::string show_number(const NumberSetting& setting, double number);   // "40ms"
std::string plain_number(const NumberSetting& setting, double number);  // "40", as pg_settings has it
std::string_view unit_name(SettingUnit unit);                           // "ms"; empty for kNone

struct WordSetting {
  std::string_view name;
  std::string_view words;  // separated by |, in PostgreSQL's order
  // Further spellings, as "spelling=word" separated by |.
  std::string_view spellings = "";
};
const WordSetting* find_word_setting(std::string_view name);
StatusOr<std::string> read_word(const WordSetting& setting, const std::string& value);  // 22023

// What PostgreSQL's pg_settings says of a setting. Numbers are in `unit`, `words` of an enum have commas between them.
struct SettingNote {
  std::string name, type, context, unit, boot_value, least, most, words, category, description;
};
const SettingNote* find_setting_note(std::string_view name);  // nullptr: PostgreSQL has no such setting

}  // namespace scyper::query
