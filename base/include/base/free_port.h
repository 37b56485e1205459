#pragma once

#include <cstdint>

namespace scyper {

// A TCP port of the loopback interface that nothing listens on at the moment, and that nobody else gets here as long as
// this process lives; 0 where there is none. Any thread.
uint16_t free_port();

}  // namespace scyper
