#include "runtime/foreign_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "compile/program_parts.h"
#include "query/error_status.h"
#include "runtime/spill_space.h"

namespace scyper::query {

namespace {

constexpr size_t kBlockReadBytes = size_t{256} << 10;  // large against a system call, small against a core's cache
constexpr size_t kWindowRows = 256;
constexpr size_t kWindowTextBytes = size_t{1} << 20;  // from so much on a window ends early
// A quote that is never closed makes the rest of the file one line, which counts for no memory of the query.
constexpr size_t kLineBytesMax = size_t{64} << 20;
constexpr double kRowsUnknown = 100'000;
constexpr size_t kFieldBytesGuess = 8;

// As PostgreSQL's errcode_for_file_access().
std::string_view file_state(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
    case EROFS:
      return "42501";
    case ENOENT:
      return "58P01";
    case EISDIR:
    case ENOTDIR:
      return "42809";
    case ENOSPC:
      return "53100";
    case ENFILE:
    case EMFILE:
      return "53000";
    case EIO:
      return "58030";
    default:
      return "XX000";
  }
}

Status cannot_open(const std::string& file, int error) {
  return sql_error(file_state(error),
                   absl::StrCat("could not open file \"", file, "\" for reading: ", std::strerror(error)));
}

Status lies_outside(const std::string& file) {
  return with_hint(sql_error("42501", absl::StrCat("file \"", file, "\" does not lie in foreign_files_directory")),
                   "Foreign tables name files by their paths within that directory.");
}

bool has_parent(std::string_view path) {
  while (true) {
    const size_t end = path.find('/');
    if (path.substr(0, end) == "..") return true;
    if (end == std::string_view::npos) return false;
    path.remove_prefix(end + 1);
  }
}

StatusOr<std::string> real_path(const std::string& path, const std::string& file) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return cannot_open(file, errno);
  std::string text(resolved);
  std::free(resolved);
  return text;
}

bool is_below(const std::string& path, const std::string& directory) {
  return directory == "/" ||
         (path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/');
}

// What was opened, in case that links changed meanwhile.
Status check_opened(int descriptor, const std::string& directory, const std::string& file) {
  struct stat about{};
  if (fstat(descriptor, &about) != 0) return cannot_open(file, errno);
  if (S_ISDIR(about.st_mode)) return sql_error("42809", absl::StrCat("\"", file, "\" is a directory"));
  if (!S_ISREG(about.st_mode)) return sql_error("42809", absl::StrCat("\"", file, "\" is no regular file"));
  char path[PATH_MAX];
  const ssize_t size =
      readlink(absl::StrCat("/proc/self/fd/", descriptor).c_str(), static_cast<char*>(path), sizeof path);
  if (size < 0) return cannot_open(file, errno);
  return is_below(std::string(static_cast<char*>(path), static_cast<size_t>(size)), directory) ? Status()
                                                                                               : lies_outside(file);
}

}  // namespace

StatusOr<int> open_foreign_file(const std::string& directory, const std::string& file) {
  if (directory.empty())
    return with_hint(sql_error("55000", "foreign tables cannot be read: foreign_files_directory is not set"),
                     "Set foreign_files_directory of this node to the directory that holds their files.");
  if (has_parent(file)) return lies_outside(file);
  SCYPER_ASSIGN_OR_RETURN(const std::string root, real_path(directory, directory));
  const bool is_absolute = file.starts_with("/");
  SCYPER_ASSIGN_OR_RETURN(const std::string path, real_path(is_absolute ? file : absl::StrCat(root, "/", file), file));
  if (path == root) return sql_error("42809", absl::StrCat("\"", file, "\" is a directory"));
  if (!is_below(path, root)) return lies_outside(file);
  // not to wait for the other end of a pipe
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return cannot_open(file, errno);
  Status status = check_opened(descriptor, root, file);
  if (status.ok()) return descriptor;
  close(descriptor);
  return status;
}

double estimate_foreign_rows(const ForeignTable& table, const std::string& directory) {
  if (directory.empty()) return kRowsUnknown;
  auto file = open_foreign_file(directory, table.file);
  if (!file.ok()) return kRowsUnknown;
  struct stat about{};
  const bool is_known = fstat(*file, &about) == 0;
  close(*file);
  if (!is_known) return kRowsUnknown;
  const double row_bytes = static_cast<double>(table.shape.columns.size() * kFieldBytesGuess + 1);
  return std::max(1.0, static_cast<double>(about.st_size) / row_bytes);
}

