#include "storage/object_store.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/pace.h"
#include "s3_client.h"
#include "storage/archive.h"

namespace scyper::storage {

namespace {

// Memory of a file that is open. Stores take at most 10,000 parts: the later ones are larger.
constexpr size_t kPartBytes = size_t{8} << 20;
constexpr uint32_t kSmallParts = 4'000;
constexpr size_t kLargePartBytes = size_t{64} << 20;
constexpr uint64_t kReadAheadBytes = uint64_t{8} << 20;
constexpr uint32_t kListedMax = 1'000'000;

Status unsupported(const std::string& path, const char* what) {
  return sql_error("0A000", path + ": a store has no " + what);
}

class StoreReader final : public File {
 public:
  StoreReader(StorePlace place, uint64_t size) : place_(std::move(place)), size_(size) {}

  StatusOr<size_t> read(uint64_t offset, char* out, size_t size) override {
    size_t done = 0;
    while (done < size && offset + done < size_) {
      const uint64_t at = offset + done;
      if (at < begin_ || at >= begin_ + ahead_.size()) {
        const uint64_t wanted = std::min(size_ - at, std::max<uint64_t>(kReadAheadBytes, size - done));
        SCYPER_RETURN_IF_ERROR(client_.get(place_, at, wanted, &ahead_));
        begin_ = at;
        if (ahead_.size() != wanted) return sql_error("58030", "s3://" + place_.bucket + ": an answer is cut off");
      }
      const size_t part = std::min<size_t>(size - done, begin_ + ahead_.size() - at);
      std::memcpy(out + done, ahead_.data() + (at - begin_), part);
      done += part;
    }
    return done;
  }
  Status write(uint64_t, std::string_view) override { return unsupported(place_.key, "writes into what is there"); }
  Status sync() override { return Status(); }
  Status write_durably(uint64_t offset, std::string_view bytes) override { return write(offset, bytes); }
  StatusOr<uint64_t> size() override { return size_; }
  Status resize(uint64_t) override { return unsupported(place_.key, "writes into what is there"); }

 private:
  const StorePlace place_;
  const uint64_t size_;
  S3Client client_;
  std::string ahead_;
  uint64_t begin_ = 0;  // of ahead_
};

class StoreWriter final : public File {
 public:
  explicit StoreWriter(StorePlace place) : place_(std::move(place)) {}
  ~StoreWriter() override {
    if (!upload_.empty() && !is_done_) client_.abandon_upload(place_, upload_);
  }

  StatusOr<size_t> read(uint64_t, char*, size_t) override {
    return unsupported(place_.key, "reads of what is written");
  }
  Status write(uint64_t offset, std::string_view bytes) override {
    if (offset != size_ || is_done_) return unsupported(place_.key, "writes out of order");
    size_ += bytes.size();
    while (!bytes.empty()) {
      const size_t part_bytes = tags_.size() < kSmallParts ? kPartBytes : kLargePartBytes;
      const size_t part = std::min(bytes.size(), part_bytes - part_.size());
      part_ += bytes.substr(0, part);
      bytes.remove_prefix(part);
      if (part_.size() == part_bytes) SCYPER_RETURN_IF_ERROR(send_part());
    }
    return Status();
  }
  // The file is there when it returns OK.
  Status sync() override {
    if (is_done_) return Status();
    if (upload_.empty()) {
      SCYPER_RETURN_IF_ERROR(client_.put(place_, part_));
    } else {
      if (!part_.empty()) SCYPER_RETURN_IF_ERROR(send_part());
      SCYPER_RETURN_IF_ERROR(client_.finish_upload(place_, upload_, tags_));
    }
    is_done_ = true;
    return Status();
  }
  Status write_durably(uint64_t offset, std::string_view bytes) override {
    SCYPER_RETURN_IF_ERROR(write(offset, bytes));
    return sync();
  }
  StatusOr<uint64_t> size() override { return size_; }
  Status resize(uint64_t bytes) override { return bytes == size_ ? Status() : unsupported(place_.key, "resizing"); }

 private:
  Status send_part() {
    if (upload_.empty()) {
      SCYPER_ASSIGN_OR_RETURN(upload_, client_.begin_upload(place_));
    }
    SCYPER_ASSIGN_OR_RETURN(std::string tag,
                            client_.put_part(place_, upload_, static_cast<uint32_t>(tags_.size()) + 1, part_));
    tags_.push_back(std::move(tag));
    part_.clear();
    return Status();
  }

