// Level: a set of states with equal progress, each stored in as few words as possible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/trainer/elastic/protocol/packed_world.h"

namespace sailor::trainer::exploration {

class Level {
 public:
  // Returns true if the world is new.
  bool add(const PackedWorld& world) {
    if (4 * (size_ + 1) > 3 * spots_.size()) grow();
    const std::uint64_t hash = hash_of(world);
    std::size_t at = hash & (spots_.size() - 1);
    for (; spots_[at].place != 0; at = (at + 1) & (spots_.size() - 1)) {
      if (spots_[at].tag == tag_of(hash) && is_at(spots_[at].place - 1, world)) return false;
    }
    spots_[at] = {end_ + 1, tag_of(hash)};
    append(world);
    ++size_;
    return true;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  // Visits the worlds in the order in which they were added.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint32_t at = 0; at < end_; at += static_cast<std::uint32_t>(word_count(word(at)))) visit(read(at));
  }

 private:
  static constexpr std::size_t kBlock = 2048;
  using Block = std::array<std::uint64_t, kBlock>;  // blocks are never copied when more are needed

  struct Spot {
    std::uint32_t place = 0;  // one more than the position of the first word; 0: the spot is free
    std::uint32_t tag = 0;    // differs for most worlds that differ
  };

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32U); }

  [[nodiscard]] std::uint64_t word(std::uint32_t at) const { return (*blocks_[at / kBlock])[at % kBlock]; }

  [[nodiscard]] bool is_at(std::uint32_t place, const PackedWorld& world) const {
    for (std::uint32_t i = 0; i < word_count(world[0]); ++i) {
      if (word(place + i) != world[i]) return false;
    }
    return true;
  }

  [[nodiscard]] PackedWorld read(std::uint32_t place) const {
    PackedWorld world{};
    for (std::uint32_t i = 0; i < word_count(word(place)); ++i) world[i] = word(place + i);
    return world;
  }

  void append(const PackedWorld& world) {
    for (std::size_t i = 0; i < word_count(world[0]); ++i, ++end_) {
      if (end_ % kBlock == 0) blocks_.push_back(std::make_unique_for_overwrite<Block>());
      (*blocks_.back())[end_ % kBlock] = world[i];
    }
  }

  void grow() {
    spots_.assign(spots_.empty() ? 64 : 2 * spots_.size(), {});
    std::uint32_t place = 0;
    for_each([&](const PackedWorld& world) {
      const std::uint64_t hash = hash_of(world);
      std::size_t at = hash & (spots_.size() - 1);
      while (spots_[at].place != 0) at = (at + 1) & (spots_.size() - 1);
      spots_[at] = {place + 1, tag_of(hash)};
      place += static_cast<std::uint32_t>(word_count(world[0]));
    });
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  std::uint32_t end_ = 0;    // the number of words in use
  std::vector<Spot> spots_;  // its size is a power of two
  std::size_t size_ = 0;
};

}  // namespace sailor::trainer::exploration
