#include "trainer/elastic/state/state_units.h"

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

}  // namespace

std::vector<Range> neighbours_joined(std::vector<Range> ranges) {
  std::ranges::sort(ranges);
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    const bool goes_on = !joined.empty() && joined.back().slice == range.slice && joined.back().end == range.begin;
    if (goes_on) {
      joined.back().end = range.end;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

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

StateUnits::StateUnits(const ModelSpec& model, const std::vector<HeldSlices>& held,
                       const std::vector<HeldSlices>& wanted)
    : model_(model), held_(held.size()), copied_(held.size()), wanted_(wanted.size()) {
  for (const int piece : all_pieces(model)) {
    const Piece whole = piece_of(model, piece);
    std::vector<Piece> parts;
    std::vector<std::vector<std::vector<int>*>> lists;  // by part: where its units are noted
    const auto add = [&](const HeldRanges& ranges, const std::vector<std::vector<int>*>& notes) {
      const auto found = ranges.find(piece);
      if (found == ranges.end()) return;
      parts.push_back(part_of(whole, found->second));
      lists.push_back(notes);
    };
    for (std::size_t rank = 0; rank < held.size(); ++rank) {
      add(held[rank].own, {&held_[rank]});
      add(held[rank].copies, {&held_[rank], &copied_[rank]});
    }
    for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
      add(wanted[rank].own, {&wanted_[rank]});
      add(wanted[rank].copies, {&wanted_[rank]});
    }
    for (const Parcel& parcel : parcels_of(whole, parts)) {
      const int unit = static_cast<int>(units_.size());
      units_.push_back({piece, parcel.ranges, size_of(whole, parcel)});
      for (const int index : parcel.holders) {
        for (std::vector<int>* list : lists[static_cast<std::size_t>(index)]) {
          if (list->empty() || list->back() != unit) list->push_back(unit);
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
