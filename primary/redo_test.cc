#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <mutex>

#include "base/failpoint.h"
#include "redo_stream.h"
#include "testing/bank.h"

namespace scyper::primary {
namespace {

struct Record {
  RedoHeader header;
  std::string body;
};

// Keeps all that workers write, by stream.
class CapturingSink final : public RedoSink {
 public:
  void write(uint32_t stream, std::string_view bytes, uint32_t record_count) noexcept override {
    std::lock_guard<std::mutex> lock(mutex_);
    uint32_t read = 0;
    for (; bytes.size() >= sizeof(RedoHeader); ++read) {
      Record record;
      std::memcpy(&record.header, bytes.data(), sizeof(RedoHeader));
      record.body = bytes.substr(sizeof(RedoHeader), record.header.body_bytes);
      bytes_ += sizeof(RedoHeader) + record.body.size();
      bytes.remove_prefix(sizeof(RedoHeader) + record.body.size());
      records_[stream].push_back(std::move(record));
    }
    EXPECT_EQ(read, record_count);
    EXPECT_TRUE(bytes.empty());
  }
  const std::vector<Record>& of(uint32_t stream) { return records_[stream]; }
  const std::map<uint32_t, std::vector<Record>>& all() const { return records_; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::mutex mutex_;
  std::map<uint32_t, std::vector<Record>> records_;
  uint64_t bytes_ = 0;
};

std::vector<RedoKind> kinds_of(const std::vector<Record>& records) {
  std::vector<RedoKind> kinds;
  for (const Record& record : records) kinds.push_back(record.header.kind);
  return kinds;
}

class RedoTest : public testing::Test {
 protected:
  void start(RedoMode mode, uint32_t workers = 1) {
    EngineOptions options = Bank::small_options();
    options.workers = workers;
    options.redo = mode;
    options.redo_sink = sink_;
    bank_.emplace(options);
    set_up_lsn_ = bank_->engine().last_lsn();
  }
  // What was written since start(), stream by stream.
  std::vector<Record> finish() {
    counted_ = bank_->engine().counters().redo_bytes.load();
    bank_.reset();
    std::vector<Record> after;
    for (const auto& [stream, records] : sink_->all()) {
      uint64_t last = 0;
      for (const Record& record : records) {
        bool is_explanation = record.header.kind == RedoKind::kStatement;
        if (is_explanation || record.header.lsn > set_up_lsn_) after.push_back(record);
        if (is_explanation) continue;
        EXPECT_GT(record.header.lsn, last);
        last = record.header.lsn;
        EXPECT_EQ(stream, record.header.partition == kNoPartition ? 0u : record.header.partition + 1u);
      }
    }
    return after;
  }
  void call(std::string_view sql, std::initializer_list<int64_t> arguments, uint64_t request_id = 0) {
    Call call(bank_->prepare(sql), arguments);
    call.request_id = request_id;
    call.start(&bank_->engine());
    call.wait();
  }

