#pragma once

#include <string>

#include "client/client.h"

// `scyper status --storage`.
namespace scyper::client {

std::string storage_json(const StorageStatus& status);
std::string storage_table(const StorageStatus& status);

}  // namespace scyper::client
