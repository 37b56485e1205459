#pragma once

#include <string>

#include "testing/postgres_session.h"
#include "testing/session.h"

namespace scyper::query {

// The outcome of one statement of ours, to be compared with PostgreSQL's. With `normalised`, literals become parameters
// where the statement cache would do so, and are counted.
// data: what COPY ... FROM STDIN reads.
StatementOutcome run_statement(Session* session, const std::string& sql, int* normalised = nullptr,
                               const std::string& data = "");

// Whether the order of a statement's rows means something.
bool is_ordered(std::string sql);

}  // namespace scyper::query
