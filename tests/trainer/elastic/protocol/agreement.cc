#include "tests/trainer/elastic/protocol/agreement.h"

namespace sailor::trainer::exploration {
namespace {

std::vector<int> list_of(Mask mask) {
  std::vector<int> bits;
  for (int bit = 0; bit < 8; ++bit) {
    if (has(mask, bit)) bits.push_back(bit);
  }
  return bits;
}

StateReport state_report_of(std::uint16_t packed) {
  return {.version = {.updated_by = packed >> 8U & 7U,
                      .step = packed >> 3U & 3U,
                      .confirmed = packed >> 5U & 7U,
                      .has_gradients = (packed >> 2U & 1U) != 0,
                      .may_be_behind = (packed >> 11U & 1U) != 0},
          .units = list_of(packed & kAllUnits)};
}

}  // namespace

std::uint16_t packed(const Worker& worker) {
  return static_cast<std::uint16_t>(worker.may_be_behind << 11U | worker.updated_by << 8U | worker.confirmed << 5U |
                                    worker.step << 3U | worker.has_gradients << 2U | worker.units);
}

const Agreement& Agreements::of(const Rendezvous& rendezvous) {
  const Key key(rendezvous.members, rendezvous.roles, rendezvous.state_reports);
  const auto found = known_.find(key);
  return found != known_.end() ? found->second : known_.emplace(key, work_out(rendezvous)).first->second;
}

const std::vector<UnitMove>& Agreements::streams(const Rendezvous& next, const Rendezvous& running) {
  const std::pair key(next.roles, running.roles);
  const auto found = known_streams_.find(key);
  if (found != known_streams_.end()) return found->second;
  TransferQuestion question{.wanted = {}, .offered = {}, .locations = {}, .bytes = {2, 1}};
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    question.offered.push_back(list_of(running.roles[worker]));
    question.wanted.push_back(list_of(next.roles[worker]));
    question.locations.push_back({static_cast<int>(worker), Zone("us-central1-a")});
  }
  return known_streams_.emplace(key, rules_.plan_transfers(question).moves).first->second;
}

Agreement Agreements::work_out(const Rendezvous& rendezvous) const {
  Agreement agreement;
  TransferQuestion question{.wanted = {}, .offered = {}, .locations = {}, .bytes = {2, 1}};
  for (int worker = 0; worker < kWorkers; ++worker) {
    const auto index = static_cast<std::size_t>(worker);
    agreement.state_reports.push_back(has(rendezvous.members, worker) ? state_report_of(rendezvous.state_reports[index])
                                                                      : StateReport{});
    question.wanted.push_back(list_of(rendezvous.roles[index]));
    question.locations.push_back({worker, Zone("us-central1-a")});
  }
  agreement.point = rules_.resume_point(list_of(kAllUnits), agreement.state_reports);
  if (!agreement.point) return agreement;
  question.offered = offers(agreement.state_reports, *agreement.point);
  agreement.transfers = rules_.plan_transfers(question);
  return agreement;
}

}  // namespace sailor::trainer::exploration
