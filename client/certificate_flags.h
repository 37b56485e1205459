#pragma once

#include <functional>

#include "certificates.h"

namespace CLI {
class App;
}

namespace scyper::client {

// The command; what is given sets `run`. All outlive `app`.
void add_certificates(CLI::App* app, CertificateOptions* options, std::function<int()>* run);

}  // namespace scyper::client
