// The chart repeats values of core/protocol in YAML. This test compares them.
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/protocol/endpoints.h"
#include "core/protocol/timeouts.h"

namespace sailor {
namespace {

using ::testing::HasSubstr;

std::string text_of(const std::string& file) {
  std::ifstream stream(fmt::format("{}/charts/sailor/{}", SAILOR_SOURCE_DIR, file));
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Chart, HasThePeerTimeoutOfTheProtocol) {
  EXPECT_THAT(text_of("values.yaml"), HasSubstr(fmt::format("peerTimeoutSeconds: {} ", kPeerTimeout.count())));
}

TEST(Chart, ProbesTheHealthPathOfTheProtocol) {
  EXPECT_THAT(text_of("templates/deployment.yaml"), HasSubstr(fmt::format("path: {},", kHealthPath)));
}

}  // namespace
}  // namespace sailor
