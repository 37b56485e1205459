#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "storage/page_cache.h"

namespace scyper::storage {

// A page cache that tables choose by its name (is_cache_name()).
struct TierCacheOptions {
  std::string name;
  size_t bytes = 0;
  EvictionPolicy policy = EvictionPolicy::kLirs;
};

// Of the tier of a node's frozen chunks (frozen_tier.h).
struct FrozenTierOptions {
  std::string directory;  // of its files, which no other process uses; empty: there is no tier
  size_t cache_bytes = size_t{256} << 20;
  EvictionPolicy cache_policy = EvictionPolicy::kLirs;
  std::vector<TierCacheOptions> caches;   // beside that one, whose name is `default`
  size_t memory_bytes = size_t{4} << 30;  // of frozen chunks' images; above it data goes to the tier. 0: all of it does
  bool learns = true;                     // hot data views from what statements ask (hot_view_learner.h)
};

constexpr std::string_view kDefaultCache = "default";
constexpr size_t kCacheNameBytesMax = 63;
// Letters, digits, _ and -.
bool is_cache_name(std::string_view name);
// Also of the default one.
bool has_cache(const FrozenTierOptions& options, std::string_view name);

}  // namespace scyper::storage
