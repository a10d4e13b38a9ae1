// PackedWorld: a world in as few words as possible. The search keeps worlds in this form.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {

using PackedWorld = std::array<std::uint64_t, 14>;  // unused words are zero

inline constexpr unsigned kCountBits = 4;  // the lowest bits of the first word: the number of words in use

inline std::size_t word_count(std::uint64_t first_word) { return first_word & ((1U << kCountBits) - 1); }

PackedWorld pack(const World& world);  // checks that nothing is lost
World unpack(const PackedWorld& packed);
std::uint64_t hash_of(const PackedWorld& packed);

}  // namespace sailor::trainer::exploration
