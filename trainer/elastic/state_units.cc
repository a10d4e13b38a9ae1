#include "trainer/elastic/state_units.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sailor::trainer {
namespace {

tl::unexpected<Error> not_understood(const std::string& line) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("what a worker says it holds is not understood: {}", line));
}

bool is_range_of(const Piece& whole, const Range& range) {
  if (range.slice < 0 || range.slice >= std::ssize(whole.slices)) return false;
  const Slice& slice = whole.slices[static_cast<std::size_t>(range.slice)];
  return 0 <= range.begin && range.begin < range.end &&
         range.end <= slice.shape[static_cast<std::size_t>(slice.cut.dimension)];
}

bool is_list_of_integers(const nlohmann::json& json, std::size_t length) {
  return json.is_array() && json.size() == length &&
         std::ranges::all_of(json, [](const nlohmann::json& element) { return element.is_number_integer(); });
}

Piece part_held(const ModelSpec& model, int piece, const HeldRanges& held) {
  const auto found = held.find(piece);
  return part_of(piece_of(model, piece), found == held.end() ? std::vector<Range>{} : found->second);
}

}  // namespace

std::string to_line(const HeldRanges& held) {
  auto json = nlohmann::json::array();
  for (const auto& [piece, ranges] : held) {
    for (const Range& range : ranges) json.push_back({piece, range.slice, range.begin, range.end});
  }
  return json.dump();
}

Result<HeldRanges> held_ranges_from_line(const ModelSpec& model, const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_array()) return not_understood(line);
  HeldRanges held;
  for (const auto& element : json) {
    if (!is_list_of_integers(element, 4)) return not_understood(line);
    const int piece = element[0];
    const Range range{element[1], element[2], element[3]};
    if (piece < 0 || piece >= piece_count(model) || !is_range_of(piece_of(model, piece), range)) {
      return not_understood(line);
    }
    held[piece].push_back(range);
  }
  return held;
}

StateUnits::StateUnits(const ModelSpec& model, const Roster& roster, const std::vector<HeldRanges>& held)
    : held_(held.size()), wanted_(static_cast<std::size_t>(roster.workers())) {
  for (const int piece : roster.pieces()) {
    const Piece whole = piece_of(model, piece);
    const std::vector<int>& takers = roster.holders_of(piece);
    std::vector<Piece> parts;  // first what ranks hold, then what those want who have a role for the piece
    parts.reserve(held.size() + takers.size());
    for (const HeldRanges& ranges : held) parts.push_back(part_held(model, piece, ranges));
    for (const int rank : takers) parts.push_back(roster.held_part(rank, piece));
    for (const Parcel& parcel : parcels_of(whole, parts)) {
      const int unit = static_cast<int>(units_.size());
      units_.push_back({piece, parcel.ranges, size_of(whole, parcel)});
      for (const int index : parcel.holders) {
        const auto place = static_cast<std::size_t>(index);
        if (place < held.size()) {
          held_[place].push_back(unit);
        } else {
          wanted_[static_cast<std::size_t>(takers[place - held.size()])].push_back(unit);
        }
      }
    }
  }
}

std::vector<int> StateUnits::ids() const {
  std::vector<int> ids(units_.size());
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace sailor::trainer
