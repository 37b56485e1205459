#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "compile/copy.h"
#include "parse/text.h"
#include "query/text_converter.h"

// PostgreSQL's ProcessCopyOptions(): the same checks in the same order.
namespace scyper::query {

namespace {

bool is_one_byte(const std::string& text) { return text.size() == 1; }

class OptionReader {
 public:
  OptionReader(const ast::CopyStatement& copy, std::string_view sql) : copy_(copy), sql_(sql) {}

  StatusOr<CopyOptions> read() {
    for (const ast::Option& option : copy_.options) SCYPER_RETURN_IF_ERROR(take(option));
    if (out_.format.is_binary && delimiter_.has_value())
      return sql_error("42601", "cannot specify DELIMITER in BINARY mode");
    if (out_.format.is_binary && null_.has_value()) return sql_error("42601", "cannot specify NULL in BINARY mode");
    SCYPER_RETURN_IF_ERROR(check_separators());
    SCYPER_RETURN_IF_ERROR(check_csv_only());
    SCYPER_RETURN_IF_ERROR(check_forced());
    return std::move(out_);
  }

 private:
  Status fail(std::string_view sqlstate, std::string_view message, const ast::Option& option) const {
    return error_at(sqlstate, message, sql_, option.location);
  }

  Status take(const ast::Option& option) {
    const std::string& name = option.name;
    if (std::find(seen_.begin(), seen_.end(), name) != seen_.end())
      return fail("42601", "conflicting or redundant options", option);
    static constexpr std::string_view kNames[] = {"format",         "freeze",     "delimiter", "null",
                                                  "header",         "quote",      "escape",    "force_quote",
                                                  "force_not_null", "force_null", "encoding"};
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
      return fail("42601", absl::StrCat("option \"", name, "\" not recognized"), option);
    seen_.push_back(name);
    if (name == "format") return take_format(option);
    if (name == "header") return take_header(option);
    if (name == "freeze") return take_freeze(option);
    if (name == "encoding") return take_encoding(option);
    if (name.starts_with("force_")) return take_columns(option);
    if (!option.has_value) return sql_error("42601", absl::StrCat(name, " requires a parameter"));
    std::optional<std::string>* text = name == "delimiter" ? &delimiter_
                                       : name == "null"    ? &null_
                                       : name == "quote"   ? &quote_
                                                           : &escape_;
    *text = option.value;
    return Status();
  }

  Status take_format(const ast::Option& option) {
    if (!option.has_value) return sql_error("42601", "format requires a parameter");
    if (option.value != "text" && option.value != "csv" && option.value != "binary")
      return fail("22023", absl::StrCat("COPY format \"", option.value, "\" not recognized"), option);
    out_.format.is_csv = option.value == "csv";
    out_.format.is_binary = option.value == "binary";
    return Status();
  }

  // nullopt: neither of PostgreSQL's words.
  static std::optional<bool> truth_of(const ast::Option& option) {
    if (!option.has_value) return true;
    std::string word;
    for (const char c : option.value) word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (word == "true" || word == "on" || word == "1") return true;
    if (word == "false" || word == "off" || word == "0") return false;
    return std::nullopt;
  }

  Status take_header(const ast::Option& option) {
    std::optional<bool> truth = truth_of(option);
    if (truth.has_value()) {
      out_.format.header = *truth ? CopyHeader::kLine : CopyHeader::kNone;
      return Status();
    }
    std::string word;
    for (const char c : option.value) word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (word != "match") return sql_error("42601", "header requires a Boolean value or \"match\"");
    if (!copy_.from) return sql_error("0A000", "cannot use \"match\" with HEADER in COPY TO");
    out_.format.header = CopyHeader::kMatch;
    return Status();
  }

  Status take_freeze(const ast::Option& option) {
    if (!truth_of(option).has_value()) return sql_error("42601", "freeze requires a Boolean value");
    return Status();  // rows are never frozen here, nor is there a need to
  }

  Status take_encoding(const ast::Option& option) {
    out_.format.encoding = find_encoding(option.value);
    if (out_.format.encoding == nullptr)
      return fail("22023", "argument to option \"encoding\" must be a valid encoding name", option);
    if (TextConverter::make(*out_.format.encoding, TextConverter::Direction::kToUtf8) != nullptr) return Status();
    return sql_error("42883", absl::StrCat("default conversion function for encoding \"",
                                           std::string(out_.format.encoding->name), "\" to \"UTF8\" does not exist"));
  }

