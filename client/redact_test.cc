#include "redact.h"

#include <gtest/gtest.h>

namespace scyper::client {
namespace {

std::string redacted(const std::string& text) {
  size_t removed = 0;
  std::string out = redact(text, &removed);
  EXPECT_EQ(removed > 0, out != text) << text;
  return out;
}

TEST(RedactTest, LeavesWhatIsNoSecret) {
  for (const char* text : {"", "\n", "memory = \"8GB\"\n\nlisten = \"0.0.0.0:7400\"", "http://localhost:7401/metrics\n",
                           "tls_key = \"/etc/scyper/node.key\"\n", "mail a@b.c and http://x/y@z\n"}) {
    EXPECT_EQ(redacted(text), text);
  }
}

TEST(RedactTest, TakesWhatStandsBehindSuchWords) {
  for (const char* text :
       {"CREATE ROLE r PASSWORD 'hunter2'", "password=hunter2", "PGPASSWORD: hunter2", "Authorization: Basic hunter2",
        "db.Passwd := \"hunter2\"", "aws_secret_access_key=hunter2", "SCRAM-SHA-256$4096:hunter2", "x secret\thunter2",
        "password:\nhunter2", "ALTER ROLE r PASSWORD\n\n  'hunter2'", "postgres://user:hunter2@host/db",
        "s3://hunter2@bucket/x and http://a:hunter2@b"}) {
    EXPECT_EQ(redacted(text).find("hunter2"), std::string::npos) << redacted(text);
  }
  EXPECT_EQ(redacted("a\nthe password is x\nb\n"), "a\nthe password [removed]\nb\n");
  EXPECT_EQ(redacted("at http://u:p@host:1/x, then"), "at http://[removed]@host:1/x, then");
}

TEST(RedactTest, TakesPrivateKeys) {
  EXPECT_EQ(redacted("a\n-----BEGIN EC PRIVATE KEY-----\nMHcC\nAQEE\n-----END EC PRIVATE KEY-----\nb\n"),
            "a\n[removed]\nb\n");
}

}  // namespace
}  // namespace scyper::client
