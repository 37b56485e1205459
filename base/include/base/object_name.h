#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scyper {

// Objects in schemas. The catalog knows an object of the schema `public` by its name, one of another schema by a key
// made of both, which no name can be: names have no control characters. So whatever holds an object's name (tables,
// indexes, what refers to them) needs no field for its schema. Keys are made where SQL is parsed, and taken apart again
// where names become visible: in error messages, in SQL text and in system tables.
constexpr std::string_view kPublicSchema = "public";

std::string object_key(std::string_view schema, std::string_view name);
// Of a name as the grammar gives it: {schema, name} becomes one key. Other schemas than those of CREATE SCHEMA stay.
std::vector<std::string> with_object_key(std::vector<std::string> name);
// Of text: [schema.]name, either of them perhaps quoted, else in lower case.
std::string object_key_of_text(std::string_view text);

std::string_view bare_name(std::string_view key);
std::string_view schema_of(std::string_view key);
// `name` in the schema of `key`.
std::string sibling_key(std::string_view key, std::string_view name);
// A text without its keys: names as they are, or with their schemas before them.
std::string without_keys(std::string_view text, bool qualified);

}  // namespace scyper