  const StorePlace place_;
  S3Client client_;
  std::string part_;
  std::string upload_;  // empty: no part has been sent
  std::vector<std::string> tags_;
  uint64_t size_ = 0;
  bool is_done_ = false;
};

class DiskWithStores final : public Disk {
 public:
  StatusOr<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    if (!is_store_path(path)) return machine_->open(path, mode);
    SCYPER_ASSIGN_OR_RETURN(StorePlace place, parse_store_path(path));
    if (mode == OpenMode::kCreate) return std::make_unique<StoreWriter>(std::move(place));
    if (mode != OpenMode::kRead) return unsupported(path, "writes into what is there");
    SCYPER_ASSIGN_OR_RETURN(const uint64_t size, S3Client().size(place));
    return std::make_unique<StoreReader>(std::move(place), size);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return is_store_path(from) ? unsupported(from, "renames") : machine_->rename(from, to);
  }
  Status link(const std::string& from, const std::string& to) override {
    return is_store_path(from) || is_store_path(to) ? unsupported(to, "links") : machine_->link(from, to);
  }
  Status remove(const std::string& path) override {
    if (!is_store_path(path)) return machine_->remove(path);
    SCYPER_ASSIGN_OR_RETURN(StorePlace place, parse_store_path(path));
    return S3Client().remove(place);
  }
  // There are none, but it tells whether the bucket can be used.
  Status make_directory(const std::string& path) override {
    return is_store_path(path) ? look(path).status() : machine_->make_directory(path);
  }
  Status sync_directory(const std::string& path) override {
    return is_store_path(path) ? Status() : machine_->sync_directory(path);
  }
  StatusOr<std::vector<std::string>> list(const std::string& path) override {
    if (!is_store_path(path)) return machine_->list(path);
    SCYPER_ASSIGN_OR_RETURN(StorePlace place, parse_store_path(path));
    SCYPER_ASSIGN_OR_RETURN(StoreListing listing, S3Client().list(place, kListedMax));
    return std::move(listing.names);
  }
  bool exists(const std::string& path) override {
    if (!is_store_path(path)) return machine_->exists(path);
    auto place = parse_store_path(path);
    if (!place.ok()) return false;
    if (!place->key.empty() && S3Client().size(*place).ok()) return true;
    auto listing = look(path);
    return listing.ok() && !listing->names.empty();
  }
  StatusOr<uint64_t> free_bytes(const std::string& path) override {
    return is_store_path(path) ? ~uint64_t{0} : machine_->free_bytes(path);
  }

 private:
  static StatusOr<StoreListing> look(const std::string& path) {
    SCYPER_ASSIGN_OR_RETURN(StorePlace place, parse_store_path(path));
    return S3Client().list(place, 1);
  }

  const std::unique_ptr<Disk> machine_ = make_real_disk();
};

// Copies files, no faster than allowed.
class Copier {
 public:
  Copier(uint64_t bytes_per_second_max, const std::function<Status(uint64_t)>& on_progress)
      : pace_(bytes_per_second_max), on_progress_(on_progress) {}

  Status copy(Disk* from, const std::string& path, Disk* to, const std::string& target) {
    SCYPER_ASSIGN_OR_RETURN(auto in, from->open(path, OpenMode::kRead));
    SCYPER_ASSIGN_OR_RETURN(auto out, to->open(target, OpenMode::kCreate));
    buffer_.resize(size_t{1} << 20);
    for (uint64_t offset = 0;;) {
      SCYPER_ASSIGN_OR_RETURN(const size_t got, in->read(offset, buffer_.data(), buffer_.size()));
      if (got == 0) break;
      SCYPER_RETURN_IF_ERROR(out->write(offset, std::string_view(buffer_).substr(0, got)));
      offset += got;
      Status going_on;
      const auto is_over = [&, bytes = pace_.bytes() + got] {
        if (on_progress_) going_on = on_progress_(bytes);
        return !going_on.ok();
      };
      if (!is_over()) pace_.pass(got, is_over);
      SCYPER_RETURN_IF_ERROR(going_on);
    }
    return out->sync();
  }

 private:
  Pace pace_;
  const std::function<Status(uint64_t)>& on_progress_;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<Disk> make_disk_with_stores() { return std::make_unique<DiskWithStores>(); }

namespace {

Status copy_files(Disk* from, const std::string& path, Disk* to, const std::string& archives, const std::string& target,
                  Copier* copier) {
  SCYPER_RETURN_IF_ERROR(to->make_directory(target));
  SCYPER_RETURN_IF_ERROR(to->sync_directory(archives));
  SCYPER_ASSIGN_OR_RETURN(const std::vector<std::string> names, from->list(path));
  for (const std::string& name : names) {
    if (!name.ends_with(".dat")) continue;
    SCYPER_RETURN_IF_ERROR(copier->copy(from, path + "/" + name, to, target + "/" + name));
  }
  SCYPER_RETURN_IF_ERROR(to->sync_directory(target));
  // in a store an object is there whole or not at all
  const std::string manifest = target + "/MANIFEST", written = is_store_path(target) ? manifest : manifest + ".tmp";
  SCYPER_RETURN_IF_ERROR(copier->copy(from, path + "/MANIFEST", to, written));
  SCYPER_RETURN_IF_ERROR(to->sync_directory(target));
  if (written != manifest) SCYPER_RETURN_IF_ERROR(to->rename(written, manifest));
  return to->sync_directory(target);
}

}  // namespace

StatusOr<std::string> copy_archive(Disk* from, const std::string& path, Disk* to, const std::string& archives,
                                   uint64_t bytes_per_second_max, const std::function<Status(uint64_t)>& on_progress) {
  const std::string target = archives + path.substr(path.rfind('/'));
  Copier copier(bytes_per_second_max, on_progress);
  Status status = copy_files(from, path, to, archives, target, &copier);
  if (status.ok()) return target;
  if (!to->exists(target + "/MANIFEST")) static_cast<void>(remove_archive(to, {0, target, false}));
  return status;
}

}  // namespace scyper::storage
