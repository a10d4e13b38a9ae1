// Groups over real Gloo, with one thread per member: every failure is one exception that names the peer.
#include "trainer/comm/group.h"

#include <functional>
#include <latch>
#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/comm/communication_error.h"
#include "trainer/comm/group_factory.h"
#include "trainer/comm/interrupt.h"

namespace sailor::trainer {
namespace {

using ::testing::HasSubstr;

constexpr int kPort = 7073;
constexpr std::chrono::milliseconds kLong{60'000};
constexpr std::chrono::milliseconds kShort{400};

struct Conditions {
  std::chrono::milliseconds timeout_at_first = kLong;
  std::chrono::milliseconds timeout_set = kLong;
  std::function<void(Interrupt&)> meanwhile = [](Interrupt&) {};  // on another thread of pod-a
};

// What the group throws while pod-a does `act` with it and pod-b, the other member, `other`; empty: nothing.
std::string failure(const std::function<void(Group&)>& act, const std::function<void(Group&)>& other,
                    const Conditions& conditions = {}) {
  const std::string host = testing::own_address();
  const auto store = RendezvousServer::listen(host, kPort);
  if (!store) throw std::runtime_error(store.error().message);
  const auto join = [&](int rank, const std::function<void(Group&)>& work,
                        const std::function<void(Interrupt&)>& meanwhile) {
    Rendezvous rendezvous(host, kPort, "group-test", kLong);
    GroupFactory factory(rendezvous, host, rank, conditions.timeout_at_first, {"pod-a", "pod-b"});
    const auto group = factory.make_collective_group("pair", {0, 1});
    group->all_reduce(at::ones({1}));  // both are there
    group->set_timeout(conditions.timeout_set);
    const std::jthread helper([&] { meanwhile(*factory.interrupt()); });
    work(*group);
  };
  std::jthread peer([&] { join(1, other, [](Interrupt&) {}); });
  try {
    join(0, act, conditions.meanwhile);
  } catch (const CommunicationError& error) {
    return error.what();
  }
  return "";
}

void sum(Group& group) { group.all_reduce(at::ones({4})); }
void send(Group& group) { group.send(at::ones({1 << 22}), 1, 1)->wait(); }
void receive_from(Group& group, int rank) { group.receive(at::ones({4}), rank, 1)->wait(); }
void receive(Group& group) { receive_from(group, 1); }

TEST(Group, ALostPeerIsNamedByEveryOperation) {
  const auto go_away = [](Group&) {};
  EXPECT_THAT(failure(sum, go_away), HasSubstr("pod-b"));
  EXPECT_THAT(failure(send, go_away), HasSubstr("pod-b"));
  EXPECT_THAT(failure(receive, go_away), HasSubstr("pod-b"));
}

class AnUnresponsivePeer : public ::testing::TestWithParam<void (*)(Group&)> {
 protected:
  // What pod-a's operation throws while pod-b does nothing.
  static std::string failure_beside(const Conditions& conditions) {
    std::latch is_over(1);
    const auto act = [&](Group& group) {
      try {
        GetParam()(group);
        is_over.count_down();
      } catch (const CommunicationError&) {
        is_over.count_down();
        throw;
      }
    };
    return failure(
        act, [&](Group&) { is_over.wait(); }, conditions);
  }
};

TEST_P(AnUnresponsivePeer, IsNamedAfterTheTimeoutThatWasSetLast) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(failure_beside({.timeout_at_first = kLong, .timeout_set = kShort}), HasSubstr("pod-b"));
  const auto waited = std::chrono::steady_clock::now() - began;
  EXPECT_GE(waited, kShort);
  EXPECT_LT(waited, kLong / 2);
}

TEST_P(AnUnresponsivePeer, IsNotWaitedForOnceTheGroupIsInterrupted) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(failure_beside({.meanwhile = [](Interrupt& interrupt) { interrupt.raise(); }}), HasSubstr("pod-b"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLong / 2);
}

INSTANTIATE_TEST_SUITE_P(Operations, AnUnresponsivePeer, ::testing::Values(sum, receive),
                         [](const auto& operation) { return operation.index == 0 ? "Sum" : "Receive"; });

TEST(Group, AnInterruptAlsoEndsThePeersWait) {
  const auto interrupted = [](Interrupt& interrupt) { interrupt.raise(); };
  const auto began = std::chrono::steady_clock::now();
  const auto wait_for_end = [](Group& group) { EXPECT_THROW(receive_from(group, 0), CommunicationError); };
  EXPECT_THAT(failure(receive, wait_for_end, {.meanwhile = interrupted}), HasSubstr("pod-b"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLong / 2);
}

// A worker of a pipeline waits for most of a step, which may be longer than what connections were made with.
TEST(Group, WaitsForASlowPeerForTheTimeoutThatWasSetLast) {
  const auto take_its_time = [](void (*act)(Group&)) {
    return [act](Group& group) {
      std::this_thread::sleep_for(2 * kShort);
      act(group);
    };
  };
  const auto answer = [](Group& group) { group.send(at::ones({4}), 0, 1)->wait(); };
  const Conditions conditions{.timeout_at_first = kShort, .timeout_set = kLong};
  EXPECT_EQ(failure(receive, take_its_time(answer), conditions), "");
  EXPECT_EQ(failure(sum, take_its_time(sum), conditions), "");
}

}  // namespace
}  // namespace sailor::trainer
