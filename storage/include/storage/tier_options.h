#pragma once

#include <cstddef>
#include <string>

#include "storage/page_cache.h"

namespace scyper::storage {

// Of the tier of a node's frozen chunks (frozen_tier.h).
struct FrozenTierOptions {
  std::string directory;  // of its files, which no other process uses; empty: there is no tier
  size_t cache_bytes = size_t{256} << 20;
  EvictionPolicy cache_policy = EvictionPolicy::kLirs;
  size_t memory_bytes = size_t{4} << 30;  // of frozen chunks' images; above it data goes to the tier. 0: all of it does
  bool learns = true;                     // hot data views from what statements ask (hot_view_learner.h)
};

}  // namespace scyper::storage
