#include "drill_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace scyper::client {

StatusOr<std::unique_ptr<DrillJournal>> DrillJournal::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return sql_error("58030", path + ": " + std::strerror(errno));
  return std::unique_ptr<DrillJournal>(new DrillJournal(file));
}

DrillJournal::~DrillJournal() { ::close(file_); }

// One call each: lines of several threads do not mix. Without its journal an audit is worth nothing.
void DrillJournal::write(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(1);
}

Status DrillJournalReader::read() {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return Status();  // not begun
  file.seekg(static_cast<std::streamoff>(offset_));
  std::ostringstream added;
  added << file.rdbuf();
  const std::string text = added.str();
  const size_t end = text.rfind('\n');
  if (end == std::string::npos) return Status();
  std::istringstream lines(text.substr(0, end + 1));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    char kind = 0;
    Acknowledgement entry;
    words >> kind >> entry.id;
    if (kind != 'N') words >> entry.ns;
    if (kind == 'A') words >> entry.target;
    if (!words) return sql_error("XX001", path_ + ": a line cannot be read: " + line);
    if (kind == 'S') sent_.emplace(entry.id, entry.ns);
    if (kind == 'N') refused_.insert(entry.id);
    if (kind == 'A') acknowledged_.push_back(std::move(entry));
    offset_ += line.size() + 1;
  }
  return Status();
}

}  // namespace scyper::client
