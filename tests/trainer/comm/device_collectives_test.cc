// Collectives over a backend with the manners of NCCL: whatever it does, a failure is one exception of the right type,
// and never a success.
#include <functional>
#include <latch>
#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/nccl_like_backend.h"
#include "trainer/comm/cannot_communicate.h"
#include "trainer/comm/communication_error.h"
#include "trainer/comm/group_factory.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kPort = 7073;
constexpr std::chrono::milliseconds kLong{60'000};
constexpr std::chrono::milliseconds kShort{400};
constexpr std::chrono::hours kForEver{24};

// The two members of a group. Member 0 is pod-a, which runs on the thread of the test.
class DeviceCollectives : public ::testing::Test {
 protected:
  using Act = std::function<void(GroupFactory& factory)>;

  // Runs both members at the same time. Exceptions of pod-b are dropped.
  void run(const Act& pod_a, const Act& pod_b) {
    const std::jthread peer([&] {
      try {
        join(1, pod_b);
      } catch (const CommunicationError&) {  // NOLINT(bugprone-empty-catch): only what pod-a does is tested
      }
    });
    join(0, pod_a);
  }

  static std::unique_ptr<Group> connect(GroupFactory& factory) { return factory.make_collective_group("pair", {0, 1}); }

  // Both members connect. Then pod-a acts, and pod-b stays until that is over.
  void beside_idle_peer(const std::function<void(GroupFactory& factory, Group& group)>& act) {
    std::latch is_over(1);
    const auto act_until_over = [&](GroupFactory& factory) {
      const std::shared_ptr<void> end(nullptr, [&](void*) { is_over.count_down(); });
      act(factory, *connect(factory));
    };
    const auto wait = [&](GroupFactory& factory) {
      const auto group = connect(factory);
      is_over.wait();
    };
    run(act_until_over, wait);
  }

  static void sum_for_a_short_time(GroupFactory& factory) {
    const auto group = connect(factory);
    group->set_timeout(kShort);
    group->all_reduce(at::ones({4}));
  }

  NcclManners manners_;
  std::chrono::milliseconds connect_timeout_ = kLong;

 private:
  void join(int rank, const Act& act) {
    Rendezvous rendezvous(host_, kPort, "device-collectives-test", kLong);
    GroupFactory factory(
        rendezvous, host_, rank, kLong,
        {.names = {"pod-a", "pod-b"}, .make_device_backend = nccl_like(manners_), .connect_timeout = connect_timeout_});
    act(factory);
  }

  const std::string host_ = own_address();
  const Result<std::unique_ptr<RendezvousServer>> store_ = RendezvousServer::listen(host_, kPort);
};

TEST_F(DeviceCollectives, AddUpTheTensorsOfAllMembers) {
  const auto sum = [](GroupFactory& factory) {
    const at::Tensor tensor = at::ones({4});
    connect(factory)->all_reduce(tensor);
    EXPECT_TRUE(tensor.equal(at::full({4}, 2.0)));
  };
  run(sum, sum);
}

TEST_F(DeviceCollectives, ThatWereAbortedAreNotTakenForComplete) {
  const auto interrupted = [](GroupFactory& factory, Group& group) {
    const auto work = group.start_all_reduce(at::ones({4}));
    const std::jthread newer([&] { factory.interrupt()->raise(); });
    EXPECT_THAT([&] { work->wait(); }, ThrowsMessage<CommunicationError>(HasSubstr("pod-b")));
    EXPECT_THROW((void)group.start_all_reduce(at::ones({4})), CommunicationError);
  };
  beside_idle_peer(interrupted);
}

TEST_F(DeviceCollectives, EndAfterTheTimeoutThatWasSetLast) {
  const auto sum = [](GroupFactory& factory, Group& group) {
    group.set_timeout(kShort);
    EXPECT_THAT([&] { group.all_reduce(at::ones({4})); }, ThrowsMessage<CommunicationError>(HasSubstr("pod-b")));
    EXPECT_TRUE(factory.interrupt()->is_raised()) << "the device would wait for ever";
  };
  beside_idle_peer(sum);
}

TEST_F(DeviceCollectives, ThatNobodyWaitsForEndAfterTheTimeoutToo) {
  const auto sum = [](GroupFactory& factory, Group& group) {
    group.set_timeout(kShort);
    const auto work = group.start_all_reduce(at::ones({4}));
    while (!factory.interrupt()->is_raised()) std::this_thread::yield();
  };
  beside_idle_peer(sum);
}

TEST_F(DeviceCollectives, AreGivenUpWithAPeerThatDoesNotArrive) {
  connect_timeout_ = kShort;
  const auto sum = [](GroupFactory& factory) {
    EXPECT_THAT([&] { (void)connect(factory); }, ThrowsMessage<CommunicationError>(HasSubstr("pod-b")));
  };
  run(sum, [](GroupFactory&) {});
}

// The thread that connects cannot be ended. It is left behind, and this one goes on.
TEST_F(DeviceCollectives, AreGivenUpWithAPeerThatFreezesWhileItConnects) {
  std::latch may_continue(1);
  connect_timeout_ = kShort;
  manners_.connect_timeout = kForEver;
  manners_.while_connecting = [&](int index) {
    if (index == 1) may_continue.wait();
  };
  const auto sum = [&](GroupFactory& factory) {
    EXPECT_THAT([&] { (void)connect(factory); }, ThrowsMessage<CommunicationError>(HasSubstr("pair")));
    may_continue.count_down();
  };
  run(sum, sum_for_a_short_time);
}

TEST_F(DeviceCollectives, StopConnectingWhenInterrupted) {
  std::latch may_continue(1);
  manners_.connect_timeout = kForEver;
  manners_.while_connecting = [&](int index) {
    if (index == 1) may_continue.wait();
  };
  const auto sum = [&](GroupFactory& factory) {
    const std::jthread newer([&] { factory.interrupt()->raise(); });
    EXPECT_THROW((void)connect(factory), CommunicationError);
    may_continue.count_down();
  };
  run(sum, sum_for_a_short_time);
}

// So LibTorch's checks of arguments fail.
TEST_F(DeviceCollectives, ThatAreStartedWithWrongArgumentsAreAFailureOfTheWorkerItself) {
  manners_.at_collective = [](int index) { TORCH_CHECK(index != 0, "tensors must be contiguous"); };
  const auto sum = [](GroupFactory&, Group& group) {
    EXPECT_THROW((void)group.start_all_reduce(at::ones({4})), CannotCommunicate);
  };
  beside_idle_peer(sum);
}

// So Gloo's connections fail in LibTorch's words.
TEST_F(DeviceCollectives, ThatFailToConnectWithoutATypeOfErrorMayBeDueToAPeer) {
  manners_.connect_timeout = kShort;
  manners_.while_connecting = [](int index) { TORCH_CHECK(index != 0, "connecting the full mesh failed"); };
  run([](GroupFactory& factory) { EXPECT_THROW((void)connect(factory), CommunicationError); }, sum_for_a_short_time);
}

// What NCCL and LibTorch throw, and whether other peers may help.
struct Failure {
  const char* name;
  std::exception_ptr error;
  bool is_own = false;
};

Failure nccl_failure(const char* name, const std::string& code, bool is_own) {
  return {name, std::make_exception_ptr(c10::DistBackendError({"", "", 0}, "NCCL error in: a.cpp:1\n" + code)), is_own};
}

class FailuresOfDeviceCollectives : public DeviceCollectives, public ::testing::WithParamInterface<Failure> {
 protected:
  static void expect_its_type(const std::function<void()>& act) {
    if (GetParam().is_own) {
      EXPECT_THROW(act(), CannotCommunicate);
    } else {
      EXPECT_THROW(act(), CommunicationError);
    }
  }
  static void fail(int index) {
    if (index == 0) std::rethrow_exception(GetParam().error);
  }
};

TEST_P(FailuresOfDeviceCollectives, AreToldApartWhileConnecting) {
  manners_.while_connecting = fail;
  manners_.connect_timeout = kShort;
  run([](GroupFactory& factory) { expect_its_type([&] { (void)connect(factory); }); }, sum_for_a_short_time);
}

TEST_P(FailuresOfDeviceCollectives, AreToldApartWhereACollectiveStarts) {
  manners_.at_collective = fail;
  const auto sum = [](GroupFactory&, Group& group) {
    expect_its_type([&] { (void)group.start_all_reduce(at::ones({4})); });
  };
  beside_idle_peer(sum);
}

TEST_P(FailuresOfDeviceCollectives, AreToldApartWhereOnlyTheDeviceNoticesThem) {
  manners_.error = [](int index) { return index == 0 ? GetParam().error : nullptr; };
  const auto sum = [](GroupFactory&, Group& group) { expect_its_type([&] { group.all_reduce(at::ones({4})); }); };
  beside_idle_peer(sum);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FailuresOfDeviceCollectives,
    ::testing::Values(
        Failure{"OutOfMemory", std::make_exception_ptr(c10::OutOfMemoryError({"", "", 0}, "no memory")), true},
        Failure{"ErrorOfTheGpu", std::make_exception_ptr(c10::AcceleratorError({"", "", 0}, 700, "illegal")), true},
        Failure{"WrongArguments", std::make_exception_ptr(c10::ValueError({"", "", 0}, "wrong shape")), true},
        nccl_failure("TwoWorkersOnOneGpu", "ncclInvalidUsage: Duplicate GPU detected", true),
        nccl_failure("ErrorOfCudaInNccl", "ncclUnhandledCudaError: Call to CUDA function failed.", true),
        nccl_failure("LostPeer", "ncclRemoteError: A call failed possibly due to a network error", false),
        nccl_failure("BrokenConnection", "ncclSystemError: System call (e.g. socket) failed", false)),
    [](const auto& failure) { return failure.param.name; });

}  // namespace
}  // namespace sailor::trainer::testing
