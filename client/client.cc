#include "client/client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text_file.h"
#include "client_parts.h"
#include "server/messages.h"
#include "server/packed.h"
#include "stream_parts.h"
#include "wire.h"

namespace scyper::client {

namespace {

StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials_of(const ConnectOptions& options) {
  if (options.tls_ca.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions tls;
  SCYPER_ASSIGN_OR_RETURN(tls.pem_root_certs, read_text_file(options.tls_ca));
  if (!options.tls_cert.empty()) {
    SCYPER_ASSIGN_OR_RETURN(tls.pem_cert_chain, read_text_file(options.tls_cert));
    SCYPER_ASSIGN_OR_RETURN(tls.pem_private_key, read_text_file(options.tls_key));
  }
  return grpc::SslCredentials(tls);
}

// Whether it has connected by then. gRPC itself tries again a second after a refusal.
bool wait_for(grpc::Channel* channel, std::chrono::system_clock::time_point until, bool fails_when_refused) {
  if (!fails_when_refused) return channel->WaitForConnected(until);
  auto state = channel->GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
    if (!channel->WaitForStateChange(state, until)) return false;
    state = channel->GetState(/*try_to_connect=*/true);
  }
  return true;
}

auto in_ms(int64_t ms) { return std::chrono::system_clock::now() + std::chrono::milliseconds(ms); }

void fill_arguments(const Prepared& prepared, std::span<const Datum> arguments, std::string* out) {
  server::append_row(prepared.parameters, arguments.data(), out);
}

Status check_count(const Prepared& prepared, std::span<const Datum> arguments) {
  if (arguments.size() == prepared.parameters.size()) return {};
  return sql_error("08P01", "the call supplies " + std::to_string(arguments.size()) +
                                " arguments, but the statement requires " + std::to_string(prepared.parameters.size()));
}

}  // namespace

Client::Client(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Client::~Client() = default;

void wait_by_thread() { ::setenv("GRPC_POLL_STRATEGY", "poll", /*overwrite=*/0); }

StatusOr<std::unique_ptr<Client>> Client::connect(const ConnectOptions& options) {
  SCYPER_ASSIGN_OR_RETURN(auto credentials, credentials_of(options));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // Each client its own connection: the process-wide pool would put all streams of a load generator on one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Nobody uses these; each message of a small call would pay for them.
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  auto channel = grpc::CreateCustomChannel(options.target, credentials, arguments);
  if (!wait_for(channel.get(), in_ms(options.connect_timeout_ms), options.fails_when_refused)) {
    return with_hint(sql_error("08001", "could not connect to " + options.target),
                     "Is scyperd running there, and does it expect TLS?");
  }
  auto parts = std::make_unique<Parts>(std::move(channel));
  if (options.call_timeout_ms > 0) parts->call_timeout_ms = options.call_timeout_ms;
  if (!options.keeps_streams) parts->call_streams.give_up();
  return std::unique_ptr<Client>(new Client(std::move(parts)));
}

bool Client::is_connected() const { return parts_->channel->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY; }

StatusOr<std::shared_ptr<const Prepared>> Client::prepare(std::string_view sql) {
  grpc::ClientContext context;
  context.set_deadline(in_ms(parts_->call_timeout_ms));
  v1::PrepareRequest request;
  v1::PrepareResponse response;
  request.set_sql(std::string(sql));
  SCYPER_RETURN_IF_ERROR(status_of(parts_->transactions->Prepare(&context, request, &response)));
  return prepared_of(sql, response);
}

Status Client::Parts::call_alone(const v1::Call& call, v1::CallResult* result) {
  grpc::ClientContext context;
  context.set_deadline(in_ms(call_timeout_ms));
  v1::CallRequest request;
  *request.mutable_call() = call;
  v1::CallResponse response;
  SCYPER_RETURN_IF_ERROR(status_of(transactions->Call(&context, request, &response)));
  result->Swap(response.mutable_result());
  return {};
}

Status Client::Parts::call(const v1::CallBatch& batch, v1::CallResult* result) {
  std::unique_ptr<CallStream> stream = call_streams.take(transactions.get());
  if (stream == nullptr) return call_alone(batch.calls(0), result);
  v1::ResultBatch answer;
  grpc::Status why;
  const bool is_answered = stream->run(batch, std::chrono::milliseconds(call_timeout_ms), &answer, &why);
  const bool is_sound = is_answered && answer.results_size() == 1;
  if (!is_sound) stream.reset();
  call_streams.give_back(std::move(stream));
  if (is_answered) {
    if (!is_sound) return sql_error("08P01", "the node sent malformed results");
    result->Swap(answer.mutable_results(0));
    return {};
  }
  if (why.ok()) return sql_error("08006", "the node has closed the stream");
  Status status = status_of(why);
  if (sqlstate_of(status) != "53300") return status;
  call_streams.give_up();  // the node wants no streams, or no more of them, and has not looked at the call
  return call_alone(batch.calls(0), result);
}

Status Client::call(const Prepared& prepared, std::span<const Datum> arguments, query::ResultSet* result,
                    uint32_t timeout_ms, const CallIdentity& identity) {
  SCYPER_RETURN_IF_ERROR(check_count(prepared, arguments));
  v1::CallBatch batch;
  v1::Call& call = *batch.add_calls();
  call.set_statement_id(prepared.id);
  call.set_client_id(identity.client_id);
  call.set_request_id(identity.request_id);
  if (!arguments.empty()) fill_arguments(prepared, arguments, call.mutable_packed_arguments());
  // the node gives up when this client does
  const auto patience_ms = static_cast<uint32_t>(parts_->call_timeout_ms);
  call.set_timeout_ms(timeout_ms == 0 ? patience_ms : std::min(timeout_ms, patience_ms));
  v1::CallResult answer;
  Status status;
  for (int attempt = 0; attempt < 2; ++attempt) {
    status = parts_->call(batch, &answer);
    if (status.ok() && answer.has_error()) status = status_of(answer.error());
    if (sqlstate_of(status) != "26000") break;
    SCYPER_RETURN_IF_ERROR(prepare(prepared.sql).status());
  }
  SCYPER_RETURN_IF_ERROR(status);
  return server::read_result(answer, result);
}

Status Client::execute(std::string_view sql, const ResultHandler& each) {
  grpc::ClientContext context;
  v1::ExecuteRequest request;
  request.set_sql(std::string(sql));
  request.set_packed_rows(true);
  auto reader = parts_->queries->Execute(&context, request);
  v1::ExecuteResponse response;
  query::ResultSet result;
  Status malformed;
  while (reader->Read(&response)) {
    if (response.has_header()) {
      result.clear();
      result.columns = server::columns_of(response.header().columns());
    } else if (response.has_rows() && malformed.ok()) {
      malformed = append_rows(response.rows().packed(), response.rows().row_count(), &result);
      if (!malformed.ok()) context.TryCancel();
    } else if (response.has_complete() && malformed.ok()) {
      server::read_end(response.complete(), &result);
      each(result);
    }
  }
  Status status = status_of(reader->Finish());
  return malformed.ok() ? status : malformed;
}

StatusOr<std::unique_ptr<Stream>> Client::open_stream() {
  auto parts = std::make_unique<Stream::Parts>();
  parts->channel = parts_->channel;
  parts->stream = parts_->transactions->Stream(&parts->context);
  return std::unique_ptr<Stream>(new Stream(std::move(parts)));
}

StatusOr<std::unique_ptr<Loading>> Client::open_load(const std::string& table) {
  SCYPER_ASSIGN_OR_RETURN(Description description, describe());
  for (TableDescription& candidate : description.tables) {
    if (candidate.name != table) continue;
    auto parts = std::make_unique<Loading::Parts>();
    parts->channel = parts_->channel;
    parts->table = table;
    parts->columns = std::move(candidate.columns);
    parts->stream = parts_->admin->Load(&parts->context);
    return std::unique_ptr<Loading>(new Loading(std::move(parts)));
  }
  return sql_error("42P01", "relation \"" + table + "\" does not exist");
}

static void note_election(const v1::StatusResponse& response, NodeStatus* out) {
  out->election = response.election();
  out->etcd = response.etcd();
  out->paused = response.paused();
  out->leader = response.leader();
  for (const v1::Voter& voter : response.voters()) out->voters.push_back({voter.node(), voter.here()});
  out->etcd_answers = response.etcd_answers();
  out->lease_left_ms = response.lease_left_ms();
  out->leader_changes = response.leader_changes();
}

static query::SlowQuery slow_query_of(const v1::SlowQuery& s) {
  return {.text = s.text(),
          .time_us = s.ended_us(),
          .total_ms = s.total_ms(),
          .wait_ms = s.wait_ms(),
          .compile_ms = s.compile_ms(),
          .run_ms = s.run_ms(),
          .rows = s.rows(),
          .memory_bytes = s.memory_bytes(),
          .spilled_bytes = s.spilled_bytes(),
          .times = s.times(),
          .is_answered = s.answered()};
}

static void note_transport(const v1::StatusResponse& response, NodeStatus* out) {
  out->transport = response.transport();
  out->transport_note = response.transport_note();
  out->multicast_channels = response.multicast_channels();
  out->malformed_datagrams = response.malformed_datagrams();
  out->forged_datagrams = response.forged_datagrams();
  out->replayed_datagrams = response.replayed_datagrams();
  out->is_encrypted = response.encrypted();
  out->datagrams_sent = response.datagrams_sent();
}

static void note_activity(const v1::StatusResponse& response, NodeStatus* out) {
  out->queue_depths.assign(response.queue_depths().begin(), response.queue_depths().end());
  for (const v1::Procedure& p : response.procedures()) {
    out->procedures.push_back(
        {p.name(), p.committed(), p.rolled_back(), p.wait_p50_ms(), p.wait_p99_ms(), p.run_p50_ms(), p.run_p99_ms()});
  }
  const v1::QueryActivity& q = response.queries();
  out->queries = {q.started(),
                  q.answered(),
                  q.broken(),
                  q.refused(),
                  q.running(),
                  q.waiting(),
                  q.sessions(),
                  q.snapshots(),
                  q.snapshots_made(),
                  q.snapshots_lost(),
                  q.snapshot_bytes(),
                  q.spilled_bytes(),
                  q.snapshot_oldest_ms(),
                  q.snapshot_stall_ms_max()};
  for (const v1::SlowQuery& s : response.slow_queries()) out->slow_queries.push_back(slow_query_of(s));
  for (const v1::SlowQuery& s : response.slow_transactions()) out->slow_transactions.push_back(slow_query_of(s));
  for (const v1::RunningStatement& r : response.running()) {
    out->running.push_back(
        {r.pid(), r.user(), r.application(), r.client(), r.state(), r.text(), r.ms(), r.transaction_ms()});
  }
}

namespace {

SecondaryStatus secondary_status_of(const v1::Secondary& s) {
  SecondaryStatus out{s.node(),
                      s.address(),
                      s.transport(),
                      s.voter(),
                      s.serves(),
                      s.received_lsn(),
                      s.durable_lsn(),
                      s.applied_lsn(),
                      s.snapshot(),
                      s.queries(),
                      s.repaired(),
                      s.resets(),
                      s.silent_ms(),
                      s.lag_ms(),
                      s.lag_bytes(),
                      s.digests_equal(),
                      s.digests_different(),
                      s.digest_lsn(),
                      s.difference()};
  out.has_room = !s.no_room();
  out.partitions = s.partitions();
  return out;
}

}  // namespace

StatusOr<NodeStatus> Client::status(int timeout_ms) {
  grpc::ClientContext context;
  context.set_deadline(in_ms(timeout_ms));
  v1::StatusResponse r;
  SCYPER_RETURN_IF_ERROR(status_of(parts_->admin->Status(&context, v1::StatusRequest(), &r)));
  NodeStatus out;
  out.version = r.version();
  out.role = r.role();
  out.node = r.node();
  note_transport(r, &out);
  out.primary = r.primary();
  out.not_serving = r.not_serving();
  note_election(r, &out);
  note_activity(r, &out);
  out.term = r.term();
  out.commit_lsn = r.commit_lsn();
  out.received_lsn = r.received_lsn();
  out.applied_lsn = r.applied_lsn();
  out.lag_ms = r.lag_ms();
  out.inbox_bytes = r.inbox_bytes();
  out.repairs = r.repairs();
  out.repaired_groups = r.repaired_groups();
  out.subscribed = r.subscribed();
  out.seeded_from = r.seeded_from();
  out.peer = r.peer();
  out.peer_groups = r.peer_groups();
  out.peer_failures = r.peer_failures();
  out.resets = r.resets();
  out.replication_bytes = r.replication_bytes();
  out.digests = r.digests();
  out.digest_lsn = r.digest_lsn();
  for (const v1::Stage& stage : r.stages()) {
    out.stages.push_back({stage.name(), stage.count(), stage.mean_ms(), stage.p50_ms(), stage.p99_ms()});
  }
  out.snapshots_global = r.snapshots_global();
  for (const v1::Secondary& s : r.secondaries()) out.secondaries.push_back(secondary_status_of(s));
  out.execution = r.execution();
  out.redo = r.redo();
  out.layout = r.layout();
  out.uptime_seconds = r.uptime_seconds();
  out.partitions = r.partitions();
  out.workers = r.workers();
  out.streams = r.streams();
  out.stream_calls_max = r.stream_calls_max();
  out.memory_used_bytes = r.memory_used_bytes();
  out.memory_budget_bytes = r.memory_budget_bytes();
  out.queue_depth = r.queue_depth();
  out.committed = r.committed();
  out.rolled_back = r.rolled_back();
  out.crossing = r.crossing();
  out.misclassified = r.misclassified();
  out.refused = r.refused();
  out.redo_bytes = r.redo_bytes();
  out.statements_compiled = r.statements_compiled();
  out.stopping = r.stopping();
  out.commit_mode = r.commit_mode();
  out.last_lsn = r.last_lsn();
  out.durable_lsn = r.durable_lsn();
  out.log_bytes = r.log_bytes();
  out.archive_bytes = r.archive_bytes();
  out.damaged_archives = r.damaged_archives();
  out.log_full = r.log_full();
  return out;
}

StatusOr<BackupResult> Client::backup(const std::string& directory) {
  grpc::ClientContext context;  // as long as it takes
  v1::BackupRequest request;
  request.set_directory(directory);
  v1::BackupResponse r;
  SCYPER_RETURN_IF_ERROR(status_of(parts_->admin->Backup(&context, request, &r)));
  return BackupResult{r.lsn(), r.rows(), r.raw_bytes(), r.stored_bytes(), r.path(), r.seconds()};
}

namespace {

TableStorage storage_of(const v1::TableStorage& table) {
  TableStorage out;
  out.name = table.name();
  storage::TableTemperature& t = out.temperature;
  t.hot = {table.hot().chunks(), table.hot().tuples()};
  t.cooling = {table.cooling().chunks(), table.cooling().tuples()};
  t.cold = {table.cold().chunks(), table.cold().tuples()};
  t.frozen = {table.frozen().chunks(), table.frozen().tuples()};
  t.hot_bytes = table.hot_bytes();
  t.frozen_bytes = table.frozen_bytes();
  t.dictionary_bytes = table.dictionary_bytes();
  t.thawed_bytes = table.thawed_bytes();
  t.invalid_tuples = table.invalid_tuples();
  t.invalid_ranges = table.invalid_ranges();
  t.tiered_bytes = table.tiered_bytes();
  t.relevant_tuples = table.relevant_tuples();
  t.irrelevant_tuples = table.irrelevant_tuples();
  for (const v1::TableStorage::LearnedView& view : table.learned_views()) {
    out.learned_views.push_back({view.name(),
                                 view.workload(),
                                 view.condition(),
                                 {view.columns().begin(), view.columns().end()},
                                 view.statements(),
                                 view.rows_left_out()});
  }
  for (const v1::TableStorage::Attribute& a : table.attributes()) {
    t.attributes.push_back({a.name(), a.frozen_bytes(), a.thawed_bytes(), a.dictionary_bytes(), a.dictionary_values()});
  }
  return out;
}

TierStatus tier_of(const v1::Tier& t) {
  std::vector<TierCacheStatus> caches;
  for (const v1::TierCache& c : t.caches()) {
    caches.push_back(
        {c.name(), c.policy(), c.bytes(), c.used_bytes(), c.hits(), c.faults(), c.pages_read(), c.read_errors()});
  }
  return {t.memory_bytes(), t.memory_budget_bytes(), t.vectors(),     t.vector_bytes(),     t.files(),
          t.evictions(),    t.failed_evictions(),    t.cache_bytes(), t.cache_used_bytes(), t.cache_hits(),
          t.cache_faults(), t.pages_read(),          t.read_errors(), std::move(caches)};
}

CompactionStatus compaction_of(const v1::Compaction& c) {
  CompactionStatus out;
  out.observer = c.observer();
  out.windows = c.windows();
  out.failed_windows = c.failed_windows();
  out.observer_seconds = c.observer_seconds();
  out.freeze_seconds = c.freeze_seconds();
  out.step_seconds = c.step_seconds();
  out.steps = c.steps();
  out.watched_chunks = c.watched_chunks();
  out.waiting_chunks = c.waiting_chunks();
  out.cooled = c.cooled();
  out.frozen = c.frozen();
  out.returned = c.returned();
  out.cooling = c.cooling();
  out.reheated = c.reheated();
  out.relocated_tuples = c.relocated_tuples();
  out.emptied = c.emptied();
  out.without_memory = c.without_memory();
  out.moved_tuples = c.moved_tuples();
  out.memory_used_bytes = c.memory_used_bytes();
  out.memory_retired_bytes = c.memory_retired_bytes();
  out.memory_budget_bytes = c.memory_budget_bytes();
  if (c.has_tier()) out.tier = tier_of(c.tier());
  return out;
}

}  // namespace

StatusOr<StorageStatus> Client::storage() {
  grpc::ClientContext context;
  context.set_deadline(in_ms(parts_->call_timeout_ms));
  v1::StorageResponse response;
  SCYPER_RETURN_IF_ERROR(status_of(parts_->admin->Storage(&context, v1::StorageRequest(), &response)));
  StorageStatus out;
  for (const v1::TableStorage& table : response.tables()) out.tables.push_back(storage_of(table));
  if (response.has_compaction()) out.compaction = compaction_of(response.compaction());
  return out;
}

StatusOr<Description> Client::describe() {
  grpc::ClientContext context;
  context.set_deadline(in_ms(parts_->call_timeout_ms));
  v1::DescribeResponse response;
  SCYPER_RETURN_IF_ERROR(status_of(parts_->admin->Describe(&context, v1::DescribeRequest(), &response)));
  Description out;
  for (const v1::Table& table : response.tables()) {
    out.tables.push_back({table.name(),
                          table.partitioning(),
                          table.layout(),
                          table.rows(),
                          table.bytes(),
                          server::columns_of(table.columns()),
                          {table.indexes().begin(), table.indexes().end()},
                          {table.constraints().begin(), table.constraints().end()}});
  }
  for (const v1::Routine& routine : response.routines()) {
    out.routines.push_back({routine.signature(), routine.kind(), routine.classification()});
  }
  return out;
}

}  // namespace scyper::client
