// Values in both formats, SCRAM verifiers, settings: the parts of PostgreSQL's protocol that need no connection.
#include "postgres/wire_values.h"
#include "postgres/client_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "postgres/client_texts.h"
#include "postgres/login_attempts.h"
#include "postgres/message_stream.h"
#include "postgres/scram.h"
#include "postgres/user_file.h"
#include "query/session_command.h"
#include "query/type_numbers.h"
#include "session/session_settings.h"

namespace scyper::server::postgres {
namespace {

struct Sample {
  SqlType type;
  const char* text;
  const char* bytes;  // as PostgreSQL's send functions give them, hexadecimal
};

// SELECT encode(numeric_send(...), 'hex') and its kin on PostgreSQL 15.
const Sample kSamples[] = {
    {make_type(TypeId::kBool), "t", "01"},
    {make_type(TypeId::kInt2), "-2", "fffe"},
    {make_type(TypeId::kInt4), "100000", "000186a0"},
    {make_type(TypeId::kInt8), "-1", "ffffffffffffffff"},
    {make_type(TypeId::kFloat8), "1.5", "3ff8000000000000"},
    {make_type(TypeId::kFloat4), "1.5", "3fc00000"},
    {make_type(TypeId::kNumeric), "0", "0000000000000000"},
    {make_type(TypeId::kNumeric), "12345678.125",
     "0003000100000003"
     "04d2162e04e2"},
    {make_type(TypeId::kNumeric), "-0.0005",
     "0001ffff40000004"
     "0005"},
    {make_type(TypeId::kNumeric), "10000",
     "0001000100000000"
     "0001"},
    {make_type(TypeId::kNumeric), "100.00",
     "0001000000000002"
     "0064"},
    {make_type(TypeId::kNumeric), "NaN", "00000000c0000000"},
    {make_type(TypeId::kNumeric), "Infinity", "00000000d0000020"},
    {make_type(TypeId::kNumeric), "-Infinity", "00000000f0000020"},
    {make_type(TypeId::kNumeric), "100000000000000000000000000000000000000000000000000.5",
     "000e000c000000010064"
     "0000000000000000000000000000000000000000000000001388"},
    {make_type(TypeId::kNumeric), "-0.000000000000000000000000000000000000000000001",
     "0001fff44000002d"
     "03e8"},
    {make_type(TypeId::kText), "häh", "68c3a468"},
    {make_type(TypeId::kBytea), "\\x00ff", "00ff"},
    {make_type(TypeId::kJsonb), "{\"a\": 1}", "017b2261223a20317d"},
    {make_type(TypeId::kNumrange), "[1.5,2.50)", "020000000c0002000000000001000113880000000c000200000000000200021388"},
    {make_type(TypeId::kInt4multirange), "{[1,2),[5,)}",
     "0000000200000011020000000400000001000000040000000200000009120000000400000005"},
    {make_type(TypeId::kDate), "2000-01-02", "00000001"},
    {make_type(TypeId::kTimestamp), "2000-01-01 00:00:01", "00000000000f4240"},
    {make_type(TypeId::kTime), "00:00:01", "00000000000f4240"},
    {make_type(TypeId::kInterval), "1 mon 2 days 00:00:01", "00000000000f42400000000200000001"},
    {make_type(TypeId::kUuid), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"},
    {make_array(make_type(TypeId::kInt4)), "{1,NULL}",
     "00000001"
     "00000001"
     "00000017"
     "00000002"
     "00000001"
     "00000004"
     "00000001"
     "ffffffff"},
    {make_array(make_type(TypeId::kText)), "{}",
     "00000000"
     "00000000"
     "00000019"},
};

std::string from_hex(const char* hex) { return absl::HexStringToBytes(hex); }

TEST(WireValues, BothFormatsAsPostgres) {
  for (const Sample& sample : kSamples) {
    query::ValueArena arena;
    for (Format format : {Format::kText, Format::kBinary}) {
      Datum value;
      const std::string bytes = format == Format::kText ? sample.text : from_hex(sample.bytes);
      const Status status = decode_parameter(sample.type, 0, format, bytes, &arena, &value);
      ASSERT_TRUE(status.ok()) << sample.text << ": " << status;
      std::string out;
      MessageWriter writer(&out);
      append_field(sample.type, Format::kText, value, &writer);
      EXPECT_EQ(out.substr(4), sample.text);
      out.clear();
      append_field(sample.type, Format::kBinary, value, &writer);
      EXPECT_EQ(absl::BytesToHexString(out.substr(4)), sample.bytes) << sample.text;
    }
  }
}

// Results have some types as text.
TEST(WireValues, ResultsHaveTheTypeThatSqlSays) {
  for (const Sample& sample : kSamples) {
    const query::ResultColumn column{"c", make_type(TypeId::kText), sample.type};
    if (sample.type.id == TypeId::kFloat4) continue;
    query::ValueArena arena;
    const Datum text = string_datum(sample.text, std::strlen(sample.text));
    for (Format format : {Format::kText, Format::kBinary}) {
      const StatusOr<Datum> value = query::sent_value(column, format == Format::kBinary, text, &arena);
      ASSERT_TRUE(value.ok()) << value.status();
      std::string out;
      MessageWriter writer(&out);
      append_field(query::sent_type(column, format == Format::kBinary), format, *value, &writer);
      EXPECT_EQ(format == Format::kText ? out.substr(4) : absl::BytesToHexString(out.substr(4)),
                format == Format::kText ? sample.text : sample.bytes);
    }
  }
  const query::ResultColumn real{"c", make_type(TypeId::kFloat8), make_type(TypeId::kFloat4)};
  query::ValueArena arena;
  Datum value;
  ASSERT_TRUE(query::parse_value(real.type, "1.1", &arena, &value).ok());
  std::string out;
  MessageWriter writer(&out);
  append_field(query::sent_type(real, false), Format::kText, *query::sent_value(real, false, value, &arena), &writer);
  append_field(query::sent_type(real, true), Format::kBinary, *query::sent_value(real, true, value, &arena), &writer);
  EXPECT_EQ(absl::BytesToHexString(out), "00000003312e31000000043f8ccccd");
}

TEST(WireValues, MalformedValuesAreErrors) {
  query::ValueArena arena;
  Datum value;
  for (const Sample& sample : kSamples) {
    const bool is_variable = holds_bytes(sample.type.id);
    const std::string bytes = from_hex(sample.bytes);
    for (size_t size = 0; size < bytes.size() && !is_variable; ++size) {
      const Status status =
          decode_parameter(sample.type, 0, Format::kBinary, std::string_view(bytes).substr(0, size), &arena, &value);
      EXPECT_EQ(sqlstate_of(status), "22P03") << sample.text << " " << size;
    }
    if (is_variable) continue;
    EXPECT_EQ(sqlstate_of(decode_parameter(sample.type, 0, Format::kBinary, bytes + '\0', &arena, &value)), "22P03");
  }
  const auto state = [&](const SqlType& type, int32_t oid, const char* hex) {
    return sqlstate_of(decode_parameter(type, oid, Format::kBinary, from_hex(hex), &arena, &value));
  };
  EXPECT_EQ(state(make_type(TypeId::kText), 0, "ff"), "22021");
  EXPECT_EQ(state(make_type(TypeId::kJsonb), 0, "027b7d"), "22P03");
  EXPECT_EQ(state(make_type(TypeId::kInt2), 20, "0000000000010000"), "22003");    // a bigint for a smallint
  EXPECT_EQ(state(make_type(TypeId::kInt4), 600, "00000000"), "0A000");           // a point
  EXPECT_EQ(state(make_numeric(5, 2), 0, "00000000c0000000"), "0A000");           // NaN
  EXPECT_EQ(state(make_numeric(5, 2), 0, "00000000d0000020"), "22003");           // infinity
  EXPECT_EQ(state(make_type(TypeId::kNumeric), 0, "0000000012340000"), "22P03");  // no sign
  EXPECT_EQ(state(make_type(TypeId::kDate), 0, "7fffffff"), "00000");             // infinity
  EXPECT_EQ(state(make_type(TypeId::kDate), 0, "7ffffffe"), "22008");             // a day before it
  EXPECT_EQ(state(make_type(TypeId::kTime), 0, "ffffffffffffffff"), "22008");
  EXPECT_EQ(state(make_type(TypeId::kTimestamptz), 0, "8000000000000001"), "22008");
  EXPECT_EQ(state(make_array(make_type(TypeId::kInt4)), 0,
                  "000000010000000000000017"
                  "7fffffff00000001"),
            "22P03");
}

TEST(WireValues, TypesOfTheClientAreConverted) {
  query::ValueArena arena;
  Datum value;
  const int32_t int2 = 21;
  ASSERT_TRUE(decode_parameter(make_type(TypeId::kInt8), int2, Format::kBinary, from_hex("ffff"), &arena, &value).ok());
  EXPECT_EQ(value.lo, -1);
  ASSERT_TRUE(decode_parameter(make_numeric(10, 2), int2, Format::kBinary, from_hex("0007"), &arena, &value).ok());
  EXPECT_EQ(value.lo, 700);
}

TEST(Messages, ReadersNeverGoBeyondTheEnd) {
  MessageReader reader(std::string_view("ab\0\0\0", 5));
  EXPECT_EQ(reader.read_string(), "ab");
  EXPECT_EQ(reader.read_int32(), 0);
  EXPECT_FALSE(reader.is_whole());
  EXPECT_EQ(reader.read_string(), "");
  EXPECT_FALSE(read_message_header(std::string_view("Q\0\0\0\3", 5)).has_value());
  EXPECT_FALSE(read_message_header(std::string_view("Q\xff\xff\xff\xff", 5)).has_value());
  EXPECT_EQ(read_message_header(std::string_view("Q\0\0\0\5", 5))->payload_bytes, 1u);
}

// RFC 7677, section 3.
TEST(Scram, VerifiersAreChecked) {
  constexpr char kPencil[] =
      "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
      "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
  auto verifier = ScramVerifier::parse(kPencil);
  ASSERT_TRUE(verifier.ok()) << verifier.status();
  EXPECT_EQ(verifier->text(), kPencil);
  for (const char* wrong : {"", "SCRAM-SHA-256$", "SCRAM-SHA-256$0:AAAA$AA==:AA==", "MD5$4096:AAAA$AA==:AA=="}) {
    EXPECT_FALSE(ScramVerifier::parse(wrong).ok()) << wrong;
  }
  EXPECT_FALSE(ScramVerifier::make("pässword").ok());
  EXPECT_FALSE(ScramVerifier::make("").ok());
  const auto first = "n,,n=,r=rOprNGfwEbeRWgbNEkqO";
  for (const char* message : {"", "n", "n,,", "n,,n=x", "x,,n=,r=a", "n,a=b,n=,r=a", "p=tls-unique,,n=,r=a"}) {
    EXPECT_FALSE(ScramExchange(*verifier, "", true).first("SCRAM-SHA-256", message).ok()) << message;
  }
  EXPECT_FALSE(ScramExchange(*verifier, "", true).first("SCRAM-SHA-256-PLUS", first).ok());
  EXPECT_FALSE(ScramExchange(*verifier, "hash", true).first("SCRAM-SHA-256", "y,,n=,r=a").ok());
  ScramExchange exchange(*verifier, "", true);
  ASSERT_TRUE(exchange.first("SCRAM-SHA-256", first).ok());
  EXPECT_EQ(sqlstate_of(exchange.final("c=biws,r=other,p=AAAA").status()), "08P01");
}

TEST(UserFiles, LinesAreChecked) {
  auto users = UserFile::parse("# comment\n\nalice:secret\r\nbob:x:y\n", "users");
  ASSERT_TRUE(users.ok()) << users.status();
  EXPECT_EQ(users->size(), 2u);
  EXPECT_TRUE(users->find("bob").has_value());
  EXPECT_FALSE(users->find("mallory").has_value());
  for (const char* wrong : {"", "alice", ":x", "a:x\na:y", "a:SCRAM-SHA-256$x", "a:"}) {
    auto status = UserFile::parse(wrong, "users").status();
    EXPECT_FALSE(status.ok()) << wrong;
  }
}

TEST(Settings, SetShowAndReset) {
  SessionSettings settings({"alice"}, false);
  EXPECT_EQ(*settings.show("timezone"), "UTC");
  EXPECT_TRUE(settings.set("application_name", {"x"}).ok());
  EXPECT_TRUE(settings.set("TIMEZONE", {"gmt"}).ok());
  EXPECT_EQ(*settings.show("TimeZone"), "GMT");
  EXPECT_EQ(sqlstate_of(settings.set("timezone", {"Mars/Olympus"})), "22023");
  EXPECT_TRUE(settings.set("timezone", {"europe/berlin"}).ok());
  EXPECT_EQ(*settings.show("TimeZone"), "Europe/Berlin");
  EXPECT_EQ(query::time_zone_of(settings.with_path("SELECT 1")), "Europe/Berlin");
  EXPECT_EQ(query::without_search_path(settings.with_path("SELECT 1")), "SELECT 1");
  EXPECT_TRUE(settings.reset("timezone").ok());
  EXPECT_EQ(sqlstate_of(settings.set("nothing", {"1"})), "42704");
  EXPECT_EQ(sqlstate_of(settings.set("server_version", {"1"})), "55P02");
  EXPECT_EQ(sqlstate_of(settings.set("client_encoding", {"LATIN1"})), "0A000");  // nothing converts its texts
  EXPECT_EQ(sqlstate_of(settings.set("client_encoding", {"nothing"})), "22023");
  EXPECT_EQ(sqlstate_of(settings.set("session_authorization", {"bob"})), "0A000");
  EXPECT_EQ(sqlstate_of(settings.set("statement_timeout", {"-1"})), "22023");
  EXPECT_TRUE(settings.set("statement_timeout", {"2s"}).ok());
  EXPECT_EQ(settings.statement_timeout_us(), 2'000'000);
  EXPECT_TRUE(settings.set("search_path", {"\"$user\"", "public"}).ok());
  EXPECT_EQ(settings.with_path("SELECT 1"), "SELECT 1");
  EXPECT_EQ(sqlstate_of(settings.set("search_path", {"a b"})), "22023");
  EXPECT_TRUE(settings.set("search_path", {"other, public"}).ok());
  std::vector<std::string> path;
  EXPECT_EQ(query::take_search_path(settings.with_path("SELECT 1"), &path), "SELECT 1");
  EXPECT_EQ(path, (std::vector<std::string>{"other", "public"}));
  EXPECT_TRUE(settings.set("app.Tenant", {"x"}).ok());
  EXPECT_EQ(*settings.show("APP.tenant"), "x");
  EXPECT_EQ(settings.given()->at("app.tenant"), "x");
  EXPECT_EQ(sqlstate_of(settings.set("app.2", {"x"})), "42602");
  EXPECT_EQ(sqlstate_of(settings.set("app.list", {"x", "y"})), "22023");
  EXPECT_TRUE(settings.set("scyper.freshness", {"lsn:7"}).ok());
  EXPECT_EQ(settings.freshness().lsn, 7u);
  EXPECT_TRUE(settings.reset("all").ok());
  EXPECT_EQ(settings.freshness().kind, query::Freshness::Kind::kFresh);
  EXPECT_EQ(settings.statement_timeout_us(), 0);
  EXPECT_EQ(sqlstate_of(parse_freshness("lsn:").status()), "22023");
  EXPECT_EQ(sqlstate_of(parse_freshness("soon").status()), "22023");
}

TEST(ClientTexts, AreConvertedInPiecesAndInArrays) {
  ClientTexts texts;
  EXPECT_TRUE(texts.is_plain());
  EXPECT_EQ(sqlstate_of(texts.received("a\xE4").status()), "22021");
  texts.use(query::find_encoding("latin 1"));
  EXPECT_EQ(*texts.received("a\xE4"), "a\xC3\xA4");
  // {'\xE4', NULL} as array_send() has it
  const std::string array("\0\0\0\1\0\0\0\1\0\0\0\x19\0\0\0\2\0\0\0\1\0\0\0\1\xE4\xFF\xFF\xFF\xFF", 29);
  std::string out;
  const SqlType type = make_array(make_type(TypeId::kText));
  EXPECT_TRUE(texts.receive_value(type, Format::kBinary, array, &out).ok());
  EXPECT_EQ(out.substr(20), std::string("\0\0\0\2\xC3\xA4\xFF\xFF\xFF\xFF", 10));
  out.clear();
  EXPECT_EQ(sqlstate_of(texts.to_client()->append("\xE2\x82\xAC", &out)), "22P05");
  texts.to_client()->append_anyway("1 \xE2\x82\xAC", &out);
  EXPECT_EQ(out, "1 ?");
  const auto pieces =
      query::TextConverter::make(*query::find_encoding("SJIS"), query::TextConverter::Direction::kToUtf8);
  out.clear();
  EXPECT_TRUE(pieces->append_piece("\x93", &out).ok());
  EXPECT_TRUE(pieces->append_piece("\xFA", &out).ok());
  EXPECT_TRUE(pieces->finish().ok());
  EXPECT_EQ(out, "\xE6\x97\xA5");
  EXPECT_TRUE(pieces->append_piece("\x93", &out).ok());
  EXPECT_EQ(sqlstate_of(pieces->finish()), "22021");
}

TEST(Commands, TextsAreReadOnce) {
  auto commands =
      query::read_commands("begin read only; SET LOCAL x TO 1, 'b';select 1; copy t from stdin;commit and chain");
  ASSERT_TRUE(commands.ok()) << commands.status();
  ASSERT_EQ(commands->size(), 5u);
  EXPECT_EQ((*commands)[0].is_read_only, true);
  EXPECT_EQ((*commands)[1].values, (std::vector<std::string>{"1", "b"}));
  EXPECT_EQ((*commands)[2].kind, query::CommandKind::kQuery);
  EXPECT_EQ((*commands)[3].kind, query::CommandKind::kCopyIn);
  EXPECT_TRUE((*commands)[4].is_chained);
  EXPECT_EQ(*query::with_parameter_types("SELECT $1, '$1', $2 + $1", {"", "bigint"}),
            "SELECT $1, '$1', ($2::bigint) + $1");
}

// Many connections that have begun together get no more guesses than one after the other.
TEST(LoginAttempts, GuessesInParallelAreNoMore) {
  LoginAttempts attempts;
  constexpr int kConnections = 32;
  std::atomic<int> judged{0}, refused{0};
  const auto run = [&](const char* user, const Status& proof) {
    std::vector<std::thread> connections;
    for (int i = 0; i < kConnections; ++i) {
      EXPECT_TRUE(attempts.check(user, "10.0.0.1", 5).ok());
    }
    for (int i = 0; i < kConnections; ++i) {
      connections.emplace_back([&] {
        const Status status = attempts.judge(user, "10.0.0.1", 5, [&] { return ++judged, proof; });
        if (sqlstate_of(status) == "28000") ++refused;
      });
    }
    for (std::thread& connection : connections) connection.join();
  };
  run("ann", sql_error("28P01", "password authentication failed"));
  EXPECT_EQ(judged, LoginAttempts::kFreeFailures);
  EXPECT_EQ(refused, kConnections - LoginAttempts::kFreeFailures);
  judged = refused = 0;
  run("bob", Status());
  EXPECT_EQ(judged, kConnections);
  EXPECT_EQ(refused, 0);
}

// By a clock of the test's own.
TEST(LoginAttempts, WaitLongerAfterEachWrongPassword) {
  LoginAttempts attempts;
  int64_t now = 5;
  const auto fails = [&](int times) {
    for (int i = 0; i < times; ++i) attempts.note_failure("ann", "10.0.0.1", now);
  };
  fails(LoginAttempts::kFreeFailures - 1);
  EXPECT_TRUE(attempts.check("ann", "10.0.0.1", now).ok());
  int64_t wait = LoginAttempts::kWaitNs;
  for (int round = 0; round < 10; ++round) {
    fails(1);
    EXPECT_EQ(sqlstate_of(attempts.check("ann", "10.0.0.1", now + wait - 1)), "28000") << round;
    EXPECT_TRUE(attempts.check("ann", "10.0.0.1", now + wait).ok()) << round;
    wait = std::min(2 * wait, LoginAttempts::kWaitMaxNs);
  }
  EXPECT_TRUE(attempts.check("ann", "10.0.0.2", now).ok());
  EXPECT_TRUE(attempts.check("bob", "10.0.0.1", now).ok());
  // as many others as are kept: the oldest is forgotten
  for (size_t i = 0; i < LoginAttempts::kEntriesMax; ++i) attempts.note_failure(std::to_string(i), "10.0.0.3", now);
  EXPECT_TRUE(attempts.check("ann", "10.0.0.1", now).ok());
  fails(LoginAttempts::kFreeFailures);
  EXPECT_FALSE(attempts.check("ann", "10.0.0.1", now).ok());
  attempts.note_success("ann", "10.0.0.1");
  EXPECT_TRUE(attempts.check("ann", "10.0.0.1", now).ok());
}

TEST(Passwords, GiveWayToVerifiersInStatementsAboutRoles) {
  const auto kept = [](std::string_view sql) {
    auto text = query::without_passwords(
        sql, [](std::string_view password) -> StatusOr<std::string> { return "<" + std::string(password) + ">"; });
    return text.ok() ? *text : std::string(sqlstate_of(text.status()));
  };
  EXPECT_EQ(kept("CREATE ROLE a PASSWORD 'it''s'; SELECT 'password'"),
            "CREATE ROLE a PASSWORD '<it''s>'; SELECT 'password'");
  EXPECT_EQ(kept("SELECT 1; alter User a login encrypted PassWord $$x$$ CREATEDB"),
            "SELECT 1; alter User a login encrypted PassWord '<x>' CREATEDB");
  EXPECT_EQ(kept("CREATE USER a PASSWORD /* c */ E'\\x41'"), "CREATE USER a PASSWORD /* c */ '<A>'");
  for (std::string_view sql : {"CREATE ROLE a PASSWORD NULL", "CREATE ROLE a PASSWORD ''", "SELECT password 'x' FROM t",
                               "CREATE TABLE role (password text DEFAULT 'x')", "CREATE ROLE password"})
    EXPECT_EQ(kept(sql), sql);
  const std::string verifier = *scram_verifier_of("pencil");
  EXPECT_TRUE(query::is_scram_verifier(verifier));
  EXPECT_EQ(kept("CREATE ROLE a PASSWORD '" + verifier + "'"), "CREATE ROLE a PASSWORD '" + verifier + "'");
  EXPECT_EQ(query::shown_role_statement("ALTER ROLE a PASSWORD '" + verifier + "'"),
            "ALTER ROLE a PASSWORD '********'");
  EXPECT_EQ(kept("CREATE ROLE a PASSWORD U&'x'"), "0A000");
  EXPECT_TRUE(query::is_about_roles("revoke all on t from a") && query::is_about_roles("DROP USER a"));
  EXPECT_FALSE(query::is_about_roles("DROP TABLE users") || query::is_about_roles("SELECT 1") ||
               query::is_about_roles(""));
}

}  // namespace
}  // namespace scyper::server::postgres
