#include "trainer/step/gradient_sums.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <ATen/ATen.h>

#include "trainer/step/shares.h"

namespace sailor::trainer {
namespace {

std::vector<Range> copied_ranges(const Piece& part) {
  std::vector<Range> ranges = ranges_of(part);
  std::size_t i = 0;
  std::erase_if(ranges, [&](const Range&) { return part.slices[i++].cut.is_by_tensor_parallel; });
  return ranges;
}

// In one pass over the memory: short stretches in FP32, their sum in double precision.
double squared_norm(const at::Tensor& rows) {
  constexpr std::int64_t kStretch = 4096;
  double sum = 0;
  const auto add = [&](const at::Tensor& stretches) {
    const at::Tensor norms = at::linalg_vector_norm(stretches, 2, at::IntArrayRef{1}).to(at::kDouble);
    sum += norms.square().sum().item<double>();
  };
  if (rows.size(0) > 1) {
    add(rows);
    return sum;
  }
  const std::int64_t even = rows.size(1) / kStretch * kStretch;
  if (even > 0) add(rows.narrow(1, 0, even).view({-1, kStretch}));
  if (even < rows.size(1)) add(rows.narrow(1, even, rows.size(1) - even));
  return sum;
}

}  // namespace

GradientSums::GradientSums(const Roster& roster, int rank, Groups& groups, StageModel& model)
    : model_(model), degree_(roster.shard_of(rank).degree) {
  for (auto& [id, parameters] : model.pieces()) {
    const Piece& computed = parameters.piece();
    const Piece held = roster.held_part(rank, id);
    PieceSums piece;
    piece.kept = blocks_of(held, roster.kept_ranges(rank, id));
    piece.held_gradient =
        held == computed ? parameters.gradient() : at::zeros({held.size}, parameters.gradient().options());
    if (degree_ > 1 && !model.group().deals_tokens()) piece.copies = blocks_of(computed, copied_ranges(computed));
    for (const Parcel& parcel : roster.parcels_of(id)) {
      const auto found = std::ranges::find(parcel.holders, rank);
      if (found == parcel.holders.end()) continue;
      Sum sum{.group = &groups.of(parcel.holders),
              .blocks = blocks_of(computed, parcel.ranges),
              .shares = {},
              .own_share = {}};
      if (roster.shards_optimizer()) {
        sum.shares = blocks_of_shares(computed, parcel);
        sum.own_share = blocks_of(held, share_of(parcel, static_cast<int>(found - parcel.holders.begin())));
      }
      piece.sums.push_back(std::move(sum));
    }
    pieces_.emplace(id, std::move(piece));
  }
}

void GradientSums::begin(OnComplete on_complete) { on_complete_ = std::move(on_complete); }

void GradientSums::start(int piece) {
  const PieceSums& sums = pieces_.at(piece);
  const at::Tensor& gradient = model_.pieces().at(piece).gradient();
  // Every worker of a tensor-parallel group has the whole gradient of what it has a copy of: together, once. Where the
  // group deals the tokens, it has its tokens' part of it.
  for (const Block& block : sums.copies) view_of(gradient, block).div_(degree_);
  const std::size_t pending_before = pending_.size();
  for (const Sum& sum : sums.sums) {
    if (sum.shares.empty()) {
      start_whole(piece, sum, gradient);
    } else {
      start_shared(piece, sum, gradient);
    }
  }
  if (pending_.size() == pending_before) on_complete_(piece, sums.held_gradient);
}

void GradientSums::start_whole(int piece, const Sum& sum, const at::Tensor& gradient) {
  if (sum.group->size() == 1) return;
  const at::Tensor message = packed(gradient, sum.blocks);
  pending_.push_back({piece, message, gradient, &sum.blocks, sum.group->start_sum(message)});
}

void GradientSums::start_shared(int piece, const Sum& sum, const at::Tensor& gradient) {
  const at::Tensor parts = packed_shares(gradient, sum.shares);
  const at::Tensor mine = at::empty({parts.numel() / sum.group->size()}, parts.options());
  pending_.push_back(
      {piece, mine, pieces_.at(piece).held_gradient, &sum.own_share, sum.group->start_sum_of_parts(parts, mine)});
}

void GradientSums::finish() {
  for (auto pending = pending_.begin(); pending != pending_.end(); ++pending) {
    pending->transfer->wait();
    unpack(pending->message, pending->target, *pending->blocks);
    const auto next = std::next(pending);
    const bool is_last = next == pending_.end() || next->piece != pending->piece;
    if (is_last) on_complete_(pending->piece, of(pending->piece));
  }
  pending_.clear();
}

double GradientSums::squared_norm_of_kept() const {
  double sum = 0;
  for (const auto& [id, piece] : pieces_) {
    for (const Block& block : piece.kept) sum += squared_norm(view_of(piece.held_gradient, block));
  }
  return sum;
}

}  // namespace sailor::trainer
