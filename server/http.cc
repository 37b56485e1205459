#include "http.h"

#include <civetweb.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace scyper::server {

namespace {

const char* reason_of(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

// CivetWeb prints to stderr by itself otherwise.
int keep_quiet(const mg_connection*, const char*) { return 1; }

}  // namespace

// Paths are whole: CivetWeb would take "/" for all of them.
int HttpEndpoint::answer(mg_connection* connection, void* endpoint) {
  const mg_request_info* request = mg_get_request_info(connection);
  const bool is_head = std::strcmp(request->request_method, "HEAD") == 0;
  const bool is_get = std::strcmp(request->request_method, "GET") == 0;
  const Page* page = static_cast<HttpEndpoint*>(endpoint)->find(request->local_uri);
  HttpResponse response;
  if (page == nullptr) {
    response.code = 404;
    response.body = "there is no such page\n";
  } else if (is_get || is_head) {
    response = (*page)();
  } else {
    response.code = 405;
    response.body = "only GET is allowed\n";
  }
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
            "Content-Security-Policy: %s\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            response.code, reason_of(response.code), response.content_type.c_str(), response.body.size(),
            response.policy.c_str());
  if (!is_head) mg_write(connection, response.body.data(), response.body.size());
  return response.code;
}

StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::start(const std::string& address,
                                                            std::map<std::string, Page> pages) {
  static const unsigned kLibrary = mg_init_library(0);
  static_cast<void>(kLibrary);
  std::unique_ptr<HttpEndpoint> endpoint(new HttpEndpoint());
  endpoint->pages_ = std::move(pages);
  endpoint->host_ = address.substr(0, address.rfind(':'));
  if (endpoint->host_ == "0.0.0.0") endpoint->host_ = "127.0.0.1";
  const char* settings[] = {"listening_ports", address.c_str(),
                            // a client that says nothing holds one of them until its time is over
                            "num_threads", "32", "request_timeout_ms", "2000", "connection_queue", "200", "decode_url",
                            "yes", "enable_directory_listing", "no", nullptr};
  mg_callbacks callbacks{};
  callbacks.log_message = keep_quiet;
  endpoint->context_ = mg_start(&callbacks, nullptr, settings);
  if (endpoint->context_ == nullptr) {
    return absl::UnavailableError("cannot listen for HTTP on " + address + ": is the address in use?");
  }
  mg_server_port port{};
  if (mg_get_server_ports(endpoint->context_, 1, &port) == 1) endpoint->port_ = static_cast<uint16_t>(port.port);
  mg_set_request_handler(endpoint->context_, "/", answer, endpoint.get());
  return endpoint;
}

// CivetWeb's listener looks at its stop flag when a connection comes, or after two seconds: so one is made.
HttpEndpoint::~HttpEndpoint() {
  if (context_ == nullptr) return;
  std::atomic<bool> is_stopped{false};
  std::thread stopper([&] {
    mg_stop(context_);
    is_stopped = true;
  });
  while (!is_stopped) {
    char error[64];
    if (mg_connection* wake = mg_connect_client(host_.c_str(), port_, 0, error, sizeof(error)))
      mg_close_connection(wake);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  stopper.join();
}

}  // namespace scyper::server
