#include "generator/nested_script.h"

#include "generator/nested.h"
#include "generator/nested_changes.h"
#include "generator/statements.h"

namespace scyper::generator {

using query::append;
using query::make;

namespace {
constexpr int kChangesPercent = 22, kAgainPercent = 30;

std::string columns(const std::vector<Kind>& kinds, const std::string& before, const std::string& after, bool typed) {
  std::string text;
  for (size_t i = 0; i < kinds.size(); i++) {
    const Kind kind = kinds[i];
    // an integer may be of any type of whole numbers
    const std::string type = kind == Kind::kInteger || kind == Kind::kNumeric ? "numeric" : type_name(kind);
    text += (i > 0 ? ", " : "") + before + std::to_string(i) + after + (typed ? type : "");
  }
  return text;
}

void add_function(const NestedQuery& made, const std::string& body_begin, const std::string& body_end,
                  const std::string& name, Script* script) {
  script->push_back(make(kStatement,
                         "CREATE FUNCTION " + name + "() RETURNS TABLE (" + columns(made.kinds, "d", " ", true) +
                             ") LANGUAGE plpgsql AS $$ DECLARE item record; BEGIN " + body_begin,
                         made.term, body_end + " END $$"));
  script->push_back(make(kStatement, "SELECT * FROM " + name + "()"));
  script->push_back(make(kStatement, "DROP FUNCTION " + name));
}

std::string part_condition(const std::vector<Kind>& kinds, Random* random) {
  const size_t i = static_cast<size_t>(random->pick(static_cast<int>(kinds.size())));
  const std::string column = "z.c" + std::to_string(i);
  if (random->chance(25)) return column + " = " + column;
  switch (kinds[i]) {
    case Kind::kText:
      return column + " > 'a'";
    case Kind::kBoolean:
      return column;
    default:
      return column + " > 1";
  }
}

// The same query once more, in another way that has to give the same.
void add_again(const NestedQuery& made, const std::string& number, Random* random, const Shapes& shapes,
               Script* script) {
  const std::string name = "a" + number;
  const int choice = random->pick(5);
  if (choice == 0 && shapes.on(Shape::kAsWith)) {
    script->push_back(make(kStatement, make('Q', "WITH " + name + " AS (", made.term, ") SELECT * FROM " + name)));
  } else if (choice == 1 && shapes.on(Shape::kAsView)) {
    script->push_back(make(kStatement, "CREATE VIEW " + name + " AS ", made.term));
    script->push_back(make(kStatement, "SELECT * FROM " + name));
    script->push_back(make(kStatement, "DROP VIEW " + name));
  } else if (choice == 2 && shapes.on(Shape::kAsFunction)) {
    add_function(made, "RETURN QUERY SELECT " + columns(made.kinds, "z.c", "::", true) + " FROM (", ") z;", name,
                 script);
  } else if (choice == 3 && shapes.on(Shape::kAsLoop)) {
    std::string loop = " LOOP ";
    for (size_t i = 0; i < made.kinds.size(); i++)
      loop += "d" + std::to_string(i) + " := item.c" + std::to_string(i) + "; ";
    add_function(made, "FOR item IN ", loop + "RETURN NEXT; END LOOP;", name, script);
  } else if (choice == 4 && shapes.on(Shape::kPartitioned)) {
    const std::string condition = part_condition(made.kinds, random);
    Term all = make(kStatement, "SELECT * FROM (", made.term, ") z WHERE " + condition);
    append(&all, make('W', " UNION ALL SELECT * FROM (", made.term, ") z WHERE NOT (" + condition + ")"));
    append(&all, make('W', " UNION ALL SELECT * FROM (", made.term, ") z WHERE (" + condition + ") IS NULL"));
    script->push_back(std::move(all));
  }
}
}  // namespace

Script nested_script(uint64_t seed, int count, const Shapes& shapes) {
  Random random(seed);
  NestedMaker queries(&random, &shapes);
  NestedChanges changes(&random, &shapes, &queries);
  Script script = changes.schema(random.chance(75));
  const size_t end = script.size() + static_cast<size_t>(count);
  for (int number = 1; script.size() < end; number++) {
    if (random.chance(kChangesPercent)) {
      for (auto& statement : changes.changes()) script.push_back(std::move(statement));
      continue;
    }
    const bool is_again = random.chance(kAgainPercent);
    const NestedQuery made = queries.query(!is_again);
    script.push_back(make(kStatement, made.term));
    if (is_again) add_again(made, std::to_string(number), &random, shapes, &script);
  }
  for (auto& statement : changes.contents()) script.push_back(std::move(statement));
  return script;
}

}  // namespace scyper::generator
