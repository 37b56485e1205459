#include "client/ch/sql.h"

#include <gtest/gtest.h>

namespace scyper::ch {
namespace {

TEST(Sql, FilesAreEmbeddedWhole) {
  EXPECT_NE(procedures_sql().find("AND s_quantity < p_threshold;\nEND $$;"), std::string_view::npos);
  EXPECT_NE(query_sql(1).find("group by ol_number"), std::string_view::npos);
  EXPECT_NE(query_sql(22).find("substr(c_phone, 1, 1)"), std::string_view::npos);
}

TEST(Sql, SchemaClauses) {
  EXPECT_EQ(schema_sql(SchemaOptions{}), schema_sql());
  const std::string text = schema_sql({.partition_by = "HASH", .with = "layout = row"});
  EXPECT_NE(text.find("PRIMARY KEY (w_id)\n) PARTITION BY HASH (w_id) WITH (layout = row);"), std::string::npos);
  EXPECT_NE(text.find("PRIMARY KEY (i_id)\n) WITH (layout = row);"), std::string::npos);
  EXPECT_NE(text.find("h_data    varchar(24)  NOT NULL\n) PARTITION BY HASH (h_w_id)"), std::string::npos);
}

}  // namespace
}  // namespace scyper::ch
