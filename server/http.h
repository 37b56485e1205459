#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"

struct mg_connection;
struct mg_context;

namespace scyper::server {

struct HttpResponse {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string policy = "default-src 'none'";  // what a browser may load for it
};

// A small HTTP server (CivetWeb, threads of its own) for /metrics, /healthz, /readyz and what later needs a page.
class HttpEndpoint {
 public:
  using Page = std::function<HttpResponse()>;

  // address: "host:port"; port 0 picks a free one.
  static StatusOr<std::unique_ptr<HttpEndpoint>> start(const std::string& address, std::map<std::string, Page> pages);
  ~HttpEndpoint();
  uint16_t port() const { return port_; }

 private:
  HttpEndpoint() = default;

  const Page* find(const std::string& path) const {
    const auto found = pages_.find(path);
    return found == pages_.end() ? nullptr : &found->second;
  }
  static int answer(mg_connection* connection, void* endpoint);

  std::map<std::string, Page> pages_;
  mg_context* context_ = nullptr;
  std::string host_;
  uint16_t port_ = 0;
};

}  // namespace scyper::server
