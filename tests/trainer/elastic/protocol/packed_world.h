// PackedWorld: a world in 80 bytes, for those that are kept.
#pragma once

#include <array>
#include <cstdint>

#include "tests/trainer/elastic/protocol/world.h"

namespace sailor::trainer::exploration {

using PackedWorld = std::array<std::uint64_t, 10>;

PackedWorld pack(const World& world);  // checks that nothing is lost
World unpack(const PackedWorld& packed);
std::uint64_t hash_of(const PackedWorld& packed);

}  // namespace sailor::trainer::exploration
