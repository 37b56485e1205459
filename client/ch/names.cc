#include "names.h"

#include <cstring>

#include "base/check.h"
#include "client/ch/generator.h"

// The file as it is, in the program's constants.
asm(".section .rodata\n"
    ".global scyper_ch_census_begin\n"
    ".global scyper_ch_census_end\n"
    "scyper_ch_census_begin:\n"
    ".incbin \"" SCYPER_CENSUS_FILE
    "\"\n"
    "scyper_ch_census_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const char scyper_ch_census_begin[];
extern "C" const char scyper_ch_census_end[];

namespace scyper::ch {

size_t write_last_name(int64_t number, char* out) {
  static constexpr std::string_view kSyllables[] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                    "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  CHECK(number >= 0 && number < 1000);
  char* end = out;
  for (const int64_t digit : {number / 100, number / 10 % 10, number % 10}) {
    const std::string_view syllable = kSyllables[digit];
    std::memcpy(end, syllable.data(), syllable.size());
    end += syllable.size();
  }
  return static_cast<size_t>(end - out);
}

NameSampler::NameSampler() {
  constexpr double kRareWeight = 0.000156;  // (90.5 - 79.6) percent over the 69,960 names that read 0.000
  std::string_view file(scyper_ch_census_begin, static_cast<size_t>(scyper_ch_census_end - scyper_ch_census_begin));
  std::vector<double> weights;
  while (!file.empty()) {
    const size_t line_end = std::min(file.find('\n'), file.size());
    const std::string_view line = file.substr(0, line_end);
    file.remove_prefix(std::min(line_end + 1, file.size()));
    const size_t comma = line.find(',');
    CHECK(comma != std::string_view::npos && comma > 0 && comma <= 16);
    double weight = 0, unit = 0;
    for (const char c : line.substr(comma + 1)) {
      if (c == '.') {
        unit = 1;
      } else if (c >= '0' && c <= '9') {
        weight = weight * 10 + (c - '0');
        unit *= 10;
      }
    }
    weight /= unit > 0 ? unit : 1;
    names_.push_back(line.substr(0, comma));
    weights.push_back(weight > 0 ? weight : kRareWeight);
  }
  CHECK(!names_.empty());
  build_slots(weights);
}

void NameSampler::build_slots(const std::vector<double>& weights) {
  double total = 0;
  for (const double weight : weights) total += weight;
  std::vector<double> share(weights.size());
  std::vector<uint32_t> small, large;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    share[i] = weights[i] * static_cast<double>(weights.size()) / total;
    (share[i] < 1 ? small : large).push_back(i);
  }
  slots_.resize(weights.size());
  for (uint32_t i = 0; i < slots_.size(); ++i) slots_[i].alias = i;
  while (!small.empty() && !large.empty()) {
    const uint32_t poor = small.back(), rich = large.back();
    small.pop_back();
    slots_[poor] = {static_cast<uint32_t>(share[poor] * 4294967295.0), rich};
    share[rich] -= 1 - share[poor];
    if (share[rich] < 1) {
      large.pop_back();
      small.push_back(rich);
    }
  }
}

}  // namespace scyper::ch
