// The wire as other clients use it: typed values, raw messages, health, reflection.

#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>

#include "google/rpc/details.pb.h"
#include "health.grpc.pb.h"
#include "scyper.grpc.pb.h"
#include "server_fixture.h"

namespace scyper::server {
namespace {

class ProtocolTest : public ServerTest {
 protected:
  void open() {
    start();
    channel = grpc::CreateChannel(target(), grpc::InsecureChannelCredentials());
    transactions = v1::Transactions::NewStub(channel);
  }
  // A unary call by name with encoded messages.
  std::pair<grpc::Status, std::string> raw_call(const std::string& method, const std::string& request) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    grpc::Slice slice(request);
    grpc::ByteBuffer out(&slice, 1), in;
    grpc::Status status;
    auto rpc = stub.PrepareUnaryCall(&context, method, out, &queue);
    rpc->StartCall();
    rpc->Finish(&in, &status, nullptr);
    void* tag;
    bool ok;
    queue.Next(&tag, &ok);
    std::vector<grpc::Slice> slices;
    std::string bytes;
    if (status.ok() && in.Dump(&slices).ok()) {
      for (const grpc::Slice& s : slices) bytes.append(reinterpret_cast<const char*>(s.begin()), s.size());
    }
    return {status, bytes};
  }

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Transactions::Stub> transactions;
};

void set_integer(v1::Call* call, int64_t value) { call->add_arguments()->set_integer(value); }

TEST_F(ProtocolTest, TypedCallsWithTextAndIds) {
  open();
  grpc::ClientContext context;
  auto stream = transactions->Stream(&context);
  v1::CallBatch batch;
  for (uint64_t id = 1; id <= 4; ++id) {
    v1::Call* call = batch.add_calls();
    call->set_request_id(id);
    call->set_sql(id == 4 ? "CALL nothing()" : "CALL add($1, $2)");
  }
  set_integer(batch.mutable_calls(0), 20);
  set_integer(batch.mutable_calls(0), 22);
  set_integer(batch.mutable_calls(1), 1);
  set_integer(batch.mutable_calls(1), int64_t{1} << 40);
  set_integer(batch.mutable_calls(2), 1);
  batch.mutable_calls(2)->add_arguments()->set_text("x");
  ASSERT_TRUE(stream->Write(batch));
  stream->WritesDone();
  std::map<uint64_t, v1::CallResult> results;
  v1::ResultBatch received;
  while (stream->Read(&received)) {
    for (const v1::CallResult& result : received.results()) results[result.request_id()] = result;
  }
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[1].rows(0).values(0).integer(), 42);
  EXPECT_EQ(results[1].columns(0).name(), "sum");
  EXPECT_EQ(results[2].error().sqlstate(), "22003");
  EXPECT_EQ(results[3].error().sqlstate(), "42804");
  EXPECT_EQ(results[4].error().sqlstate(), "42601");
  EXPECT_EQ(results[4].error().position(), 1);
}

TEST_F(ProtocolTest, EveryKindOfValueGoesThroughUnchanged) {
  open();
  v1::CallRequest request;
  v1::Call* call = request.mutable_call();
  call->set_request_id(77);
  call->set_sql("CALL echo($1, $2, $3, $4, $5, $6)");
  call->add_arguments()->set_integer(-5);
  call->add_arguments()->set_text("gr\xC3\xBC\xC3\x9F");
  auto* decimal = call->add_arguments()->mutable_decimal();
  decimal->set_high(-1);
  decimal->set_low(static_cast<uint64_t>(-1250));
  decimal->set_scale(2);
  call->add_arguments()->set_real(2.5);
  call->add_arguments()->set_timestamp(123'456'789);
  auto* array = call->add_arguments()->mutable_array();
  array->set_lower_bound(1);
  array->add_values()->set_text("a");
  array->add_values();
  grpc::ClientContext context;
  v1::CallResponse response;
  grpc::Status status = transactions->Call(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.result().request_id(), 77u);
  ASSERT_EQ(response.result().rows_size(), 1);
  ASSERT_EQ(response.result().rows(0).values_size(), 6);
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(
        google::protobuf::util::MessageDifferencer::Equals(call->arguments(i), response.result().rows(0).values(i)))
        << i;
  }
}