// --- ForeignReader ---

ForeignReader::ForeignReader(const ForeignTable& table, int file)
    : table_(table),
      file_(file),
      lines_(table.shape),
      block_(std::make_unique_for_overwrite<char[]>(kBlockReadBytes)),
      rows_(kWindowRows * table.shape.columns.size() + 1) {}

Status ForeignReader::fill(ExecContext* context) {
  values_.clear();
  row_count_ = text_bytes_ = 0;
  while (row_count_ < kWindowRows && text_bytes_ < kWindowTextBytes) {
    SCYPER_ASSIGN_OR_RETURN(CopyReader::Step step, lines_.next());
    if (step == CopyReader::Step::kEnd) break;
    if (step == CopyReader::Step::kMore)
      SCYPER_RETURN_IF_ERROR(read_block(context));
    else
      SCYPER_RETURN_IF_ERROR(read_row());
  }
  return Status();
}

Status ForeignReader::read_block(ExecContext* context) {
  is_interrupted_ = poll_interrupt(context) != 0;
  if (is_interrupted_) return status_of(context->error);
  if (lines_.buffered_bytes() > kLineBytesMax)
    return lines_.at_line(sql_error("54000", absl::StrCat("a line of file \"", table_.file, "\" is too long")));
  ssize_t size = 0;
  do {
    size = pread(file_, block_.get(), kBlockReadBytes, static_cast<off_t>(offset_));
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    const int error = errno;
    return lines_.at_line(
        sql_error(file_state(error), absl::StrCat("could not read from COPY file: ", std::strerror(error))));
  }
  offset_ += static_cast<uint64_t>(size);
  if (size == 0)
    lines_.finish();
  else
    lines_.add({block_.get(), static_cast<size_t>(size)});
  return Status();
}

Status ForeignReader::read_row() {
  const size_t width = table_.shape.columns.size();
  Datum* row = rows_.data() + row_count_ * width;
  for (size_t i = 0; i < width; i++) {
    SCYPER_RETURN_IF_ERROR(lines_.read_value(i, &values_, &values_, &row[i]));
    text_bytes_ += lines_.field_bytes(i);
  }
  row_count_++;
  return Status();
}

// --- ForeignFiles ---

ForeignFiles::~ForeignFiles() {
  for (const auto& [table, file] : files_) close(file);
}

std::vector<int> ForeignFiles::descriptors() const {
  std::vector<int> all;
  for (const auto& [table, file] : files_) all.push_back(file);
  return all;
}

ForeignReader* ForeignFiles::open(const ForeignTable& table, uint32_t depth, int64_t place) {
  auto file = std::find_if(files_.begin(), files_.end(), [&](const auto& known) { return known.first == &table; });
  if (file == files_.end()) return nullptr;
  auto& reader = readers_[{depth, place}];
  reader = std::make_unique<ForeignReader>(table, file->second);
  return reader.get();
}

// --- called by generated code ---

namespace {

extern "C" {

int32_t rt_foreign_open(ExecContext* c, int64_t number, int64_t place) noexcept {
  const ForeignTable& table = *c->program->parts().resources.foreign[static_cast<size_t>(number)];
  ForeignFiles* files = ForeignFiles::current();
  ForeignReader* reader = files == nullptr ? nullptr : files->open(table, c->depth, place);
  c->value[0] = reinterpret_cast<int64_t>(reader);
  if (reader != nullptr) return 0;
  return c->fail(with_hint(sql_error("0A000", absl::StrCat("foreign table \"", table.shape.table,
                                                           "\" cannot be read in a transaction")),
                           "Statements that only read run as queries, on snapshots; those may read foreign tables."),
                 /*catchable=*/false);
}

int32_t rt_foreign_fill(ExecContext* c, ForeignReader* reader) noexcept {
  if (Status status = reader->fill(c); !status.ok()) {
    const bool catchable = !reader->is_interrupted();
    c->fail(status, catchable);
    c->error.context = context_of(status);
    return static_cast<int32_t>(Outcome::kError);
  }
  c->value[0] = reinterpret_cast<int64_t>(reader->rows());
  c->value[1] = static_cast<int64_t>(reader->row_count());
  return 0;
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_FOREIGN_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
