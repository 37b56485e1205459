#include "pages.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "activity_metrics.h"
#include "exposition.h"
#include "node_metrics.h"
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

HttpResponse show_answer(const Status& status, const char* yes) {
  HttpResponse response;
  response.code = status.ok() ? 200 : 503;
  response.body = status.ok() ? std::string(yes) : absl::StrCat(status.message(), "\n");
  return response;
}

}  // namespace

std::map<std::string, HttpEndpoint::Page> make_pages(NodeParts* node, Readiness* readiness) {
  std::map<std::string, HttpEndpoint::Page> pages;
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
