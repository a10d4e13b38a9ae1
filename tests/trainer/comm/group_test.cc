// Groups over real Gloo, a thread a member: every failure is one exception that names the peer.
#include "trainer/comm/group.h"

#include <functional>
#include <latch>
#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/comm/peer_lost.h"

namespace sailor::trainer {
namespace {

using ::testing::HasSubstr;

constexpr int kPort = 7073;
constexpr std::chrono::milliseconds kLong{60'000};
constexpr std::chrono::milliseconds kShort{400};

struct Timeouts {
  std::chrono::milliseconds at_first = kLong;
  std::chrono::milliseconds set = kLong;
};

// What the group throws while pod-a does `act` with it and pod-b, the other member, `other`; empty: nothing.
std::string failure(const std::function<void(Group&)>& act, const std::function<void(Group&)>& other,
                    Timeouts timeouts = {}) {
  const std::string host = testing::own_address();
  const auto store = RendezvousHost::listen(host, kPort);
  if (!store) throw std::runtime_error(store.error().message);
  const auto join = [&](int rank, const std::function<void(Group&)>& work) {
    Rendezvous rendezvous(host, kPort, "group-test", kLong);
    GroupFactory factory(rendezvous, host, rank, timeouts.at_first, {"pod-a", "pod-b"});
    const auto group = factory.make("pair", {0, 1});
    group->sum(at::ones({1}));  // both are there
    group->set_timeout(timeouts.set);
    work(*group);
  };
  std::jthread peer([&] { join(1, other); });
  try {
    join(0, act);
  } catch (const PeerLost& lost) {
    return lost.what();
  }
  return "";
}

void sum(Group& group) { group.sum(at::ones({4})); }
void send(Group& group) { group.send(at::ones({1 << 22}), 1, 1)->wait(); }
void receive(Group& group) { group.receive(at::ones({4}), 1, 1)->wait(); }

TEST(Group, APeerThatGoesAwayIsNamedWhateverWasAskedOfIt) {
  const auto go_away = [](Group&) {};
  EXPECT_THAT(failure(sum, go_away), HasSubstr("pod-b"));
  EXPECT_THAT(failure(send, go_away), HasSubstr("pod-b"));
  EXPECT_THAT(failure(receive, go_away), HasSubstr("pod-b"));
}

class ASilentPeer : public ::testing::TestWithParam<void (*)(Group&)> {};

TEST_P(ASilentPeer, IsNamedAfterTheTimeoutThatWasSetLast) {
  std::latch is_over(1);
  const auto began = std::chrono::steady_clock::now();
  const auto act = [&](Group& group) {
    try {
      GetParam()(group);
      is_over.count_down();
    } catch (const PeerLost&) {
      is_over.count_down();
      throw;
    }
  };
  const auto be_silent = [&](Group&) { is_over.wait(); };
  EXPECT_THAT(failure(act, be_silent, {.at_first = kLong, .set = kShort}), HasSubstr("pod-b"));
  const auto waited = std::chrono::steady_clock::now() - began;
  EXPECT_GE(waited, kShort);
  EXPECT_LT(waited, kLong / 2);
}

INSTANTIATE_TEST_SUITE_P(Operations, ASilentPeer, ::testing::Values(sum, receive),
                         [](const auto& operation) { return operation.index == 0 ? "Sum" : "Receive"; });

// A worker of a pipeline waits for most of a step, which may be longer than what connections were made with.
TEST(Group, APeerThatTakesItsTimeIsWaitedForAsLongAsWasSetLast) {
  const auto take_its_time = [](void (*act)(Group&)) {
    return [act](Group& group) {
      std::this_thread::sleep_for(2 * kShort);
      act(group);
    };
  };
  const auto answer = [](Group& group) { group.send(at::ones({4}), 0, 1)->wait(); };
  const Timeouts timeouts{.at_first = kShort, .set = kLong};
  EXPECT_EQ(failure(receive, take_its_time(answer), timeouts), "");
  EXPECT_EQ(failure(sum, take_its_time(sum), timeouts), "");
}

}  // namespace
}  // namespace sailor::trainer
