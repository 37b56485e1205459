#pragma once

#include <cstdint>
#include <string_view>

namespace scyper::ch {

constexpr std::string_view kRegionNames[] = {"Africa", "America", "Asia", "Australia", "Europe"};

struct NationEntry {
  char key;  // n_nationkey is its ASCII code: the first letter of c_state selects the nation
  std::string_view name;
  int32_t region;
};

// 62 nations for [0-9A-Za-z], in the order of their keys. The queries ask for Germany, Cambodia and Europe.
constexpr NationEntry kNations[] = {
    {'0', "Algeria", 0},       {'1', "Argentina", 1},   {'2', "Armenia", 2},  {'3', "Australia", 3},
    {'4', "Austria", 4},       {'5', "Bangladesh", 2},  {'6', "Belgium", 4},  {'7', "Bolivia", 1},
    {'8', "Botswana", 0},      {'9', "Brazil", 1},      {'A', "Bulgaria", 4}, {'B', "Cambodia", 2},
    {'C', "Cameroon", 0},      {'D', "Canada", 1},      {'E', "Chile", 1},    {'F', "China", 2},
    {'G', "Colombia", 1},      {'H', "Croatia", 4},     {'I', "Cuba", 1},     {'J', "Denmark", 4},
    {'K', "Ecuador", 1},       {'L', "Egypt", 0},       {'M', "Ethiopia", 0}, {'N', "Fiji", 3},
    {'O', "Finland", 4},       {'P', "France", 4},      {'Q', "Germany", 4},  {'R', "Ghana", 0},
    {'S', "Greece", 4},        {'T', "Guatemala", 1},   {'U', "Hungary", 4},  {'V', "Iceland", 4},
    {'W', "India", 2},         {'X', "Indonesia", 2},   {'Y', "Iran", 2},     {'Z', "Ireland", 4},
    {'a', "Israel", 2},        {'b', "Italy", 4},       {'c', "Jamaica", 1},  {'d', "Japan", 2},
    {'e', "Jordan", 2},        {'f', "Kenya", 0},       {'g', "Latvia", 4},   {'h', "Madagascar", 0},
    {'i', "Malaysia", 2},      {'j', "Mexico", 1},      {'k', "Morocco", 0},  {'l', "Mozambique", 0},
    {'m', "Netherlands", 4},   {'n', "New Zealand", 3}, {'o', "Norway", 4},   {'p', "Papua New Guinea", 3},
    {'q', "Peru", 1},          {'r', "Poland", 4},      {'s', "Portugal", 4}, {'t', "Romania", 4},
    {'u', "Samoa", 3},         {'v', "Spain", 4},       {'w', "Thailand", 2}, {'x', "Tonga", 3},
    {'y', "United States", 1}, {'z', "Vietnam", 2},
};
static_assert(sizeof(kNations) / sizeof(kNations[0]) == 62);

}  // namespace scyper::ch
