// Runs cases on the data of the paper's artifact, which is not part of the repository; skips where it is absent.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "report/paper/runner.h"

namespace sailor::paper {

class PaperRunner : public ::testing::Test {
 protected:
  static std::filesystem::path data() { return std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data"; }

  void SetUp() override {
    if (!std::filesystem::exists(data() / "sailor-artifact")) GTEST_SKIP() << data() << " is not here";
    artifact_ = read_artifact(data() / "sailor-artifact").value();
  }

  [[nodiscard]] std::vector<CaseResult> results_of(
      std::initializer_list<std::pair<std::string_view, std::size_t>> cases,
      const std::filesystem::path& peer_plans = {}) const {
    std::vector<const Case*> chosen;
    for (const auto& [id, at] : cases) chosen.push_back(&find_experiment(id).value()->cases.at(at));
    return run_cases(chosen, artifact_, peer_plans, {}).value();
  }

  Artifact artifact_;
};

}  // namespace sailor::paper
