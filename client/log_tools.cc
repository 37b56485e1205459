// `scyper log inspect|verify|cut`: offline, on the files of a data directory.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "base/disk.h"
#include "error_format.h"
#include "programs.h"
#include "progress.h"
#include "replay/data_lock.h"
#include "replay/log_scan.h"
#include "replay/record.h"
#include "replay/recovery.h"
#include "replay/request_window.h"
#include "storage/row_change.h"

namespace scyper::client {

namespace {

const char* kind_name(replay::RedoKind kind) {
  switch (kind) {
    case replay::RedoKind::kStatement:
      return "statement";
    case replay::RedoKind::kLogical:
      return "logical";
    case replay::RedoKind::kLogicalText:
      return "text";
    case replay::RedoKind::kPhysical:
      return "physical";
    case replay::RedoKind::kMarker:
      return "marker";
    case replay::RedoKind::kDefinition:
      return "definition";
  }
  return "unknown";
}

std::string log_of(Disk* disk, const std::string& path) {
  return disk->exists(replay::log_directory(path)) ? replay::log_directory(path) : path;
}

struct Totals {
  uint64_t segments = 0, groups = 0, batches = 0, transactions = 0, raw_bytes = 0, stored_bytes = 0;
};

void print_record(const replay::RecordView& record, bool is_json, std::FILE* out) {
  const replay::RedoHeader& header = record.header;
  if (is_json) {
    std::fprintf(out,
                 "{\"record\": \"%s\", \"lsn\": %llu, \"partition\": %d, \"time_us\": %lld, \"request_id\": %llu, "
                 "\"bytes\": %zu}\n",
                 kind_name(header.kind), static_cast<unsigned long long>(header.lsn),
                 header.partition == replay::kNoPartition ? -1 : header.partition,
                 static_cast<long long>(header.time_us), static_cast<unsigned long long>(header.request_id),
                 record.bytes.size());
    return;
  }
  const bool is_text = header.kind == replay::RedoKind::kDefinition || header.kind == replay::RedoKind::kLogicalText;
  std::string text = is_text ? std::string(record.body.substr(0, 60)) : "";
  for (char& c : text) c = c == '\n' ? ' ' : c;
  std::fprintf(
      out, "      LSN %-10llu %-10s %-9s %6zu bytes  %s\n", static_cast<unsigned long long>(header.lsn),
      kind_name(header.kind),
      header.partition == replay::kNoPartition ? "alone" : ("part. " + std::to_string(header.partition)).c_str(),
      record.bytes.size(), text.c_str());
}

std::string shown_text(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) c = static_cast<unsigned char>(c) < ' ' && c != '\n' ? ' ' : c;
  return shown;
}

// The first row change of a physical record: kind, table and columns, as far as they can be told without the catalog.
std::string first_change(std::string_view body) {
  constexpr const char* kKinds[] = {"nothing", "insert into table", "update of table", "delete from table",
                                    "state of sequence"};
  if (body.empty()) return "no row change";
  const auto kind = static_cast<uint8_t>(body.front());
  if (kind == static_cast<uint8_t>(storage::RowChangeKind::kDefinition)) return "a definition";
  uint64_t number = 0, count = 0;
  body.remove_prefix(1);
  if (kind == 0 || kind >= std::size(kKinds) || !replay::take_varint(&body, &number)) return "no known row change";
  std::string text = absl::StrFormat("%s number %d", kKinds[kind], number);
  if (kind != static_cast<uint8_t>(storage::RowChangeKind::kUpdate)) return text;
  if (!replay::take_varint(&body, &count)) return text + ", whose columns are cut off";
  text += absl::StrFormat(", %d columns:", count);
  uint64_t column = 0, step = 0;
  for (uint64_t i = 0; i < count && replay::take_varint(&body, &step); ++i) {
    column += step;
    text += absl::StrFormat(" %d", column + 1);
  }
  return text;
}

std::string hex_dump(std::string_view bytes) {
  constexpr size_t kBytesShown = 256;
  std::string text;
  for (size_t i = 0; i < std::min(bytes.size(), kBytesShown); ++i) {
    text += absl::StrFormat("%s%02x", i % 32 == 0 ? "\n    " : " ", static_cast<unsigned char>(bytes[i]));
  }
  if (bytes.size() > kBytesShown) text += absl::StrFormat("\n    and %d bytes more", bytes.size() - kBytesShown);
  return text;
}

using Explained = std::map<uint64_t, std::string_view>;  // statements of a batch by number

// What one record does: the statement, or where its row changes begin.
void print_details(const replay::RecordView& record, uint32_t stream, const Explained& explained, bool is_json,
                   std::FILE* out) {
  std::string_view body = record.body;
  replay::RedoClient client;
  std::string_view rows;
  const bool has_client = (record.header.flags & replay::kRedoHasClient) != 0;
  if (has_client && !replay::take_client(&body, &client, &rows)) body = {};
  std::string what;
  uint64_t number = 0;
  switch (record.header.kind) {
    case replay::RedoKind::kLogical: {
      const bool is_there = replay::take_varint(&body, &number) && explained.contains(number);
      what = is_there ? shown_text(explained.at(number)) : "a statement that its batch does not explain";
      break;
    }
    case replay::RedoKind::kLogicalText:
    case replay::RedoKind::kDefinition:
      what = shown_text(body.substr(0, body.find('\0')));  // rows and values may follow
      body = {};
      break;
    case replay::RedoKind::kPhysical:
      what = first_change(body);
      break;
    default:
      break;
  }
  print_record(record, is_json, out);
  if (is_json) return;
  std::fprintf(out, "    stream %u, time %lld us since 2000-01-01\n    %s\n", stream,
               static_cast<long long>(record.header.time_us), what.c_str());
  if (!body.empty()) std::fprintf(out, "    body, %zu bytes:%s\n", body.size(), hex_dump(body).c_str());
}

Status show_one(const replay::ScannedBatch& batch, const LogToolOptions& options, bool is_json) {
  if (options.lsn < batch.header.first_lsn || options.lsn > batch.header.last_lsn) return Status();
  std::string raw;
  SCYPER_RETURN_IF_ERROR(replication::unpack_batch(batch.header, batch.body, &raw));
  std::string_view rest = raw;
  replay::RecordView record;
  Explained explained;
  while (replay::take_record(&rest, &record)) {
    std::string_view text = record.body;
    uint64_t number = 0;
    if (record.header.kind != replay::RedoKind::kStatement) {
      if (record.header.lsn == options.lsn) {
        print_details(record, batch.header.stream, explained, is_json, options.out);
      }
    } else if (replay::take_varint(&text, &number)) {
      explained[number] = text;
    }
  }
  return Status();
}

Status show_batch(const replay::ScannedBatch& batch, const LogToolOptions& options, bool is_json) {
  const replication::BatchHeader& header = batch.header;
  if (is_json) {
    std::fprintf(options.out,
                 "{\"batch\": %llu, \"stream\": %u, \"offset\": %llu, \"first_lsn\": %llu, \"last_lsn\": %llu, "
                 "\"count\": %u, \"raw_bytes\": %u, \"body_bytes\": %u}\n",
                 static_cast<unsigned long long>(header.number), header.stream,
                 static_cast<unsigned long long>(batch.offset), static_cast<unsigned long long>(header.first_lsn),
                 static_cast<unsigned long long>(header.last_lsn), header.count, header.raw_bytes, header.body_bytes);
  } else {
    std::fprintf(options.out,
                 "    offset %-10llu stream %-4u batch %-8llu LSN %llu..%llu  %u transactions, %u of %u bytes\n",
                 static_cast<unsigned long long>(batch.offset), header.stream,
                 static_cast<unsigned long long>(header.number), static_cast<unsigned long long>(header.first_lsn),
                 static_cast<unsigned long long>(header.last_lsn), header.count, header.body_bytes, header.raw_bytes);
  }
  if (!options.shows_records) return Status();
  std::string raw;
  SCYPER_RETURN_IF_ERROR(replication::unpack_batch(header, batch.body, &raw));
  std::string_view rest = raw;
  replay::RecordView record;
  while (replay::take_record(&rest, &record)) print_record(record, is_json, options.out);
  return rest.empty() ? Status() : sql_error("XX001", "a batch ends within a record");
}

Status scan_log(const LogToolOptions& options, bool shows, bool is_json, Totals* totals,
                std::unique_ptr<replay::LogScan>* scan) {
  auto disk = make_real_disk();
  SCYPER_ASSIGN_OR_RETURN(
      *scan, replay::LogScan::open(disk.get(), log_of(disk.get(), options.path), {}, replay::LogScan::Care::kLooks));
  replay::ScannedSegment segment;
  std::string raw;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool any, (*scan)->next(&segment));
    if (!any) break;
    ++totals->segments;
    const uint64_t lsn = segment.groups.empty() ? segment.header.start_lsn : segment.groups.back().complete_lsn;
    if (shows && options.lsn != 0) {
      // one record is asked for
    } else if (shows && is_json) {
      std::fprintf(options.out,
                   "{\"segment\": %llu, \"term\": %llu, \"start_lsn\": %llu, \"end_lsn\": %llu, \"groups\": %zu, "
                   "\"used_bytes\": %llu, \"file_bytes\": %llu}\n",
                   static_cast<unsigned long long>(segment.number),
                   static_cast<unsigned long long>(segment.header.term),
                   static_cast<unsigned long long>(segment.header.start_lsn), static_cast<unsigned long long>(lsn),
                   segment.groups.size(), static_cast<unsigned long long>(segment.end),
                   static_cast<unsigned long long>(segment.file_bytes));
    } else if (shows) {
      std::fprintf(options.out, "segment %llu, term %llu: after LSN %llu up to %llu, %zu groups, %s of %s bytes used\n",
                   static_cast<unsigned long long>(segment.number),
                   static_cast<unsigned long long>(segment.header.term),
                   static_cast<unsigned long long>(segment.header.start_lsn), static_cast<unsigned long long>(lsn),
                   segment.groups.size(), grouped(segment.end).c_str(), grouped(segment.file_bytes).c_str());
    }
    for (const replay::ScannedGroup& group : segment.groups) {
      ++totals->groups;
      for (const replay::ScannedBatch& batch : group.batches) {
        ++totals->batches;
        totals->transactions += batch.header.count;
        totals->raw_bytes += batch.header.raw_bytes;
        totals->stored_bytes += batch.header.body_bytes;
        if (shows && options.lsn != 0) {
          SCYPER_RETURN_IF_ERROR(show_one(batch, options, is_json));
        } else if (shows && (options.shows_batches || options.shows_records)) {
          SCYPER_RETURN_IF_ERROR(show_batch(batch, options, is_json));
        } else {
          SCYPER_RETURN_IF_ERROR(replication::unpack_batch(batch.header, batch.body, &raw));
        }
      }
    }
  }
  return Status();
}

