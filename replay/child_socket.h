#pragma once

#include <cstddef>

// Whole messages over the stream socket between a node and its forked child. Threads: one per direction. Fork: either
// side.
namespace scyper::replay {

// False: the other side has gone.
bool send_all(int socket, const void* bytes, size_t size);
bool receive_all(int socket, void* bytes, size_t size);

}  // namespace scyper::replay
