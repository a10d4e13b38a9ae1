// Level: a set of worlds with equal progress, and the number of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/trainer/elastic/protocol/packed_world.h"

namespace sailor::trainer::exploration {

class Level {
 public:
  struct Entry {
    PackedWorld world;
    std::uint32_t number = 0;
  };

  // Asks for a number if the world is new, and says whether it is.
  template <class Numbering>
  bool add(const PackedWorld& world, const Numbering& new_number) {
    if (4 * (entries_.size() + 1) > 3 * places_.size()) grow();
    const std::uint64_t hash = hash_of(world);
    std::size_t at = hash & (places_.size() - 1);
    for (; places_[at].index != 0; at = (at + 1) & (places_.size() - 1)) {
      if (places_[at].tag == tag_of(hash) && entries_[places_[at].index - 1].world == world) return false;
    }
    entries_.push_back({world, new_number()});
    places_[at] = {static_cast<std::uint32_t>(entries_.size()), tag_of(hash)};
    return true;
  }

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  struct Spot {
    std::uint32_t index = 0;  // one more than the entry's; 0: free
    std::uint32_t tag = 0;    // most of those that differ are told apart by it
  };

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32U); }

  void grow() {
    places_.assign(places_.empty() ? 64 : 2 * places_.size(), {});
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::uint64_t hash = hash_of(entries_[i].world);
      std::size_t at = hash & (places_.size() - 1);
      while (places_[at].index != 0) at = (at + 1) & (places_.size() - 1);
      places_[at] = {static_cast<std::uint32_t>(i + 1), tag_of(hash)};
    }
  }

  std::vector<Entry> entries_;
  std::vector<Spot> places_;  // a power of two
};

}  // namespace sailor::trainer::exploration
