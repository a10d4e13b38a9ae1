#include "trainer/elastic/meeting.h"

#include <algorithm>

#include <fmt/format.h>

#include "trainer/comm/peer_lost.h"
#include "trainer/elastic/peer_names.h"
#include "trainer/step/cannot_train.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kLook{100};  // how soon a wait notices that a newer generation is known
constexpr std::int64_t kBytesOfElement = 3 * 4;  // weights and two moments in FP32

const AgentAddress& host_of(const Assignment& assignment) {
  return assignment.agents.at(static_cast<std::size_t>(assignment.rendezvous));
}

std::vector<Site> sites_of(const Assignment& assignment) {
  std::vector<Site> sites;
  for (const WorkerSlot& worker : assignment.workers) {
    sites.push_back({worker.agent, assignment.agents.at(static_cast<std::size_t>(worker.agent)).pool.zone});
  }
  return sites;
}

}  // namespace

Meeting::Meeting(const Assignment& assignment, int rank, const Patience& patience, const Inbox& inbox)
    : assignment_(assignment),
      rank_(rank),
      patience_(patience),
      inbox_(inbox),
      roster_(assignment),
      rendezvous_(host_of(assignment).host, host_of(assignment).store_port,
                  fmt::format("{}/{}", assignment.job_uid, assignment.generation), patience.peer) {}

bool Meeting::exchange(const Holding& mine) {
  rendezvous_.set(fmt::format("holding/{}", rank_), to_line(mine));
  std::vector<std::string> lines;
  if (!wait_for_all("holding", lines)) return false;
  for (const std::string& line : lines) {
    auto holding = holding_from_line(line);
    if (!holding) throw CannotTrain(holding.error().message);
    holdings_.push_back(*std::move(holding));
  }
  point_ = resume_point(roster_.pieces(), holdings_);
  return true;
}

bool Meeting::confirm(const std::string& what) {
  const std::string key = "confirmed" + what;
  rendezvous_.set(fmt::format("{}/{}", key, rank_), "");
  std::vector<std::string> ignored;
  return wait_for_all(key, ignored);
}

bool Meeting::offers_state() const {
  return point_ && can_offer(holdings_.at(static_cast<std::size_t>(rank_)), *point_);
}

TransferPlan Meeting::transfers() const {
  TransferQuestion question{
      .wanted = {}, .offered = offers(holdings_, *point_), .sites = sites_of(assignment_), .bytes = {}};
  for (int rank = 0; rank < roster_.workers(); ++rank) question.wanted.push_back(roster_.pieces_of(rank));
  for (int piece = 0; piece < piece_count(assignment_.model); ++piece) {
    question.bytes.push_back(piece_of(assignment_.model, piece).size * kBytesOfElement);
  }
  return plan_transfers(question);
}

// Holders take turns, so that the work is spread over them.
std::vector<int> Meeting::writers() const {
  std::vector<int> writers(static_cast<std::size_t>(piece_count(assignment_.model)), -1);
  const auto offered = offers(holdings_, *point_);
  for (const int piece : roster_.pieces()) {
    std::vector<int> holders;
    for (int rank = 0; rank < std::ssize(offered); ++rank) {
      if (std::ranges::binary_search(offered[static_cast<std::size_t>(rank)], piece)) holders.push_back(rank);
    }
    writers[static_cast<std::size_t>(piece)] = holders.at(static_cast<std::size_t>(piece) % holders.size());
  }
  return writers;
}

bool Meeting::wait_for_all(const std::string& key, std::vector<std::string>& values) {
  const auto deadline = std::chrono::steady_clock::now() + patience_.join;
  while (values.size() < assignment_.workers.size()) {
    if (inbox_.has_newer_than(assignment_.generation)) return false;
    const int next = static_cast<int>(values.size());
    if (auto value = rendezvous_.wait(fmt::format("{}/{}", key, next), kLook)) {
      values.push_back(*std::move(value));
    } else if (std::chrono::steady_clock::now() > deadline) {
      throw PeerLost(fmt::format("generation {}: {} did not come within {} s", assignment_.generation,
                                 name_of_worker(assignment_, next), patience_.join.count() / 1000));
    }
  }
  return true;
}

}  // namespace sailor::trainer
