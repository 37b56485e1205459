#pragma once

#include <span>
#include <string>

#include "client/ch/generator.h"
#include "storage/type.h"

namespace scyper::ch {

// Appends a value as PostgreSQL's output function prints it (DateStyle ISO). NULL must be handled by the caller.
// Strings are appended as they are; a value of kChar with its blanks.
void append_text(std::string& out, const Datum& value, const SqlType& type);

// One line of CSV as PostgreSQL's COPY ... (FORMAT csv) reads and writes it: NULL is an unquoted empty field.
void append_csv_row(std::string& out, std::span<const Datum> row, std::span<const Column> columns);

// One line of COPY's text format: tabs between fields, NULL as \N, backslash escapes. Ends with a newline.
void append_copy_row(std::string& out, std::span<const Datum> row, std::span<const Column> columns);

}  // namespace scyper::ch
