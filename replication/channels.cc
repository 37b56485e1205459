#include "replication/channels.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "replication/parcel.h"

namespace scyper::replication {

namespace {

// Body and padding. total_bytes() of a header that was sent by others may be anything.
uint64_t body_bytes(const BatchHeader& header) { return header.total_bytes() - sizeof(BatchHeader); }

}  // namespace

uint64_t channels_of(const PartitionSet& partitions, uint32_t channels) {
  uint64_t joined = 1;
  if (partitions.is_all()) return channels >= kChannelsMax ? ~uint64_t{0} : (uint64_t{1} << channels) - 1;
  for (uint32_t partition = 0; partition <= partitions.highest(); ++partition) {
    if (partitions.has(partition)) joined |= uint64_t{1} << channel_of(partition + 1, channels);
  }
  return joined;
}

StatusOr<std::string> channel_group(const std::string& group, uint32_t channel) {
  in_addr address{};
  if (::inet_pton(AF_INET, group.c_str(), &address) != 1 || !IN_MULTICAST(ntohl(address.s_addr))) {
    return sql_error("22023", absl::StrCat("\"", group, "\" is no IPv4 multicast address"));
  }
  const uint32_t wanted = ntohl(address.s_addr) + channel;  // far from what 32 bits hold
  if (!IN_MULTICAST(wanted)) {
    return sql_error("22023", absl::StrCat(group, " and the ", channel, " addresses behind it are not all multicast"));
  }
  address.s_addr = htonl(wanted);
  char text[INET_ADDRSTRLEN];
  return std::string(::inet_ntop(AF_INET, &address, text, sizeof(text)));
}

void cut_group(std::string_view group, uint32_t channels, ChannelParts* parts) {
  for (uint32_t channel = 0; channel < channels; ++channel) (*parts)[channel].clear();
  while (!group.empty()) {
    const auto header = read_batch_header(group);
    CHECK(header.ok() && header->total_bytes() <= group.size());
    const uint32_t channel = channel_of(header->stream, channels);
    (*parts)[0].append(group.substr(0, sizeof(BatchHeader)));
    (*parts)[channel].append(group.substr(sizeof(BatchHeader), body_bytes(*header)));
    group.remove_prefix(header->total_bytes());
  }
}

std::optional<GroupLayout> GroupLayout::read(std::string_view base, uint32_t channels, const PartitionSet& partitions,
                                             size_t bytes_max) {
  GroupLayout layout;
  while (!base.empty()) {
    const auto header = read_batch_header(base);
    if (!header.ok()) return std::nullopt;
    Batch batch;
    batch.channel = channel_of(header->stream, channels);
    const uint64_t body = body_bytes(*header);
    const bool is_kept = has_stream(partitions, header->stream);
    layout.bytes_ += sizeof(BatchHeader) + (is_kept ? body : 0);
    if (body > bytes_max || layout.bytes_ > bytes_max) return std::nullopt;
    const size_t here = sizeof(BatchHeader) + (batch.channel == 0 ? body : 0);
    if (here > base.size()) return std::nullopt;
    base.remove_prefix(here);
    batch.sent_bytes = static_cast<uint32_t>(body);
    batch.kept_bytes = is_kept ? batch.sent_bytes : 0;
    layout.part_bytes_[batch.channel] += body;
    if (batch.channel != 0 && batch.kept_bytes > 0) layout.needed_ |= uint64_t{1} << batch.channel;
    layout.batches_.push_back(batch);
  }
  if (layout.batches_.empty()) return std::nullopt;
  return layout;
}

std::string GroupLayout::join(std::string_view base, const std::array<std::string_view, kChannelsMax>& parts) const {
  std::array<std::string_view, kChannelsMax> rest = parts;
  rest[0] = base;
  std::string joined;
  joined.reserve(bytes_);
  for (const Batch& batch : batches_) {
    joined.append(rest[0].substr(0, sizeof(BatchHeader)));
    rest[0].remove_prefix(sizeof(BatchHeader));
    if (batch.channel != 0 && !has_channel(needed_, batch.channel)) continue;
    std::string_view& part = rest[batch.channel];
    joined.append(part.substr(0, batch.kept_bytes));
    part.remove_prefix(batch.sent_bytes);
  }
  return joined;
}

}  // namespace scyper::replication
