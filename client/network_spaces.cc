#include "network_spaces.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace scyper::client {

namespace {
bool run_quietly(const std::string& command) {
  return std::system(absl::StrCat("{ ", command, "; } >/dev/null 2>&1").c_str()) == 0;
}
}  // namespace

NetworkSpaces::NetworkSpaces() : id_(::getpid()) {}

std::string NetworkSpaces::bridge() const { return absl::StrCat("sy", id_ % 100000); }
std::string NetworkSpaces::subnet() const { return absl::StrCat("10.78.", 1 + id_ % 250, "."); }
std::string NetworkSpaces::name(uint32_t i) const { return absl::StrCat("scyper-bench-", id_, "-", i); }
std::string NetworkSpaces::address(uint32_t i) const { return absl::StrCat(subnet(), i + 1); }

std::string NetworkSpaces::bridge_address() const { return subnet() + "254"; }
std::string NetworkSpaces::link(uint32_t i) const { return absl::StrCat("y", id_ % 10000, "n", i); }

Status NetworkSpaces::set_link(uint32_t i, bool is_up) const {
  if (run_quietly(absl::StrCat("ip link set ", link(i), is_up ? " up" : " down"))) return Status();
  return sql_error("58030", "the link of " + name(i) + " cannot be set");
}

Status NetworkSpaces::set_loss(uint32_t i, uint32_t percent, uint16_t port) const {
  const std::string nft = absl::StrCat("ip netns exec ", name(i), " nft ");
  const std::string rule =
      absl::StrCat(" && ", nft, "'add table ip loss; add chain ip loss in { type filter hook input priority 0; };",
                   " add rule ip loss in udp dport ", port, " numgen random mod 100 < ", percent, " drop'");
  if (run_quietly(absl::StrCat(nft, "flush ruleset", percent == 0 ? "" : rule))) return Status();
  return sql_error("58030", "no loss can be set in " + name(i));
}

Status NetworkSpaces::make(uint32_t count, uint32_t mtu) {
  has_bridge_ = run_quietly(absl::StrCat("ip link add ", bridge(), " type bridge && ip link set ", bridge(),
                                         " up && ip addr add ", subnet(), "254/24 dev ", bridge()));
  bool ok = has_bridge_;
  for (uint32_t i = 0; i < count && ok; ++i) {
    const std::string link = this->link(i);
    ++count_;
    ok = run_quietly(absl::StrCat(
        "ip netns add ", name(i), " && ip link add ", link, " mtu ", mtu, " type veth peer name eth0 mtu ", mtu,
        " netns ", name(i), " && ip link set ", link, " master ", bridge(), " up && ip -n ", name(i), " addr add ",
        address(i), "/24 dev eth0 && ip -n ", name(i), " link set eth0 up && ip -n ", name(i), " link set lo up"));
  }
  if (ok) return Status();
  return with_hint(sql_error("42501", "network namespaces cannot be made"),
                   "Run as root, or with --transport unicast on loopback.");
}

NetworkSpaces::~NetworkSpaces() {
  for (uint32_t i = 0; i < count_; ++i) {
    run_quietly("ip link del " + link(i));  // a namespace goes when its last process has, by and by
    run_quietly("ip netns del " + name(i));
  }
  if (has_bridge_) run_quietly("ip link del " + bridge());
}

}  // namespace scyper::client
