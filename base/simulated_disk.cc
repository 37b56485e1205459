#include "base/simulated_disk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace scyper {

// A file: what processes see, and what a power loss leaves. Guarded by the disk's mutex.
struct SimulatedDisk::Node {
  std::string data;
  std::string durable;
  std::set<uint64_t> dirty;  // sectors of `data` that are not in `durable`
  // Their number differs from durable.size() and was not synced.
  bool size_is_dirty = false;

  void mark(uint64_t offset, uint64_t bytes) {
    if (bytes == 0) return;
    for (uint64_t s = offset / kSectorBytes; s <= (offset + bytes - 1) / kSectorBytes; ++s) dirty.insert(s);
  }
  void copy_sector(uint64_t sector, size_t bytes) {
    const uint64_t begin = sector * kSectorBytes;
    if (begin >= data.size()) return;
    const size_t end = std::min<size_t>(data.size(), begin + std::min(bytes, kSectorBytes));
    if (durable.size() < end) durable.resize(end, '\0');
    std::memcpy(durable.data() + begin, data.data() + begin, end - begin);
  }
  void make_durable() {
    durable.resize(data.size(), '\0');
    for (uint64_t sector : dirty) copy_sector(sector, kSectorBytes);
    dirty.clear();
    size_is_dirty = false;
  }
};

class SimulatedFile final : public File {
 public:
  SimulatedFile(SimulatedDisk* disk, std::shared_ptr<SimulatedDisk::Node> node, std::string path, OpenMode mode)
      : disk_(disk), node_(std::move(node)), path_(std::move(path)), mode_(mode) {}

  StatusOr<size_t> read(uint64_t offset, char* out, size_t size) override {
    absl::MutexLock lock(&disk_->mutex_);
    const std::string& data = node_->data;
    if (offset >= data.size()) return size_t{0};
    const size_t n = std::min<size_t>(size, data.size() - offset);
    std::memcpy(out, data.data() + offset, n);
    return n;
  }
  Status write(uint64_t offset, std::string_view bytes) override {
    if (mode_ == OpenMode::kRead) return absl::UnavailableError(path_ + ": opened for reading");
    disk_->observe();
    absl::MutexLock lock(&disk_->mutex_);
    if (Status status = disk_->pass(SimulatedDisk::Operation::kWrite); !status.ok()) {
      // some of it may have got there
      const size_t part = disk_->luck_.below(bytes.size() + 1);
      if (offset + part <= node_->data.size()) put(offset, bytes.substr(0, part));
      return status;
    }
    const uint64_t end = offset + bytes.size();
    const uint64_t growth = end > node_->data.size() ? end - node_->data.size() : 0;
    if (growth > 0 && disk_->used_bytes() + growth > disk_->capacity_bytes_) {
      return absl::ResourceExhaustedError(path_ + ": write: No space left on device");
    }
    put(offset, bytes);
    return Status();
  }
  Status sync() override {
    disk_->observe();
    absl::MutexLock lock(&disk_->mutex_);
    if (Status status = disk_->pass(SimulatedDisk::Operation::kSync); !status.ok()) {
      node_->dirty.clear();  // clean, and lost
      return status;
    }
    node_->make_durable();
    return Status();
  }
  Status write_durably(uint64_t offset, std::string_view bytes) override {
    if (mode_ == OpenMode::kLog) {
      CHECK(offset % kDiskBlockBytes == 0 && bytes.size() % kDiskBlockBytes == 0);
      CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % kDiskBlockBytes == 0);
    }
    SCYPER_RETURN_IF_ERROR(write(offset, bytes));
    return sync();
  }
  StatusOr<uint64_t> size() override {
    absl::MutexLock lock(&disk_->mutex_);
    return uint64_t{node_->data.size()};
  }
  Status resize(uint64_t bytes) override {
    disk_->observe();
    absl::MutexLock lock(&disk_->mutex_);
    SCYPER_RETURN_IF_ERROR(disk_->pass(SimulatedDisk::Operation::kWrite));
    node_->data.resize(bytes, '\0');
    node_->size_is_dirty = true;
    return Status();
  }

 private:
  void put(uint64_t offset, std::string_view bytes) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (offset + bytes.size() > node_->data.size()) {
      node_->data.resize(offset + bytes.size(), '\0');
      node_->size_is_dirty = true;
    }
    if (!bytes.empty()) std::memcpy(node_->data.data() + offset, bytes.data(), bytes.size());
    node_->mark(offset, bytes.size());
  }

  SimulatedDisk* const disk_;
  const std::shared_ptr<SimulatedDisk::Node> node_;
  const std::string path_;
  const OpenMode mode_;
};

SimulatedDisk::SimulatedDisk() = default;
SimulatedDisk::~SimulatedDisk() = default;

void SimulatedDisk::set_observer(std::function<void()> observer) { observer_ = std::move(observer); }
void SimulatedDisk::observe() {
  if (observer_) observer_();
}

