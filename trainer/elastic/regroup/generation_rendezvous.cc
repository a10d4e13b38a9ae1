#include "trainer/elastic/regroup/generation_rendezvous.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "trainer/comm/peer_lost.h"
#include "trainer/elastic/regroup/peer_names.h"
#include "trainer/elastic/state/worker_locations.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kLook{100};  // how soon a wait notices that a newer generation is known
constexpr std::int64_t kBytesOfElement = 3 * 4;  // weights and two moments in FP32

const AgentAddress& host_of(const Assignment& assignment) {
  return assignment.agents.at(static_cast<std::size_t>(assignment.rendezvous));
}

// What all of these lines say.
template <class Parse>
auto understood(const std::vector<std::string>& lines, Parse parse) {
  std::vector<typename decltype(parse(lines.front()))::value_type> values;
  for (const std::string& line : lines) {
    auto value = parse(line);
    if (!value) throw CannotTrain(value.error().message);
    values.push_back(*std::move(value));
  }
  return values;
}

std::vector<WorkerSlices> slices_of_all(const std::vector<StateSlices>& own, const std::vector<StateSlices>& copies) {
  std::vector<WorkerSlices> all;
  for (std::size_t rank = 0; rank < own.size(); ++rank) all.push_back({own[rank], copies[rank]});
  return all;
}

}  // namespace

Meeting::Meeting(std::shared_ptr<const Assignment> assignment, int rank, const Patience& patience, const Inbox& inbox)
    : assignment_(std::move(assignment)),
      rank_(rank),
      patience_(patience),
      inbox_(inbox),
      roster_(*assignment_),
      copies_(plan_copies(*assignment_, roster_)),
      rendezvous_(host_of(*assignment_).host, host_of(*assignment_).store_port,
                  rendezvous_prefix(assignment_->job_uid, assignment_->generation), patience.peer) {}

bool Meeting::gather(const Standing& mine, const std::atomic<TimePoint>& deadline) {
  rendezvous_.set(fmt::format("here/{}", rank_), to_line(mine));
  std::vector<std::string> standings;
  if (!wait_for_all("here", standings, deadline)) return false;
  standings_ =
      understood(standings, [&](const std::string& line) { return standing_from_line(assignment_->model, line); });
  return true;
}

FollowPlan Meeting::following() const {
  return plan_following(assignment_->model, {standings_, wanted(), sites_of(*assignment_), assignment_->is_urgent});
}

bool Meeting::exchange(const Holding& mine, const WorkerSlices& slices) {
  rendezvous_.set(fmt::format("holding/{}", rank_), to_line(mine));
  rendezvous_.set(fmt::format("ranges/{}", rank_), to_line(slices.own));
  rendezvous_.set(fmt::format("copies/{}", rank_), to_line(slices.copies));
  std::vector<std::string> holdings, own, copies;
  const auto deadline = patient_deadline();
  if (!wait_for_all("holding", holdings, deadline) || !wait_for_all("ranges", own, deadline) ||
      !wait_for_all("copies", copies, deadline)) {
    return false;
  }
  const auto parsed = [&](const std::string& line) { return state_slices_from_line(assignment_->model, line); };
  units_.emplace(assignment_->model, slices_of_all(understood(own, parsed), understood(copies, parsed)), wanted());
  holdings_ = understood(holdings, holding_from_line);
  for (int rank = 0; rank < std::ssize(holdings_); ++rank) {
    holdings_[static_cast<std::size_t>(rank)].units = units_->held_by(rank);
  }
  point_ = resume_point(units_->ids(), holdings_);
  return true;
}

std::vector<WorkerSlices> Meeting::wanted() const {
  std::vector<WorkerSlices> all;
  for (int rank = 0; rank < roster_.workers(); ++rank) all.push_back(worker_slices(roster_, copies_, rank));
  return all;
}

bool Meeting::confirm(const std::string& what) {
  const std::string key = "confirmed" + what;
  rendezvous_.set(fmt::format("{}/{}", key, rank_), "yes");
  std::vector<std::string> ignored;
  return wait_for_all(key, ignored, patient_deadline());
}

bool Meeting::offers_state() const {
  return point_ && can_offer(holdings_.at(static_cast<std::size_t>(rank_)), *point_);
}

bool Meeting::needs_copies() const {
  const auto offered = offers(holdings_, *point_);
  return std::ranges::any_of(units_->ids(), [&](int id) {
    for (int rank = 0; rank < std::ssize(offered); ++rank) {
      const bool is_offered = std::ranges::binary_search(offered[static_cast<std::size_t>(rank)], id);
      if (is_offered && !std::ranges::binary_search(units_->copied_by(rank), id)) return false;
    }
    return true;
  });
}

TransferPlan Meeting::transfers() const {
  TransferQuestion question{
      .wanted = {}, .offered = offers(holdings_, *point_), .sites = sites_of(*assignment_), .bytes = {}};
  for (int rank = 0; rank < roster_.workers(); ++rank) question.wanted.push_back(units_->wanted_by(rank));
  for (const int unit : units_->ids()) question.bytes.push_back(bytes_of(unit));
  return plan_transfers(question);
}

std::int64_t Meeting::bytes_of(const std::vector<UnitMove>& moves) const {
  std::int64_t bytes = 0;
  for (const UnitMove& move : moves) bytes += bytes_of(move.unit);
  return bytes;
}

std::int64_t Meeting::bytes_followed() const {
  const auto offered = offers(holdings_, *point_);
  std::int64_t bytes = 0;
  for (std::size_t rank = 0; rank < offered.size(); ++rank) {
    if (!standings_[rank].is_empty) continue;
    for (const int unit : offered[rank]) bytes += bytes_of(unit);
  }
  return bytes;
}

std::int64_t Meeting::bytes_of(int unit) const {
  return units_->units()[static_cast<std::size_t>(unit)].elements * kBytesOfElement;
}

// Holders take turns, so that the work is spread over them.
std::vector<StateSlices> Meeting::writers() const {
  std::vector<StateSlices> written(holdings_.size());
  const auto offered = offers(holdings_, *point_);
  for (const int id : units_->ids()) {
    std::vector<std::size_t> holders;
    for (std::size_t rank = 0; rank < offered.size(); ++rank) {
      if (std::ranges::binary_search(offered[rank], id)) holders.push_back(rank);
    }
    const auto index = static_cast<std::size_t>(id);
    const TransferUnit& unit = units_->units()[index];
    std::ranges::copy(unit.slices, std::back_inserter(written[holders.at(index % holders.size())][unit.layer_state]));
  }
  return written;
}

Meeting::TimePoint Meeting::patient_deadline() const { return std::chrono::steady_clock::now() + patience_.join; }

bool Meeting::wait_for_all(const std::string& key, std::vector<std::string>& values,
                           const std::atomic<TimePoint>& deadline) {
  while (values.size() < assignment_->workers.size()) {
    if (inbox_.has_newer_than(assignment_->generation)) return false;
    const int next = static_cast<int>(values.size());
    if (auto value = rendezvous_.wait(fmt::format("{}/{}", key, next), kLook)) {
      values.push_back(*std::move(value));
    } else if (std::chrono::steady_clock::now() > deadline.load()) {
      throw PeerLost(fmt::format("generation {}: {} did not come within {} s", assignment_->generation,
                                 name_of_worker(*assignment_, next), patience_.join.count() / 1000));
    }
  }
  return true;
}

}  // namespace sailor::trainer
