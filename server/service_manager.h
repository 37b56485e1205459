#pragma once

#include <string_view>

namespace scyper::server {

// Tells systemd, where it has started this process as Type=notify, what the process is doing: lines like "READY=1",
// "STOPPING=1", "STATUS=text" (sd_notify(3); its protocol is one datagram, which is not worth a library). Else nothing
// happens. Threads: any.
void tell_service_manager(std::string_view lines);

}  // namespace scyper::server
