#include "bind/system_types.h"
#include "types/text_configuration.h"

// The tables of pg_catalog about text search. Their rows are built in.
namespace scyper::query {

namespace {

constexpr int64_t kParserOid = 3722, kSimpleTemplateOid = 3727, kSnowballTemplateOid = 13150;

std::vector<SystemRow> configurations(const Catalog&) {
  std::vector<SystemRow> rows;
  for (const TextConfiguration& one : text_configurations())
    rows.push_back({one.oid, std::string(one.name), kCatalogSchemaOid, kOwnerOid, kParserOid});
  return rows;
}

std::vector<SystemRow> configuration_maps(const Catalog&) {
  std::vector<SystemRow> rows;
  for (const TextConfiguration& one : text_configurations())
    for (const TokenTypeInfo& token : token_types())
      if (const TextDictionary* dictionary = one.dictionary(token.type); dictionary != nullptr)
        rows.push_back({one.oid, static_cast<int>(token.type), 1, dictionary->oid});
  return rows;
}

std::vector<SystemRow> dictionaries(const Catalog&) {
  std::vector<SystemRow> rows;
  for (const TextDictionary& one : text_dictionaries()) {
    std::string options;
    if (!one.language.empty()) options = "language = '" + std::string(one.language) + "'";
    if (!one.stop_words().empty()) options += ", stopwords = '" + std::string(one.stop_words()) + "'";
    rows.push_back({one.oid, std::string(one.name), kCatalogSchemaOid, kOwnerOid,
                    one.language.empty() ? kSimpleTemplateOid : kSnowballTemplateOid,
                    options.empty() ? SystemValue() : SystemValue(options)});
  }
  return rows;
}

std::vector<SystemRow> parsers(const Catalog&) {
  return {{kParserOid, "default", kCatalogSchemaOid, 3717, 3718, 3719, 3720, 3721}};
}

std::vector<SystemRow> templates(const Catalog&) {
  return {{kSimpleTemplateOid, "simple", kCatalogSchemaOid, 3725, 3726},
          {kSnowballTemplateOid, "snowball", kCatalogSchemaOid, 13148, 13149}};
}

}  // namespace

std::vector<SystemTable> text_search_tables() {
  constexpr std::string_view kSchema = "pg_catalog";
  return {
      {kSchema, "pg_ts_config", columns_of("oid:int8 cfgname cfgnamespace:int8 cfgowner:int8 cfgparser:int8"),
       configurations},
      {kSchema, "pg_ts_config_map", columns_of("mapcfg:int8 maptokentype:int4 mapseqno:int4 mapdict:int8"),
       configuration_maps},
      {kSchema, "pg_ts_dict",
       columns_of("oid:int8 dictname dictnamespace:int8 dictowner:int8 dicttemplate:int8 dictinitoption"),
       dictionaries},
      {kSchema, "pg_ts_parser",
       columns_of("oid:int8 prsname prsnamespace:int8 prsstart:regproc prstoken:regproc prsend:regproc "
                  "prsheadline:regproc prslextype:regproc"),
       parsers},
      {kSchema, "pg_ts_template",
       columns_of("oid:int8 tmplname tmplnamespace:int8 tmplinit:regproc tmpllexize:regproc"), templates},
  };
}

}  // namespace scyper::query
