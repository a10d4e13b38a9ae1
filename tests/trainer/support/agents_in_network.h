// AgentsInNetwork: agents whose pods have addresses and paths of their own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/trainer/support/agents.h"
#include "tests/trainer/support/pod_network.h"

namespace sailor::trainer::testing {

class AgentsInNetwork : public Agents {
 protected:
  void SetUp() override {
    network_.emplace();
    if (!network_->fault().empty()) GTEST_SKIP() << "no network of its own: " << network_->fault();
  }
  void TearDown() override {
    Agents::TearDown();
    agents_.clear();
    network_.reset();
  }
  void start_in_network(int count) {
    for (int i = 0; i < count; ++i) {
      network_->add_pod([&](const std::string& host) {
        agents_.push_back(std::make_unique<AgentProcess>(scratch_.folder(), std::vector<std::string>(), 1, host));
      });
    }
    for (const auto& agent : agents_) agent->wait_until_ready();
  }
  std::optional<PodNetwork> network_;
};

}  // namespace sailor::trainer::testing