TEST_F(ProtocolTest, UnaryErrorsCarryGoogleDetails) {
  engine.queue_capacity = 0;
  open();
  v1::CallRequest request;
  request.mutable_call()->set_sql("CALL add($1, $2)");
  set_integer(request.mutable_call(), 1);
  set_integer(request.mutable_call(), 1);
  grpc::ClientContext context;
  v1::CallResponse response;
  grpc::Status status = transactions->Call(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  ASSERT_EQ(details.details_size(), 3);
  v1::Error error;
  google::rpc::ErrorInfo info;
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(details.details(0).UnpackTo(&error) && details.details(1).UnpackTo(&info) &&
              details.details(2).UnpackTo(&retry));
  EXPECT_EQ(error.sqlstate(), "53300");
  EXPECT_EQ(info.reason(), "53300");
  EXPECT_GT(retry.retry_delay().nanos(), 0);
}

TEST_F(ProtocolTest, InvalidUtf8IsAnErrorOfTheStatement) {
  open();
  v1::CallRequest request;
  request.mutable_call()->set_sql("CALL \xFF()");
  grpc::ClientContext context;
  v1::CallResponse response;
  grpc::Status status = transactions->Call(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_details().find("22021"), std::string::npos);
}

TEST_F(ProtocolTest, GarbageEndsTheStreamAndNothingElse) {
  open();
  for (std::string garbage : {std::string("x"), std::string(24, '\xFF'), std::string(23, '\0')}) {
    grpc::ClientContext context;
    auto stream = transactions->Stream(&context);
    v1::CallBatch batch;
    batch.set_packed_calls(garbage);
    ASSERT_TRUE(stream->Write(batch));
    v1::ResultBatch received;
    while (stream->Read(&received)) {
    }
    grpc::Status status = stream->Finish();
    EXPECT_NE(status.error_details().find("08P01"), std::string::npos) << status.error_message();
  }
  EXPECT_EQ(raw_call("/scyper.v1.Transactions/Call", "\xFF\xFF garbage").first.ok(), false);
  EXPECT_TRUE(raw_call("/scyper.v1.Admin/Status", "").first.ok());
  // the client hears of the end before the server has put the session away
  wait_until([&] { return metric("scyper_server_streams_open") == 0; }, "a session is left");
}

TEST_F(ProtocolTest, ManyBatchesOfUnknownTextKeepTheirOrder) {
  open();
  grpc::ClientContext context;
  auto stream = transactions->Stream(&context);
  for (uint64_t id = 0; id < 100; ++id) {
    v1::CallBatch batch;
    batch.add_calls()->set_request_id(id);
    batch.mutable_calls(0)->set_sql("CALL unknown" + std::to_string(id) + "()");
    ASSERT_TRUE(stream->Write(batch));
  }
  stream->WritesDone();
  uint64_t next = 0;
  v1::ResultBatch received;
  while (stream->Read(&received)) {
    for (const v1::CallResult& result : received.results()) EXPECT_EQ(result.request_id(), next++);
  }
  EXPECT_EQ(next, 100u);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ProtocolTest, HealthAndReflectionAnswer) {
  open();
  auto [status, answer] = raw_call("/grpc.health.v1.Health/Check", "");
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(answer, "\x08\x01");  // SERVING
  for (std::string service : {"scyper.v1.Transactions", "scyper.v1.Queries", "scyper.v1.Admin"}) {
    std::string request = std::string("\x0A") + static_cast<char>(service.size()) + service;
    EXPECT_EQ(raw_call("/grpc.health.v1.Health/Check", request).second, "\x08\x01") << service;
  }
  EXPECT_FALSE(raw_call("/grpc.health.v1.Health/Check", "\x0A\x07nothing").first.ok());
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  auto rpc = stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  void* tag;
  bool ok;
  rpc->StartCall(nullptr);
  queue.Next(&tag, &ok);
  grpc::Slice list("\x3A\x01*");  // list_services: "*"
  rpc->Write(grpc::ByteBuffer(&list, 1), nullptr);
  queue.Next(&tag, &ok);
  grpc::ByteBuffer in;
  rpc->Read(&in, nullptr);
  queue.Next(&tag, &ok);
  ASSERT_TRUE(ok);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(in.Dump(&slices).ok());
  std::string services;
  for (const grpc::Slice& s : slices) services.append(reinterpret_cast<const char*>(s.begin()), s.size());
  for (const char* name : {"scyper.v1.Transactions", "scyper.v1.Queries", "scyper.v1.Admin", "grpc.health.v1.Health"}) {
    EXPECT_NE(services.find(name), std::string::npos) << name;
  }
  context.TryCancel();
  grpc::Status end;
  rpc->Finish(&end, nullptr);
  queue.Next(&tag, &ok);
}

TEST_F(ProtocolTest, WatchesOfHealthHearOfTheStopAndEnd) {
  using grpc::health::v1::HealthCheckResponse;
  open();
  auto stub = grpc::health::v1::Health::NewStub(channel);
  grpc::ClientContext contexts[3];
  std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> watches[3];
  HealthCheckResponse state;
  for (int i = 0; i < 3; ++i) {
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(i == 1 ? "nothing" : "");
    watches[i] = stub->Watch(&contexts[i], request);
    ASSERT_TRUE(watches[i]->Read(&state));
    EXPECT_EQ(state.status(), i == 1 ? HealthCheckResponse::SERVICE_UNKNOWN : HealthCheckResponse::SERVING);
  }
  contexts[2].TryCancel();  // one that goes leaves nothing
  EXPECT_FALSE(watches[2]->Read(&state));
  EXPECT_EQ(watches[2]->Finish().error_code(), grpc::StatusCode::CANCELLED);

  server->stop();
  ASSERT_TRUE(watches[0]->Read(&state));
  EXPECT_EQ(state.status(), HealthCheckResponse::NOT_SERVING);
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(watches[i]->Read(&state));
    EXPECT_EQ(watches[i]->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
}

}  // namespace
}  // namespace scyper::server