  Status take_columns(const ast::Option& option) {
    const bool is_quote = option.name == "force_quote";
    if (is_quote && option.value == "*" && option.list.empty()) {
      out_.force_quote_all = true;
      return Status();
    }
    if (option.list.empty())
      return fail("22023", absl::StrCat("argument to option \"", option.name, "\" must be a list of column names"),
                  option);
    auto& list = is_quote ? out_.force_quote : option.name == "force_null" ? out_.force_null : out_.force_not_null;
    list = option.list;
    return Status();
  }

  Status check_separators() {
    CopyFormat& format = out_.format;
    if (!delimiter_.has_value()) delimiter_ = format.is_csv ? "," : "\t";
    if (!null_.has_value()) null_ = format.is_csv ? "" : "\\N";
    if (!is_one_byte(*delimiter_)) return sql_error("0A000", "COPY delimiter must be a single one-byte character");
    format.delimiter = (*delimiter_)[0];
    format.null_text = *null_;
    if (format.delimiter == '\r' || format.delimiter == '\n')
      return sql_error("22023", "COPY delimiter cannot be newline or carriage return");
    if (null_->find_first_of("\r\n") != std::string::npos)
      return sql_error("22023", "COPY null representation cannot use newline or carriage return");
    if (format.is_binary && format.header != CopyHeader::kNone)
      return sql_error("0A000", "cannot specify HEADER in BINARY mode");
    constexpr std::string_view kMeant = "\\.abcdefghijklmnopqrstuvwxyz0123456789";
    if (!format.is_csv && kMeant.find(format.delimiter) != std::string_view::npos)
      return sql_error("22023", absl::StrCat("COPY delimiter cannot be \"", *delimiter_, "\""));
    return Status();
  }

  Status check_csv_only() {
    CopyFormat& format = out_.format;
    if (!format.is_csv && quote_.has_value()) return sql_error("0A000", "COPY quote available only in CSV mode");
    if (!quote_.has_value()) quote_ = "\"";
    if (format.is_csv && !is_one_byte(*quote_))
      return sql_error("0A000", "COPY quote must be a single one-byte character");
    if (format.is_csv && (*quote_)[0] == format.delimiter)
      return sql_error("22023", "COPY delimiter and quote must be different");
    if (!format.is_csv && escape_.has_value()) return sql_error("0A000", "COPY escape available only in CSV mode");
    if (!escape_.has_value()) escape_ = *quote_;
    if (format.is_csv && !is_one_byte(*escape_))
      return sql_error("0A000", "COPY escape must be a single one-byte character");
    format.quote = (*quote_)[0];
    format.escape = (*escape_)[0];
    return Status();
  }

  Status check_forced() const {
    const CopyFormat& format = out_.format;
    if (!out_.force_quote.empty() || out_.force_quote_all) {
      if (!format.is_csv) return sql_error("0A000", "COPY force quote available only in CSV mode");
      if (copy_.from) return sql_error("0A000", "COPY force quote only available using COPY TO");
    }
    if (!out_.force_not_null.empty()) {
      if (!format.is_csv) return sql_error("0A000", "COPY force not null available only in CSV mode");
      if (!copy_.from) return sql_error("0A000", "COPY force not null only available using COPY FROM");
    }
    if (!out_.force_null.empty()) {
      if (!format.is_csv) return sql_error("0A000", "COPY force null available only in CSV mode");
      if (!copy_.from) return sql_error("0A000", "COPY force null only available using COPY FROM");
    }
    if (format.null_text.find(format.delimiter) != std::string::npos)
      return sql_error("0A000", "COPY delimiter must not appear in the NULL specification");
    if (format.is_csv && format.null_text.find(format.quote) != std::string::npos)
      return sql_error("0A000", "CSV quote character must not appear in the NULL specification");
    return Status();
  }

  const ast::CopyStatement& copy_;
  const std::string_view sql_;
  CopyOptions out_;
  std::vector<std::string> seen_;
  std::optional<std::string> delimiter_, null_, quote_, escape_;
};

}  // namespace

StatusOr<CopyOptions> read_copy_options(const ast::CopyStatement& copy, std::string_view sql) {
  return OptionReader(copy, sql).read();
}

}  // namespace scyper::query
