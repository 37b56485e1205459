#include "consensus/server_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpcpp/security/server_credentials.h>

#include <atomic>
#include <utility>

namespace scyper::consensus {

namespace {

struct ServerTls {
  const std::shared_ptr<TlsFiles> tls;
  const CallCheck check;
  std::atomic<uint64_t> version{0};  // that gRPC has
};

grpc_ssl_certificate_config_reload_status fetch_texts(void* shared, grpc_ssl_server_certificate_config** config) {
  auto* state = static_cast<ServerTls*>(shared);
  const auto texts = state->tls->texts();
  if (state->version.exchange(texts->version) == texts->version) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const grpc_ssl_pem_key_cert_pair pair{texts->key.c_str(), texts->certificate.c_str()};
  // without authorities nobody is asked for a certificate, but gRPC wants some text
  *config = grpc_ssl_server_certificate_config_create(texts->trusted().c_str(), &pair, 1);
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

std::string certificate_name(const grpc_auth_context* context) {
  grpc_auth_property_iterator names = grpc_auth_context_find_properties_by_name(context, GRPC_X509_CN_PROPERTY_NAME);
  const grpc_auth_property* name = grpc_auth_property_iterator_next(&names);
  return name == nullptr ? std::string() : std::string(name->value, name->value_length);
}

void check_call(void* shared, grpc_auth_context* context, const grpc_metadata* metadata, size_t count,
                grpc_process_auth_metadata_done_cb done, void* user_data) {
  std::string_view path;
  for (size_t i = 0; i < count; ++i) {
    const auto view = [](const grpc_slice& slice) {
      return std::string_view(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice));
    };
    if (view(metadata[i].key) == ":path") path = view(metadata[i].value);
  }
  const Status status = static_cast<ServerTls*>(shared)->check(path, certificate_name(context));
  const std::string message(status.message());
  done(user_data, nullptr, 0, nullptr, 0, static_cast<grpc_status_code>(status.code()),
       status.ok() ? nullptr : message.c_str());
}

void free_shared(void* shared) { delete static_cast<ServerTls*>(shared); }

class ReloadedCredentials final : public grpc::ServerCredentials {
 public:
  ReloadedCredentials(std::shared_ptr<TlsFiles> tls, CallCheck check) {
    auto* shared = new ServerTls{std::move(tls), std::move(check)};
    const auto clients = shared->tls->texts()->authorities.empty()
                             ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                             : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(clients, fetch_texts, shared));
    // gRPC keeps the credentials for longer than this object; what a processor owns goes with them
    grpc_server_credentials_set_auth_metadata_processor(credentials_,
                                                        {shared->check ? check_call : nullptr, free_shared, shared});
  }
  ~ReloadedCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}  // it is CallCheck

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* credentials_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> make_server_credentials(std::shared_ptr<TlsFiles> tls, CallCheck check) {
  return std::make_shared<ReloadedCredentials>(std::move(tls), std::move(check));
}

}  // namespace scyper::consensus
