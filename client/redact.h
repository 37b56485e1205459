#pragma once

#include <cstddef>
#include <string>

namespace scyper::client {

// A text of people's settings or messages without what may be secret: what stands in a line behind words like password,
// secret, token or authorization (in the next line, where nothing does), SCRAM verifiers, passwords in URLs, private
// keys. Rather too much than too little. `removed` counts.
std::string redact(const std::string& text, size_t* removed);

}  // namespace scyper::client
