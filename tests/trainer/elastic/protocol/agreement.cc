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

Holding holding_of(std::uint16_t packed) {
  return {.account = {.updated_by = packed >> 8U,
                      .step = packed >> 3U & 3U,
                      .confirmed = packed >> 5U & 7U,
                      .has_gradients = (packed >> 2U & 1U) != 0},
          .units = list_of(packed & kAllUnits)};
}

}  // namespace

std::uint16_t packed(const Worker& worker) {
  return static_cast<std::uint16_t>(worker.updated_by << 8U | worker.confirmed << 5U | worker.step << 3U |
                                    worker.has_gradients << 2U | worker.units);
}

const Agreement& Agreements::of(const Meeting& meeting) {
  const Key key(meeting.members, meeting.roles, meeting.holdings);
  const auto found = known_.find(key);
  return found != known_.end() ? found->second : known_.emplace(key, work_out(meeting)).first->second;
}

const std::vector<UnitMove>& Agreements::feeding(const Meeting& next, const Meeting& running) {
  const std::pair key(next.roles, running.roles);
  const auto found = known_feeding_.find(key);
  if (found != known_feeding_.end()) return found->second;
  TransferQuestion question{.wanted = {}, .offered = {}, .sites = {}, .bytes = {2, 1}};
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    const bool is_new = running.roles[worker] == 0;
    question.offered.push_back(list_of(running.roles[worker]));
    question.wanted.push_back(is_new ? list_of(next.roles[worker]) : std::vector<int>{});
    question.sites.push_back({static_cast<int>(worker), Zone("us-central1-a")});
  }
  return known_feeding_.emplace(key, rules_.plan_transfers(question).moves).first->second;
}

Agreement Agreements::work_out(const Meeting& meeting) const {
  Agreement agreement;
  TransferQuestion question{.wanted = {}, .offered = {}, .sites = {}, .bytes = {2, 1}};
  for (int worker = 0; worker < kWorkers; ++worker) {
    const auto index = static_cast<std::size_t>(worker);
    agreement.holdings.push_back(has(meeting.members, worker) ? holding_of(meeting.holdings[index]) : Holding{});
    question.wanted.push_back(list_of(meeting.roles[index]));
    question.sites.push_back({worker, Zone("us-central1-a")});
  }
  agreement.point = rules_.resume_point(list_of(kAllUnits), agreement.holdings);
  if (!agreement.point) return agreement;
  question.offered = offers(agreement.holdings, *agreement.point);
  agreement.transfers = rules_.plan_transfers(question);
  return agreement;
}

}  // namespace sailor::trainer::exploration