Status SimulatedDisk::pass(Operation operation) {
  ++operations_;
  Fault& fault = faults_[static_cast<size_t>(operation)];
  if (!fault.armed) return Status();
  if (fault.after > 0) {
    --fault.after;
    return Status();
  }
  if (!fault.for_ever) fault.armed = false;
  return absl::UnavailableError("simulated disk: Input/output error");
}

void SimulatedDisk::fail(Operation operation, uint64_t n, bool for_ever) {
  absl::MutexLock lock(&mutex_);
  faults_[static_cast<size_t>(operation)] = {true, n, for_ever};
}
void SimulatedDisk::heal() {
  absl::MutexLock lock(&mutex_);
  for (Fault& fault : faults_) fault = {};
  refused_.clear();
}
void SimulatedDisk::refuse(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  refused_ = path;
}
void SimulatedDisk::set_capacity(uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  capacity_bytes_ = bytes;
}
uint64_t SimulatedDisk::operations() const {
  absl::MutexLock lock(&mutex_);
  return operations_;
}
uint64_t SimulatedDisk::used_bytes() const {
  uint64_t bytes = 0;
  std::set<const Node*> seen;  // a file may have several names
  for (const auto& [path, node] : names_.files) bytes += seen.insert(node.get()).second ? node->data.size() : 0;
  return bytes;
}

void SimulatedDisk::apply(const NameChange& change, Names* names) {
  if (change.is_directory) {
    names->directories.insert(change.path);
  } else if (change.node != nullptr) {
    names->files[change.path] = change.node;
  } else {
    names->files.erase(change.path);
    names->directories.erase(change.path);
  }
}

void SimulatedDisk::change_name(NameChange change) {
  apply(change, &names_);
  pending_.push_back(std::move(change));
}

StatusOr<std::unique_ptr<File>> SimulatedDisk::open(const std::string& path, OpenMode mode) {
  if (mode == OpenMode::kCreate) observe();
  absl::MutexLock lock(&mutex_);
  if (!refused_.empty() && path.starts_with(refused_)) {
    return absl::UnavailableError(path + ": open: Too many open files");
  }
  auto found = names_.files.find(path);
  std::shared_ptr<Node> node = found == names_.files.end() ? nullptr : found->second;
  if (mode == OpenMode::kCreate) {
    SCYPER_RETURN_IF_ERROR(pass(Operation::kName));
    if (node == nullptr) {
      node = std::make_shared<Node>();
      change_name({path, node, false});
    } else {
      node->data.clear();
      node->dirty.clear();
      node->size_is_dirty = true;
    }
  }
  if (node == nullptr) return absl::NotFoundError(path + ": open: No such file or directory");
  return std::make_unique<SimulatedFile>(this, std::move(node), path, mode);
}

Status SimulatedDisk::rename(const std::string& from, const std::string& to) {
  observe();
  absl::MutexLock lock(&mutex_);
  SCYPER_RETURN_IF_ERROR(pass(Operation::kName));
  auto found = names_.files.find(from);
  if (found == names_.files.end()) {
    // a directory: all that is in it moves along, as one change per name
    if (!names_.directories.contains(from)) return absl::NotFoundError(from + ": rename: No such file or directory");
    std::vector<NameChange> changes{{to, nullptr, true}};
    for (const auto& [path, node] : names_.files) {
      if (!path.starts_with(from + "/")) continue;
      changes.push_back({to + path.substr(from.size()), node, false});
      changes.push_back({path, nullptr, false});
    }
    changes.push_back({from, nullptr, false});
    for (NameChange& change : changes) change_name(std::move(change));
    return Status();
  }
  std::shared_ptr<Node> node = found->second;
  change_name({from, nullptr, false});
  change_name({to, std::move(node), false});
  return Status();
}

Status SimulatedDisk::link(const std::string& from, const std::string& to) {
  observe();
  absl::MutexLock lock(&mutex_);
  SCYPER_RETURN_IF_ERROR(pass(Operation::kName));
  auto found = names_.files.find(from);
  if (found == names_.files.end()) return absl::NotFoundError(from + ": link: No such file or directory");
  if (names_.files.contains(to)) return absl::AlreadyExistsError(to + ": link: File exists");
  change_name({to, found->second, false});
  return Status();
}

Status SimulatedDisk::remove(const std::string& path) {
  observe();
  absl::MutexLock lock(&mutex_);
  SCYPER_RETURN_IF_ERROR(pass(Operation::kName));
  const bool is_directory = names_.directories.contains(path);
  if (!is_directory && !names_.files.contains(path)) {
    return absl::NotFoundError(path + ": remove: No such file or directory");
  }
  if (is_directory) {
    auto inside = names_.files.lower_bound(path + "/");
    if (inside != names_.files.end() && inside->first.starts_with(path + "/")) {
      return absl::UnavailableError(path + ": remove: Directory not empty");
    }
  }
  change_name({path, nullptr, false});
  return Status();
}