  std::shared_ptr<CapturingSink> sink_ = std::make_shared<CapturingSink>();
  std::optional<Bank> bank_;
  uint64_t counted_ = 0;
  uint64_t set_up_lsn_ = 0;
};

TEST_F(RedoTest, LogicalRecordsExplainThemselves) {
  start(RedoMode::kLogical);
  call("CALL deposit($1, $2, $3)", {3, 1, -250}, 77);
  call("CALL deposit($1, $2, $3)", {3, 1, 64}, 78);
  call("CALL deposit(3, 1, 5)", {});
  uint32_t partition = bank_->partition_of(3);
  auto records = finish();
  ASSERT_THAT(kinds_of(records), testing::ElementsAre(RedoKind::kStatement, RedoKind::kLogical, RedoKind::kLogical,
                                                      RedoKind::kLogicalText));
  size_t number_bytes = records[0].body.find("CALL");
  ASSERT_NE(number_bytes, std::string::npos);
  std::string number = records[0].body.substr(0, number_bytes);
  EXPECT_EQ(records[0].body, number + "CALL deposit($1, $2, $3)");
  EXPECT_EQ(records[1].body, number + std::string("\x00\x06\x02\xf3\x03", 5));  // no NULLs, 3, 1, -250
  EXPECT_EQ(records[2].body, number + std::string("\x00\x06\x02\x80\x01", 5));
  EXPECT_EQ(records[3].body, "CALL deposit(3, 1, 5)");
  EXPECT_EQ(records[0].header.lsn, 0u);
  EXPECT_EQ(records[2].header.lsn, records[1].header.lsn + 1);
  EXPECT_EQ(records[1].header.request_id, 77u);
  EXPECT_EQ(records[1].header.partition, partition);
  EXPECT_EQ(records[1].header.flags, 0);
  EXPECT_GT(records[1].header.time_us, 0);
  EXPECT_EQ(counted_, sink_->bytes());
}

TEST_F(RedoTest, ReadersFailuresAndIdleWritersWriteNothing) {
  start(RedoMode::kLogical);
  call("SELECT sum(balance)::bigint FROM accounts", {});
  call("CALL move_and_fail($1, $2, $3, $4)", {1, 1, 2, 3});
  call("CALL deposit($1, $2, $3)", {3, 999, 1});  // finds nothing
  call("CALL nothing($1)", {1});
  EXPECT_TRUE(finish().empty());
}

TEST_F(RedoTest, PhysicalRecords) {
  start(RedoMode::kPhysical);
  call("CALL deposit($1, $2, $3)", {3, 1, 5});
  auto records = finish();
  ASSERT_THAT(kinds_of(records), testing::ElementsAre(RedoKind::kPhysical));
  EXPECT_FALSE(records[0].body.empty());
}

// What no restart could read is an error of its transaction, and nothing else's.
TEST_F(RedoTest, UnreadableChangesAreUndone) {
  start(RedoMode::kPhysical);
  const storage::Digest before = bank_->digest();
  ASSERT_TRUE(arm_failpoints("redo.unreadable=fail*1").ok());
  Call failed(bank_->prepare("CALL deposit($1, $2, $3)"), {3, 1, 5});
  failed.start(&bank_->engine());
  failed.wait();
  disarm_failpoints();
  EXPECT_EQ(sqlstate_of(failed.status), "XX000");
  EXPECT_EQ(bank_->digest(), before);
  bank_->check_tables();
  call("CALL deposit($1, $2, $3)", {3, 1, 5});
  EXPECT_EQ(finish().size(), 1u);
}

// A statement that reads rows in the order of their places: elsewhere they lie otherwise.
TEST_F(RedoTest, OrdersOfPlacesAreLoggedAsRows) {
  start(RedoMode::kLogical);
  call("INSERT INTO rates SELECT 1000 + a.id, a.rate FROM rates a LIMIT 1", {});
  call("UPDATE rates SET rate = rate + 1", {});
  EXPECT_THAT(kinds_of(finish()), testing::ElementsAre(RedoKind::kPhysical, RedoKind::kLogicalText));
}

TEST_F(RedoTest, BulkLoadsAreRowChanges) {
  start(RedoMode::kLogical);
  Datum row[] = {int_datum(900), int_datum(1)};
  ASSERT_TRUE(bank_->engine().load("rates", row).ok());
  auto records = finish();
  ASSERT_THAT(kinds_of(records), testing::ElementsAre(RedoKind::kPhysical));
  EXPECT_EQ(records[0].header.partition, kNoPartition);
  EXPECT_EQ(records[0].body, std::string("\x01\x03\x00\x00\x84\x03\x00\x00\x01\x00\x00\x00",
                                         12));  // insert, table 3, partition 0, 900, 1
}

TEST_F(RedoTest, CopiesAreRowChanges) {
  start(RedoMode::kLogical);
  auto copy = bank_->engine().open_copy("COPY rates FROM STDIN");
  ASSERT_TRUE(copy.ok() && (*copy)->add("900\t1\n").ok());
  query::ResultSet result;
  ASSERT_TRUE((*copy)->finish({}, &result).ok());
  copy->reset();
  auto records = finish();
  ASSERT_THAT(kinds_of(records), testing::ElementsAre(RedoKind::kPhysical));
  EXPECT_EQ(records[0].header.partition, kNoPartition);
  EXPECT_EQ(records[0].body, std::string("\x01\x03\x00\x00\x84\x03\x00\x00\x01\x00\x00\x00", 12));
}

TEST_F(RedoTest, NoRedo) {
  start(RedoMode::kNone);
  call("CALL deposit($1, $2, $3)", {3, 1, 5});
  finish();
  EXPECT_EQ(sink_->bytes(), 0u);
  EXPECT_EQ(counted_, 0u);
}

TEST_F(RedoTest, CrossingAndDefinitionsAreMarked) {
  start(RedoMode::kLogical, 2);
  int64_t other = bank_->branch_elsewhere(1);
  call("CALL move($1, $2, $3, $4, $5)", {1, 1, other, 1, 1});
  call("CALL move_linked($1, $2, $3)", {1, 1, 1});
  call("CREATE TABLE more (a integer)", {});
  std::vector<Record> all = finish();
  std::erase_if(all, [](const Record& record) { return record.header.kind == RedoKind::kStatement; });
  std::sort(all.begin(), all.end(), [](const Record& a, const Record& b) { return a.header.lsn < b.header.lsn; });
  ASSERT_EQ(all.size(), 3u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].header.lsn, set_up_lsn_ + i + 1);  // none is missing
    EXPECT_EQ(all[i].header.flags, kRedoCrossing);
    EXPECT_EQ(all[i].header.partition, kNoPartition);
  }
  EXPECT_EQ(all.back().body, "CREATE TABLE more (a integer)");
}

TEST(RedoStreamTest, EncodesEveryType) {
  CapturingSink sink;
  LsnCounter lsns;
  RedoStream stream(0, nullptr, &sink, &lsns);
  std::vector<SqlType> types = {make_type(TypeId::kBool), make_type(TypeId::kText),
                                make_numeric(12, 2),      make_type(TypeId::kFloat8),
                                make_type(TypeId::kInt4), make_array(make_type(TypeId::kInt4))};
  Datum elements[3] = {int_datum(1), null_datum(), int_datum(-1)};
  ArrayValue array;
  array.size = 3;
  array.element = TypeId::kInt4;
  array.elements = elements;
  std::vector<Datum> values = {int_datum(1),     string_datum("ab", 2), int128_datum(-3, 2),
                               float_datum(1.0), null_datum(),          int_datum(reinterpret_cast<int64_t>(&array))};
  stream.append_logical({}, 300, "x", types, values.data());
  stream.flush();
  ASSERT_EQ(sink.of(0).size(), 2u);
  EXPECT_EQ(sink.of(0)[0].body, "\xac\x02x");
  EXPECT_EQ(sink.of(0)[1].body, std::string("\xac\x02\x10\x02\x02"
                                            "ab\x04\x05\x00\x00\x00\x00\x00\x00\xf0\x3f\x03\x02\x02\x02\x01",
                                            22));
  EXPECT_EQ(stream.bytes(), sink.bytes());
}

TEST(RedoStreamTest, LongRecordsAndManyStatements) {
  CapturingSink sink;
  LsnCounter lsns;
  RedoStream stream(0, nullptr, &sink, &lsns);
  std::string large(100'000, 'x');
  SqlType type = make_type(TypeId::kText);
  for (uint64_t round = 0; round < 2; ++round) {
    for (uint64_t statement : {uint64_t{1}, uint64_t{1} + (1 << 14)}) {  // share a place: explained again
      Datum value = string_datum(large.data(), large.size() * round);
      stream.append_logical({}, statement, "text", {&type, 1}, &value);
    }
  }
  stream.flush();
  EXPECT_EQ(sink.of(0).size(), 8u);
  EXPECT_EQ(sink.of(0)[7].body.size(), 3 + 1 + 3 + large.size());
}

}  // namespace
}  // namespace scyper::primary
