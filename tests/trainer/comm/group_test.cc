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
  std::function<void(Interrupt&)> meanwhile = [](Interrupt&) {};          // on another thread of pod-a
  std::function<void(Interrupt&)> meanwhile_at_peer = [](Interrupt&) {};  // on another thread of pod-b
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
    GroupFactory factory(rendezvous, host, rank, conditions.timeout_at_first, {.names = {"pod-a", "pod-b"}});
    const auto group = factory.make_collective_group("pair", {0, 1});
    group->all_reduce(at::ones({1}));  // both are there
    group->set_timeout(conditions.timeout_set);
    const std::jthread helper([&] { meanwhile(*factory.interrupt()); });
    work(*group);
  };
  std::jthread peer([&] { join(1, other, conditions.meanwhile_at_peer); });
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

std::string name_of_operation(const ::testing::TestParamInfo<void (*)(Group&)>& operation) {
  return std::vector<std::string>{"Sum", "Receive", "Send"}.at(operation.index);
}
INSTANTIATE_TEST_SUITE_P(Operations, AnUnresponsivePeer, ::testing::Values(sum, receive, send), name_of_operation);

TEST(Group, AnInterruptAlsoEndsThePeersWait) {
  const auto interrupted = [](Interrupt& interrupt) { interrupt.raise(); };
  const auto began = std::chrono::steady_clock::now();
  const auto wait_for_end = [](Group& group) { EXPECT_THROW(receive_from(group, 0), CommunicationError); };
  EXPECT_THAT(failure(receive, wait_for_end, {.meanwhile = interrupted}), HasSubstr("pod-b"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLong / 2);
}

// Gloo does not end the wait for a message that was being written when the peer left.
TEST(Group, AnInterruptEndsTheWaitForMessagesThatWereSentWhileThePeerLeft) {
  constexpr int kMessages = 4000;
  std::latch is_leaving(1);
  std::latch is_sent(1);
  const auto leave = [&](Group& group) {
    std::vector<std::unique_ptr<Work>> expected;
    for (int tag = 0; tag < kMessages; ++tag) expected.push_back(group.receive(at::empty({1 << 10}), 0, tag));
    is_leaving.count_down();
  };
  const auto send_all = [&](Group& group) {
    is_leaving.wait();
    std::vector<std::unique_ptr<Work>> sent;
    const auto send_until_it_fails = [&] {
      for (int tag = 0;; ++tag) sent.push_back(group.send(at::ones({1 << 10}), 1, tag));
    };
    EXPECT_THROW(send_until_it_fails(), CommunicationError);
    is_sent.count_down();
    for (const auto& message : sent) message->wait();
    throw CommunicationError("no wait failed, but a call to send to pod-b");
  };
  const auto began = std::chrono::steady_clock::now();
  const auto interrupt_it = [&](Interrupt& interrupt) {
    is_sent.wait();
    interrupt.raise();
  };
  EXPECT_THAT(failure(send_all, leave, {.meanwhile = interrupt_it}), HasSubstr("pod-b"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLong / 2);
}

// Nor for one of which a part had been read.
TEST(Group, AnInterruptEndsTheWaitForAMessageThatThePeerDoesNotComplete) {
  constexpr int kMany = 1 << 26;  // 256 MiB: the peer leaves before they are sent
  std::latch has_begun(2);
  std::latch has_left(1);
  const auto send_a_part = [&](Group& group) {
    const auto work = group.send(at::ones({kMany}), 0, 1);
    has_begun.count_down();
    EXPECT_THROW(work->wait(), CommunicationError);
  };
  const auto leave = [&](Interrupt& interrupt) {
    has_begun.wait();
    interrupt.raise();
    has_left.count_down();
  };
  const auto receive_all = [&](Group& group) {
    const auto work = group.receive(at::empty({kMany}), 1, 1);
    has_begun.count_down();
    work->wait();
  };
  const auto interrupt_it = [&](Interrupt& interrupt) {
    has_left.wait();
    interrupt.raise();
  };
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(failure(receive_all, send_a_part, {.meanwhile = interrupt_it, .meanwhile_at_peer = leave}),
              HasSubstr("pod-b"));
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
