#include "trainer/elastic/regroup/peer_names.h"

#include <gtest/gtest.h>

namespace sailor::trainer {
namespace {

Assignment two_pods() {
  Assignment assignment;
  assignment.agents = {{"opt-0", "10.0.0.1", 1, 1, {}, 1}, {"opt-1", "10.0.0.2", 1, 1, {}, 2}};
  assignment.workers = {{0, 0, Role{0, 0, 0}}, {1, 1, Role{1, 0, 0}}};
  return assignment;
}

TEST(PeerNames, RanksAndAddressesBecomePods) {
  EXPECT_EQ(
      with_peer_names("sending to rank 1 of group pipeline: Connection closed by peer [10.0.0.2]:4711", two_pods()),
      "sending to worker 1 (pod opt-1, GPU 1) of group pipeline: Connection closed by peer pod opt-1");
}

TEST(PeerNames, UnknownAddressesStayUnchanged) {
  const std::string message = "rank 7 of [10.9.9.9]:80 and crank 1";
  EXPECT_EQ(with_peer_names(message, two_pods()), message);
}

}  // namespace
}  // namespace sailor::trainer