// What is in the log; `is_there` says whether there was one to look at.
Status look_at_log(const LogToolOptions& options, bool shows, bool is_json, bool* is_there) {
  Totals totals;
  std::unique_ptr<replay::LogScan> scan;
  Status status = scan_log(options, shows, is_json, &totals, &scan);
  *is_there = scan != nullptr;
  if (scan == nullptr) return status;
  if (is_json) {
    std::fprintf(
        options.out,
        "{\"ok\": %s, \"segments\": %llu, \"groups\": %llu, \"batches\": %llu, \"transactions\": %llu, "
        "\"start_lsn\": %llu, \"complete_lsn\": %llu, \"raw_bytes\": %llu, \"stored_bytes\": %llu, "
        "\"torn_tail\": %s}\n",
        status.ok() ? "true" : "false", static_cast<unsigned long long>(totals.segments),
        static_cast<unsigned long long>(totals.groups), static_cast<unsigned long long>(totals.batches),
        static_cast<unsigned long long>(totals.transactions), static_cast<unsigned long long>(scan->start_lsn()),
        static_cast<unsigned long long>(scan->complete_lsn()), static_cast<unsigned long long>(totals.raw_bytes),
        static_cast<unsigned long long>(totals.stored_bytes), scan->is_torn() ? "true" : "false");
  } else {
    std::fprintf(options.out,
                 "%llu segments, %s groups, %s batches, %s transactions after LSN %llu up to LSN %llu, %s bytes of "
                 "records in %s\n",
                 static_cast<unsigned long long>(totals.segments), grouped(totals.groups).c_str(),
                 grouped(totals.batches).c_str(), grouped(totals.transactions).c_str(),
                 static_cast<unsigned long long>(scan->start_lsn()),
                 static_cast<unsigned long long>(scan->complete_lsn()), grouped(totals.raw_bytes).c_str(),
                 grouped(totals.stored_bytes).c_str());
    if (scan->is_torn())
      std::fprintf(options.out, "torn tail, which a start cuts, in the quorum modes scyper log cut: %s\n",
                   scan->torn_reason().c_str());
  }
  return status;
}

