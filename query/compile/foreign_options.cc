#include "compile/foreign_options.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "compile/copy.h"

namespace scyper::query {

namespace {
constexpr std::string_view kFileName = "filename";
// Those of COPY that file_fdw takes of a table.
constexpr std::string_view kCopyOptions[] = {"format", "header", "delimiter", "quote", "escape", "null", "encoding"};
}  // namespace

StatusOr<std::shared_ptr<const ForeignTable>> make_foreign_table(
    std::string server, std::vector<std::pair<std::string, std::string>> options, const View& view) {
  auto table = std::make_shared<ForeignTable>();
  ast::CopyStatement copy;  // that would read the file
  copy.from = true;
  for (size_t i = 0; i < options.size(); i++) {
    const auto& [name, value] = options[i];
    const bool is_again = std::any_of(options.begin(), options.begin() + static_cast<ptrdiff_t>(i),
                                      [&name = name](const auto& before) { return before.first == name; });
    if (is_again) return sql_error("42710", absl::StrCat("option \"", name, "\" provided more than once"));
    if (name == "program") return sql_error("0A000", "foreign tables that read a program's output are not supported");
    if (name == kFileName) {
      table->file = value;
      continue;
    }
    if (std::find(std::begin(kCopyOptions), std::end(kCopyOptions), name) == std::end(kCopyOptions))
      return with_hint(sql_error("HV00D", absl::StrCat("invalid option \"", name, "\"")),
                       "Valid options in this context are: filename, format, header, delimiter, quote, escape, null, "
                       "encoding");
    ast::Option option;
    option.name = name;
    option.has_value = true;
    option.value = value;
    copy.options.push_back(std::move(option));
  }
  SCYPER_ASSIGN_OR_RETURN(CopyOptions read, read_copy_options(copy, ""));
  if (table->file.empty())
    return sql_error("HV002", "either filename or program is required for file_fdw foreign tables");
  if (read.format.encoding != nullptr && read.format.encoding->number != kUtf8Encoding)
    return sql_error("0A000", "foreign tables of files that are not UTF-8 are not supported");
  table->server = std::move(server);
  table->options = std::move(options);
  table->shape.table = std::string(bare_name(view.name));
  for (size_t i = 0; i < view.column_names.size(); i++)
    table->shape.columns.push_back({view.column_names[i], view.column_types[i]});
  table->shape.format = std::move(read.format);
  return table;
}

namespace {

void put_count(std::string* out, size_t count) {
  const auto number = static_cast<uint32_t>(count);
  out->append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put_name(std::string* out, const std::string& text) {
  put_count(out, text.size());
  out->append(text);
}

class NameReader {
 public:
  explicit NameReader(std::string_view bytes) : bytes_(bytes) {}
  uint32_t count() {
    uint32_t number = 0;
    is_ok_ &= bytes_.size() >= sizeof number;
    if (!is_ok_) return 0;
    std::memcpy(&number, bytes_.data(), sizeof number);
    bytes_.remove_prefix(sizeof number);
    is_ok_ &= number <= bytes_.size();  // each takes a byte at least
    return is_ok_ ? number : 0;
  }
  std::string name() {
    const uint32_t size = count();
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  bool is_ok() const { return is_ok_; }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool is_ok_ = true;
};

}  // namespace

std::string encode_foreign(const Catalog& catalog) {
  std::string out;
  for (const auto* names : {&catalog.extensions, &catalog.foreign_servers}) {
    put_count(&out, names->size());
    for (const std::string& name : *names) put_name(&out, name);
  }
  std::vector<const View*> tables;
  for (const auto& [name, view] : catalog.views)
    if (view->foreign != nullptr) tables.push_back(view.get());
  put_count(&out, tables.size());
  for (const View* table : tables) {
    put_name(&out, table->name);
    put_name(&out, table->foreign->server);
    put_count(&out, table->foreign->options.size());
    for (const auto& [option, value] : table->foreign->options) {
      put_name(&out, option);
      put_name(&out, value);
    }
  }
  return out;
}

Status decode_foreign(std::string_view bytes, Catalog* catalog) {
  const Status damaged = sql_error("XX001", "the catalog of the archive is damaged");
  NameReader in(bytes);
  for (auto* names : {&catalog->extensions, &catalog->foreign_servers})
    for (uint32_t left = in.count(); left > 0 && in.is_ok(); --left) names->insert(in.name());
  for (uint32_t left = in.count(); left > 0 && in.is_ok(); --left) {
    const auto found = catalog->views.find(in.name());
    std::string server = in.name();
    std::vector<std::pair<std::string, std::string>> options(in.count());
    for (auto& [option, value] : options) {
      option = in.name();
      value = in.name();
    }
    if (!in.is_ok() || found == catalog->views.end() || catalog->foreign_servers.count(server) == 0) return damaged;
    auto view = std::make_shared<View>(*found->second);
    SCYPER_ASSIGN_OR_RETURN(view->foreign, make_foreign_table(std::move(server), std::move(options), *view));
    found->second = std::move(view);
  }
  return in.is_ok() && in.is_at_end() ? Status() : damaged;
}

}  // namespace scyper::query
