#include "trainer/elastic/regroup/generation_rendezvous.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "trainer/comm/communication_error.h"
#include "trainer/elastic/regroup/peer_names.h"
#include "trainer/elastic/state/worker_locations.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kLook{100};  // how soon a wait notices that a newer generation is known

const AgentAddress& host_of(const Assignment& assignment) {
  return assignment.agents.at(static_cast<std::size_t>(assignment.rendezvous));
}

// Parses all lines.
template <class Parse>
auto understood(const std::vector<std::string>& lines, Parse parse) {
  std::vector<typename decltype(parse(lines.front()))::value_type> values;
  values.reserve(lines.size());
  for (const std::string& line : lines) {
    auto value = parse(line);
    if (!value) throw CannotTrain(value.error().message);
    values.push_back(*std::move(value));
  }
  return values;
}

std::int64_t elements_of(const ModelSpec& model, const WorkerSlices& worker) {
  std::int64_t elements = 0;
  for (const StateSlices* states : {&worker.own, &worker.peer_replicas}) {
    for (const auto& [layer_state, slices] : *states) elements += shard_of(layout_of(model, layer_state), slices).size;
  }
  return elements;
}

std::vector<WorkerSlices> slices_of_all(const std::vector<StateSlices>& own,
                                        const std::vector<StateSlices>& peer_replicas) {
  std::vector<WorkerSlices> all;
  all.reserve(own.size());
  for (std::size_t rank = 0; rank < own.size(); ++rank) all.push_back({own[rank], peer_replicas[rank]});
  return all;
}

}  // namespace

GenerationRendezvous::GenerationRendezvous(std::shared_ptr<const Assignment> assignment, int rank,
                                           const Timeouts& timeouts, const AssignmentMailbox& mailbox)
    : assignment_(std::move(assignment)),
      rank_(rank),
      timeouts_(timeouts),
      mailbox_(mailbox),
      roster_(*assignment_),
      peer_replicas_(plan_peer_replicas(*assignment_, roster_)),
      store_(host_of(*assignment_).host, host_of(*assignment_).store_port,
             rendezvous_prefix(assignment_->job_uid, assignment_->generation), timeouts.peer) {}

bool GenerationRendezvous::gather(const PreparationReport& mine, const std::atomic<TimePoint>& deadline) {
  store_.set(fmt::format("here/{}", rank_), to_line(mine));
  std::vector<std::string> preparation_reports;
  if (!wait_for_all("here", preparation_reports, deadline)) return false;
  preparation_reports_ = understood(preparation_reports, [&](const std::string& line) {
    return preparation_report_from_line(assignment_->model, line);
  });
  return true;
}

JoinPlan GenerationRendezvous::join_plan() const {
  return plan_joining(assignment_->model, {preparation_reports_, wanted(), locations_of(*assignment_)});
}

bool GenerationRendezvous::trains() const {
  return preparation_reports_.at(static_cast<std::size_t>(rank_)).trains > 0;
}

bool GenerationRendezvous::exchange(const StateReport& mine, const WorkerSlices& slices) {
  store_.set(fmt::format("state/{}", rank_),
             fmt::format("{}\n{}\n{}", to_line(mine), to_line(slices.own), to_line(slices.peer_replicas)));
  std::vector<std::string> reports;
  if (!wait_for_all("state", reports, join_deadline())) return false;
  std::vector<std::string> state_reports, own, peer_replicas;
  for (const std::string& report : reports) {
    std::istringstream lines(report);
    for (auto* part : {&state_reports, &own, &peer_replicas}) std::getline(lines, part->emplace_back());
  }
  const auto parsed = [&](const std::string& line) { return state_slices_from_line(assignment_->model, line); };
  units_.emplace(assignment_->model, slices_of_all(understood(own, parsed), understood(peer_replicas, parsed)),
                 wanted());
  state_reports_ = understood(state_reports, state_report_from_line);
  for (int rank = 0; rank < std::ssize(state_reports_); ++rank) {
    state_reports_[static_cast<std::size_t>(rank)].units = units_->held_by(rank);
  }
  point_ = resume_point(units_->ids(), state_reports_);
  return true;
}

std::vector<WorkerSlices> GenerationRendezvous::wanted() const {
  std::vector<WorkerSlices> all;
  all.reserve(static_cast<std::size_t>(roster_.workers()));
  for (int rank = 0; rank < roster_.workers(); ++rank) all.push_back(worker_slices(roster_, peer_replicas_, rank));
  return all;
}

