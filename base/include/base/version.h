#pragma once

#include <string_view>

namespace scyper {

// What SELECT version() and --version print.
constexpr std::string_view kVersionText = "ScyPer 0.1.0";

}  // namespace scyper
