#include "pages.h"

#include <google/protobuf/util/json_util.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "activity_metrics.h"
#include "admin_service.h"
#include "exposition.h"
#include "node_metrics.h"
#include "page/page.h"
#include "replication_metrics.h"

namespace scyper::server {

namespace {

HttpResponse show_metrics(NodeParts* node) {
  std::vector<MetricFamily> families = node->metrics->collect();
  append_node_metrics(*node, &families);
  append_activity_metrics(*node, &families);
  append_replication_metrics(node->engine, &families);
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = render_metrics(families)};
}

// As `scyper status` gets it; whatever is 0 or empty is there, too.
HttpResponse show_status(NodeParts* node) {
  v1::StatusResponse status;
  fill_status(node, &status);
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  HttpResponse response;
  response.content_type = "application/json";
  if (!google::protobuf::util::MessageToJsonString(status, &response.body, options).ok()) response.code = 500;
  return response;
}

HttpResponse show_answer(const Status& status, const char* yes) {
  HttpResponse response;
  response.code = status.ok() ? 200 : 503;
  response.body = status.ok() ? std::string(yes) : absl::StrCat(status.message(), "\n");
  return response;
}

}  // namespace

std::map<std::string, HttpEndpoint::Page> make_pages(NodeParts* node, Readiness* readiness) {
  std::map<std::string, HttpEndpoint::Page> pages;
  pages["/"] = [] {
    return HttpResponse{.content_type = "text/html; charset=utf-8", .body = std::string(kPage), .policy = kPagePolicy};
  };
  pages["/status.json"] = [node] { return show_status(node); };
  pages["/metrics"] = [node] { return show_metrics(node); };
  pages["/healthz"] = [node] { return show_answer(node->stopping ? stopping_error() : Status(), "ok\n"); };
  pages["/readyz"] = [readiness] { return show_answer(readiness->check(), "ready\n"); };
  pages["/primary"] = [readiness] {
    return show_answer(readiness->check_role(Readiness::Role::kPrimary), "primary\n");
  };
  pages["/replica"] = [readiness] {
    return show_answer(readiness->check_role(Readiness::Role::kReplica), "replica\n");
  };
  return pages;
}

}  // namespace scyper::server