bool GenerationRendezvous::confirm(const std::string& what) {
  const std::string key = "confirmed" + what;
  store_.set(fmt::format("{}/{}", key, rank_), "yes");
  std::vector<std::string> ignored;
  return wait_for_all(key, ignored, join_deadline());
}

bool GenerationRendezvous::offers_state() const {
  return point_ && can_offer(state_reports_.at(static_cast<std::size_t>(rank_)), *point_);
}

bool GenerationRendezvous::needs_peer_replicas() const {
  const auto offered = offers(state_reports_, point_.value());
  return std::ranges::any_of(units().ids(), [&](int id) {
    for (int rank = 0; rank < std::ssize(offered); ++rank) {
      const bool is_offered = std::ranges::binary_search(offered[static_cast<std::size_t>(rank)], id);
      if (is_offered && !std::ranges::binary_search(units().replicated_by(rank), id)) return false;
    }
    return true;
  });
}

TransferPlan GenerationRendezvous::transfers() const {
  TransferQuestion question{.wanted = {},
                            .offered = offers(state_reports_, point_.value()),
                            .locations = locations_of(*assignment_),
                            .bytes = {}};
  for (int rank = 0; rank < roster_.workers(); ++rank) question.wanted.push_back(units().wanted_by(rank));
  for (const int unit : units().ids()) question.bytes.push_back(bytes_of(unit));
  return plan_transfers(question);
}

std::int64_t GenerationRendezvous::bytes_of(const std::vector<UnitMove>& moves) const {
  std::int64_t bytes = 0;
  for (const UnitMove& move : moves) bytes += bytes_of(move.unit);
  return bytes;
}

// What a worker offers beyond what it held when it began to prepare. A worker that held state and did not train has
// received nothing.
std::int64_t GenerationRendezvous::streamed_bytes() const {
  const auto offered = offers(state_reports_, point_.value());
  std::int64_t bytes = 0;
  for (std::size_t rank = 0; rank < offered.size(); ++rank) {
    const PreparationReport& report = preparation_reports_[rank];
    const bool may_receive = report.trains > 0 || report.is_empty;
    if (!may_receive || offered[rank].empty()) continue;
    for (const int unit : offered[rank]) bytes += bytes_of(unit);
    bytes -= elements_of(assignment_->model, report.held) * kBytesOfElement;
  }
  return bytes;
}

std::int64_t GenerationRendezvous::bytes_of(int unit) const {
  return units().units()[static_cast<std::size_t>(unit)].elements * kBytesOfElement;
}

// The holders of units take turns, to spread the work.
std::vector<StateSlices> GenerationRendezvous::slices_to_save() const {
  std::vector<StateSlices> written(state_reports_.size());
  const auto offered = offers(state_reports_, point_.value());
  for (const int id : units().ids()) {
    std::vector<std::size_t> holders;
    for (std::size_t rank = 0; rank < offered.size(); ++rank) {
      if (std::ranges::binary_search(offered[rank], id)) holders.push_back(rank);
    }
    const auto index = static_cast<std::size_t>(id);
    const TransferUnit& unit = units().units()[index];
    std::ranges::copy(unit.slices, std::back_inserter(written[holders.at(index % holders.size())][unit.layer_state]));
  }
  return written;
}

GenerationRendezvous::TimePoint GenerationRendezvous::join_deadline() const {
  return std::chrono::steady_clock::now() + timeouts_.join;
}

bool GenerationRendezvous::wait_for_all(const std::string& key, std::vector<std::string>& values,
                                        const std::atomic<TimePoint>& deadline) {
  std::vector<std::string> keys;
  keys.reserve(assignment_->workers.size());
  for (int rank = 0; rank < std::ssize(assignment_->workers); ++rank) keys.push_back(fmt::format("{}/{}", key, rank));
  while (!mailbox_.has_newer_than(assignment_->generation)) {
    if (auto all = store_.wait_for_all(keys, kLook)) {
      values = *std::move(all);
      return true;
    }
    if (std::chrono::steady_clock::now() > deadline.load()) throw_missing(keys);
  }
  return false;
}

void GenerationRendezvous::throw_missing(const std::vector<std::string>& keys) {
  const auto missing = std::ranges::find_if(keys, [&](const std::string& key) { return !store_.is_set(key); });
  if (missing == keys.end()) return;  // the last one has just arrived
  const std::string name = name_of_worker(*assignment_, static_cast<int>(missing - keys.begin()));
  throw CommunicationError(fmt::format("generation {}: {} did not arrive within {} s", assignment_->generation, name,
                                       timeouts_.join.count() / 1000));
}

}  // namespace sailor::trainer
