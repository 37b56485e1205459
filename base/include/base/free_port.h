#pragma once

#include <cstdint>

namespace scyper {

// A TCP port of the loopback interface that nothing listens on at the moment; 0 where there is none. Any thread.
uint16_t free_port();

}  // namespace scyper
