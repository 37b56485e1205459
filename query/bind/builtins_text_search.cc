#include "bind/builtin_table.h"
#include "bind/object_numbers.h"
#include "storage/json_text_type.h"

namespace scyper::query {

using T = TypeId;

// runtime/functions_text_search.cc, runtime/functions_text_document.cc
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_DECLARE_FUNCTION(ts_match)
SCYPER_DECLARE_FUNCTION(ts_match_reversed)
SCYPER_DECLARE_FUNCTION(tsvector_concat)
SCYPER_DECLARE_FUNCTION(tsvector_strip)
SCYPER_DECLARE_FUNCTION(tsvector_length)
SCYPER_DECLARE_FUNCTION(tsvector_setweight)
SCYPER_DECLARE_FUNCTION(tsvector_setweight_of)
SCYPER_DECLARE_FUNCTION(tsvector_delete)
SCYPER_DECLARE_FUNCTION(tsvector_delete_all)
SCYPER_DECLARE_FUNCTION(tsvector_filter)
SCYPER_DECLARE_FUNCTION(tsvector_to_array)
SCYPER_DECLARE_FUNCTION(tsvector_of_array)
SCYPER_DECLARE_FUNCTION(tsvector_positions)
SCYPER_DECLARE_FUNCTION(tsvector_weights)
SCYPER_DECLARE_FUNCTION(tsquery_and)
SCYPER_DECLARE_FUNCTION(tsquery_or)
SCYPER_DECLARE_FUNCTION(tsquery_not)
SCYPER_DECLARE_FUNCTION(tsquery_phrase)
SCYPER_DECLARE_FUNCTION(tsquery_contains)
SCYPER_DECLARE_FUNCTION(tsquery_contained)
SCYPER_DECLARE_FUNCTION(tsquery_nodes)
SCYPER_DECLARE_FUNCTION(tsquery_tree)
SCYPER_DECLARE_FUNCTION(tsquery_rewrite)
SCYPER_DECLARE_FUNCTION(ts_rank)
SCYPER_DECLARE_FUNCTION(ts_rank_of_weights)
SCYPER_DECLARE_FUNCTION(ts_rank_cd)
SCYPER_DECLARE_FUNCTION(ts_rank_cd_of_weights)
SCYPER_DECLARE_FUNCTION(to_tsvector)
SCYPER_DECLARE_FUNCTION(to_tsquery)
SCYPER_DECLARE_FUNCTION(plainto_tsquery)
SCYPER_DECLARE_FUNCTION(phraseto_tsquery)
SCYPER_DECLARE_FUNCTION(websearch_to_tsquery)
SCYPER_DECLARE_FUNCTION(text_match)
SCYPER_DECLARE_FUNCTION(text_match_query)
SCYPER_DECLARE_FUNCTION(ts_lexize)
SCYPER_DECLARE_FUNCTION(ts_token_numbers)
SCYPER_DECLARE_FUNCTION(ts_token_aliases)
SCYPER_DECLARE_FUNCTION(ts_token_descriptions)
SCYPER_DECLARE_FUNCTION(ts_parse_types)
SCYPER_DECLARE_FUNCTION(ts_parse_tokens)
SCYPER_DECLARE_FUNCTION(current_text_configuration)
SCYPER_DECLARE_FUNCTION(ts_debug_aliases)
SCYPER_DECLARE_FUNCTION(ts_debug_descriptions)
SCYPER_DECLARE_FUNCTION(ts_debug_tokens)
SCYPER_DECLARE_FUNCTION(ts_debug_dictionary_lists)
SCYPER_DECLARE_FUNCTION(ts_debug_dictionaries)
SCYPER_DECLARE_FUNCTION(ts_debug_lexemes)
SCYPER_DECLARE_FUNCTION(json_tsvector_of)
SCYPER_DECLARE_FUNCTION(ts_headline)
#undef SCYPER_DECLARE_FUNCTION

namespace {

SqlType texts_result(const std::vector<SqlType>&) { return make_array(make_type(T::kText)); }
SqlType numbers_result(const std::vector<SqlType>&) { return make_array(make_type(T::kInt4)); }

void add_operators(BuiltinTable* t) {
  for (std::string_view op : {"@@", "@@@"}) {
    t->runtime(op, {T::kTsvector, T::kTsquery}, T::kBool, k_fn_ts_match);
    t->runtime(op, {T::kTsquery, T::kTsvector}, T::kBool, k_fn_ts_match_reversed);
  }
  t->runtime("@@", {T::kText, T::kTsquery}, T::kBool, k_fn_text_match_query);
  t->runtime("@@", {T::kText, T::kText}, T::kBool, k_fn_text_match);
  t->runtime("||", {T::kTsvector, T::kTsvector}, T::kTsvector, k_fn_tsvector_concat);
  t->runtime("||", {T::kTsquery, T::kTsquery}, T::kTsquery, k_fn_tsquery_or);
  t->runtime("&&", {T::kTsquery, T::kTsquery}, T::kTsquery, k_fn_tsquery_and);
  t->runtime("!!", {T::kTsquery}, T::kTsquery, k_fn_tsquery_not);
  t->runtime("<->", {T::kTsquery, T::kTsquery}, T::kTsquery, k_fn_tsquery_phrase);
  t->runtime("@>", {T::kTsquery, T::kTsquery}, T::kBool, k_fn_tsquery_contains);
  t->runtime("<@", {T::kTsquery, T::kTsquery}, T::kBool, k_fn_tsquery_contained);
}

// The functions behind operators, which PostgreSQL lets call by name.
void add_named_operators(BuiltinTable* t) {
  t->runtime("ts_match_vq", {T::kTsvector, T::kTsquery}, T::kBool, k_fn_ts_match);
  t->runtime("ts_match_qv", {T::kTsquery, T::kTsvector}, T::kBool, k_fn_ts_match_reversed);
  t->runtime("ts_match_tq", {T::kText, T::kTsquery}, T::kBool, k_fn_text_match_query);
  t->runtime("ts_match_tt", {T::kText, T::kText}, T::kBool, k_fn_text_match);
  t->runtime("tsvector_concat", {T::kTsvector, T::kTsvector}, T::kTsvector, k_fn_tsvector_concat);
  t->runtime("tsquery_and", {T::kTsquery, T::kTsquery}, T::kTsquery, k_fn_tsquery_and);
  t->runtime("tsquery_or", {T::kTsquery, T::kTsquery}, T::kTsquery, k_fn_tsquery_or);
  t->runtime("tsquery_not", {T::kTsquery}, T::kTsquery, k_fn_tsquery_not);
  t->runtime("tsq_mcontains", {T::kTsquery, T::kTsquery}, T::kBool, k_fn_tsquery_contains);
  t->runtime("tsq_mcontained", {T::kTsquery, T::kTsquery}, T::kBool, k_fn_tsquery_contained);
}

void add_ranks(BuiltinTable* t) {
  for (bool is_cover : {false, true}) {
    const std::string_view name = is_cover ? "ts_rank_cd" : "ts_rank";
    const ir::External& plain = is_cover ? k_fn_ts_rank_cd : k_fn_ts_rank;
    const ir::External& weighted = is_cover ? k_fn_ts_rank_cd_of_weights : k_fn_ts_rank_of_weights;
    t->runtime(name, {T::kTsvector, T::kTsquery}, T::kFloat4, plain);
    t->runtime(name, {T::kTsvector, T::kTsquery, T::kInt4}, T::kFloat4, plain);
    t->runtime(name, {T::kArray, T::kTsvector, T::kTsquery}, T::kFloat4, weighted);
    t->runtime(name, {T::kArray, T::kTsvector, T::kTsquery, T::kInt4}, T::kFloat4, weighted);
  }
}

void add_documents(BuiltinTable* t) {
  const auto read = [&](std::string_view name, T result, const ir::External& function) {
    t->runtime(name, {T::kText}, result, function);
    t->runtime(name, {T::kText, T::kText}, result, function);
  };
  read("to_tsquery", T::kTsquery, k_fn_to_tsquery);
  read("plainto_tsquery", T::kTsquery, k_fn_plainto_tsquery);
  read("phraseto_tsquery", T::kTsquery, k_fn_phraseto_tsquery);
  read("websearch_to_tsquery", T::kTsquery, k_fn_websearch_to_tsquery);
  t->runtime("ts_lexize", {T::kText, T::kText}, T::kArray, k_fn_ts_lexize).result_type = texts_result;
  t->runtime(" ts_token_numbers", {T::kText}, T::kArray, k_fn_ts_token_numbers).result_type = numbers_result;
  t->runtime(" ts_token_aliases", {T::kText}, T::kArray, k_fn_ts_token_aliases).result_type = texts_result;
  t->runtime(" ts_token_descriptions", {T::kText}, T::kArray, k_fn_ts_token_descriptions).result_type = texts_result;
  t->runtime(" ts_parse_types", {T::kText, T::kText}, T::kArray, k_fn_ts_parse_types).result_type = numbers_result;
  t->runtime(" ts_parse_tokens", {T::kText, T::kText}, T::kArray, k_fn_ts_parse_tokens).result_type = texts_result;
  t->runtime("get_current_ts_config", {}, T::kInt8, k_fn_current_text_configuration).result_type =
      [](const std::vector<SqlType>&) { return number_type(ObjectKind::kTextConfiguration); };
  const std::pair<std::string_view, const ir::External&> columns[] = {
      {" ts_debug_aliases", k_fn_ts_debug_aliases},
      {" ts_debug_descriptions", k_fn_ts_debug_descriptions},
      {" ts_debug_tokens", k_fn_ts_debug_tokens},
      {" ts_debug_dictionary_lists", k_fn_ts_debug_dictionary_lists},
      {" ts_debug_dictionaries", k_fn_ts_debug_dictionaries},
      {" ts_debug_lexemes", k_fn_ts_debug_lexemes},
  };
  for (const auto& [name, function] : columns) {
    t->runtime(name, {T::kText}, T::kArray, function).result_type = texts_result;
    t->runtime(name, {T::kText, T::kText}, T::kArray, function).result_type = texts_result;
  }
}

// A text may be a json: the functions look at the type.
void add_json(BuiltinTable* t) {
  for (T document : {T::kText, T::kJsonb}) {
    t->runtime("to_tsvector", {document}, T::kTsvector, k_fn_to_tsvector).takes_types = true;
    t->runtime("to_tsvector", {T::kText, document}, T::kTsvector, k_fn_to_tsvector).takes_types = true;
  }
  for (bool is_binary : {false, true}) {
    const std::string_view name = is_binary ? "jsonb_to_tsvector" : "json_to_tsvector";
    const T document = is_binary ? T::kJsonb : T::kText;
    t->runtime(name, {document, T::kJsonb}, T::kTsvector, k_fn_json_tsvector_of).takes_types = true;
    t->runtime(name, {T::kText, document, T::kJsonb}, T::kTsvector, k_fn_json_tsvector_of).takes_types = true;
  }
  for (T document : {T::kText, T::kJsonb}) {
    for (bool has_configuration : {false, true}) {
      std::vector<T> parameters = {document, T::kTsquery};
      if (has_configuration) parameters.insert(parameters.begin(), T::kText);
      for (bool has_options : {false, true}) {
        if (has_options) parameters.push_back(T::kText);
        Builtin& show = t->runtime("ts_headline", parameters, document, k_fn_ts_headline);
        show.takes_types = true;
        show.result_type = [](const std::vector<SqlType>& types) {
          return plain_type(types[types[1].id == T::kTsquery ? 0 : 1]);
        };
      }
    }
  }
}

}  // namespace

void add_text_search_functions(BuiltinTable* t) {
  add_operators(t);
  add_named_operators(t);
  add_ranks(t);
  add_documents(t);
  add_json(t);
  t->runtime("strip", {T::kTsvector}, T::kTsvector, k_fn_tsvector_strip);
  t->runtime("length", {T::kTsvector}, T::kInt4, k_fn_tsvector_length);
  t->runtime("setweight", {T::kTsvector, T::kText}, T::kTsvector, k_fn_tsvector_setweight);
  t->runtime("setweight", {T::kTsvector, T::kText, T::kArray}, T::kTsvector, k_fn_tsvector_setweight_of);
  t->runtime("ts_delete", {T::kTsvector, T::kText}, T::kTsvector, k_fn_tsvector_delete);
  t->runtime("ts_delete", {T::kTsvector, T::kArray}, T::kTsvector, k_fn_tsvector_delete_all);
  t->runtime("ts_filter", {T::kTsvector, T::kArray}, T::kTsvector, k_fn_tsvector_filter);
  t->runtime("tsvector_to_array", {T::kTsvector}, T::kArray, k_fn_tsvector_to_array).result_type = texts_result;
  t->runtime(" tsvector_positions", {T::kTsvector}, T::kArray, k_fn_tsvector_positions).result_type = texts_result;
  t->runtime(" tsvector_weights", {T::kTsvector}, T::kArray, k_fn_tsvector_weights).result_type = texts_result;
  t->runtime("array_to_tsvector", {T::kArray}, T::kTsvector, k_fn_tsvector_of_array);
  t->runtime("tsquery_phrase", {T::kTsquery, T::kTsquery}, T::kTsquery, k_fn_tsquery_phrase);
  t->runtime("tsquery_phrase", {T::kTsquery, T::kTsquery, T::kInt4}, T::kTsquery, k_fn_tsquery_phrase);
  t->runtime("numnode", {T::kTsquery}, T::kInt4, k_fn_tsquery_nodes);
  t->runtime("querytree", {T::kTsquery}, T::kText, k_fn_tsquery_tree);
  t->runtime("ts_rewrite", {T::kTsquery, T::kTsquery, T::kTsquery}, T::kTsquery, k_fn_tsquery_rewrite);
}

}  // namespace scyper::query