Status SimulatedDisk::make_directory(const std::string& path) {
  observe();
  absl::MutexLock lock(&mutex_);
  SCYPER_RETURN_IF_ERROR(pass(Operation::kName));
  if (!names_.directories.contains(path)) change_name({path, nullptr, true});
  return Status();
}

Status SimulatedDisk::sync_directory(const std::string& path) {
  observe();
  absl::MutexLock lock(&mutex_);
  SCYPER_RETURN_IF_ERROR(pass(Operation::kSync));
  std::vector<NameChange> left;
  for (NameChange& change : pending_) {
    if (directory_of(change.path) == path) {
      apply(change, &durable_);
    } else {
      left.push_back(std::move(change));
    }
  }
  pending_ = std::move(left);
  return Status();
}

StatusOr<std::vector<std::string>> SimulatedDisk::list(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  if (!names_.directories.contains(path)) {
    return absl::NotFoundError(path + ": opendir: No such file or directory");
  }
  std::set<std::string> names;
  auto add = [&](const std::string& other) {
    if (directory_of(other) == path) names.insert(other.substr(path.size() + 1));
  };
  for (const auto& [file, node] : names_.files) add(file);
  for (const std::string& directory : names_.directories) add(directory);
  return std::vector<std::string>(names.begin(), names.end());
}

bool SimulatedDisk::exists(const std::string& path) {
  absl::MutexLock lock(&mutex_);
  return names_.files.contains(path) || names_.directories.contains(path);
}

StatusOr<uint64_t> SimulatedDisk::free_bytes(const std::string&) {
  absl::MutexLock lock(&mutex_);
  const uint64_t used = used_bytes();
  return used >= capacity_bytes_ ? 0 : capacity_bytes_ - used;
}

// What lies in a directory is lost with its name. Parents come before what is in them.
void SimulatedDisk::drop_unreachable(Names* names) {
  const auto is_lost = [&](const std::string& path) {
    const std::string parent = directory_of(path);
    return parent != "/" && !names->directories.contains(parent);
  };
  for (auto it = names->directories.begin(); it != names->directories.end();) {
    it = is_lost(*it) ? names->directories.erase(it) : std::next(it);
  }
  std::erase_if(names->files, [&](const auto& file) { return is_lost(file.first); });
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::after_power_loss(uint64_t seed) const {
  Random luck(seed);
  auto image = std::make_unique<SimulatedDisk>();
  absl::MutexLock lock(&mutex_);
  absl::MutexLock image_lock(&image->mutex_);
  Names names = durable_;
  std::map<std::string, bool> cut;  // directories whose later changes are lost
  for (const NameChange& change : pending_) {
    bool& is_cut = cut[directory_of(change.path)];
    if (!is_cut) is_cut = luck.one_in(3);
    if (!is_cut) apply(change, &names);
  }
  drop_unreachable(&names);
  std::map<const Node*, std::shared_ptr<Node>> copies;
  for (const auto& [path, node] : names.files) {
    std::shared_ptr<Node>& copy = copies[node.get()];
    if (copy == nullptr) {
      copy = std::make_shared<Node>();
      copy->data = node->data;
      copy->durable = node->durable;
      const uint64_t style = luck.below(4);  // all lost, all there, or each sector for itself
      for (uint64_t sector : node->dirty) {
        const uint64_t fate = style == 0 ? 0 : style == 1 ? 1 : luck.below(3);
        if (fate == 1) copy->copy_sector(sector, kSectorBytes);
        if (fate == 2) copy->copy_sector(sector, 1 + luck.below(kSectorBytes - 1));
      }
      if (node->size_is_dirty && style != 0 && luck.one_in(2)) copy->durable.resize(node->data.size(), '\0');
      copy->data = copy->durable;
    }
    image->names_.files[path] = copy;
  }
  image->names_.directories = names.directories;
  image->durable_ = image->names_;
  return image;
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::after_kill() const {
  auto image = std::make_unique<SimulatedDisk>();
  absl::MutexLock lock(&mutex_);
  absl::MutexLock image_lock(&image->mutex_);
  std::map<const Node*, std::shared_ptr<Node>> copies;
  for (const auto& [path, node] : names_.files) {
    std::shared_ptr<Node>& copy = copies[node.get()];
    if (copy == nullptr) {
      copy = std::make_shared<Node>(*node);
      copy->durable = copy->data;
      copy->dirty.clear();
      copy->size_is_dirty = false;
    }
    image->names_.files[path] = copy;
  }
  image->names_.directories = names_.directories;
  image->durable_ = image->names_;
  return image;
}

void SimulatedDisk::flip(const std::string& path, uint64_t offset, uint8_t mask) {
  absl::MutexLock lock(&mutex_);
  auto found = names_.files.find(path);
  CHECK(found != names_.files.end() && offset < found->second->data.size());
  char& byte = found->second->data[offset];
  byte = static_cast<char>(byte ^ mask);
  found->second->mark(offset, 1);
  found->second->make_durable();
}

}  // namespace scyper