int run_log_tool(const CommonOptions& common, const LogToolOptions& options, bool shows) {
  bool is_there = false;
  const Status status = look_at_log(options, shows, common.is_json, &is_there);
  if (status.ok()) return kExitOk;
  const int code = show_failure(status, common.is_json);
  return is_there ? kExitCheck : code;
}

}  // namespace

int run_log_inspect(const CommonOptions& common, const LogToolOptions& options) {
  return run_log_tool(common, options, /*shows=*/true);
}
int run_log_verify(const CommonOptions& common, const LogToolOptions& options) {
  return run_log_tool(common, options, /*shows=*/false);
}

std::string summarize_log(const std::string& path) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* const memory = ::open_memstream(&text, &size);
  if (memory == nullptr) return "";
  bool is_there = false;
  const Status status = look_at_log({.path = path, .out = memory}, /*shows=*/true, /*is_json=*/false, &is_there);
  std::fclose(memory);
  std::string all(text, size);
  std::free(text);
  if (!status.ok()) all += absl::StrFormat("ERROR: %s\n", status.message());
  return all;
}

int run_log_cut(const CommonOptions& common, const std::string& directory) {
  auto lock = replay::DataLock::take(directory);
  if (!lock.ok()) return show_failure(lock.status(), common.is_json);
  auto disk = make_real_disk();
  auto tail = replay::cut_torn_tail(disk.get(), replay::log_directory(directory));
  if (!tail.ok()) return show_failure(tail.status(), common.is_json);
  const auto lsn = static_cast<unsigned long long>(tail->complete_lsn);
  if (common.is_json) {
    std::printf("{\"ok\": true, \"cut\": %s, \"complete_lsn\": %llu}\n", tail->reason.empty() ? "false" : "true", lsn);
  } else if (tail->reason.empty()) {
    std::printf("nothing is torn: the log ends at LSN %llu\n", lsn);
  } else {
    std::printf("cut: %s\nthe log ends at LSN %llu\n", tail->reason.c_str(), lsn);
  }
  return kExitOk;
}

}  // namespace scyper::client
