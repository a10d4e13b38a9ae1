// Messages between devices whose memory is not the host's, by way of host memory: they do not wait for their copies,
// and their memory does not grow with the number of microbatches.
#include "trainer/comm/host_copy_group.h"

#include <atomic>
#include <latch>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "tests/trainer/support/training.h"
#include "trainer/comm/communication_error.h"
#include "trainer/comm/group_factory.h"

namespace sailor::trainer::testing {
namespace {

constexpr int kPort = 7073;
constexpr std::chrono::milliseconds kLong{60'000};

// The memory of copies, in bytes.
struct HostMemoryUse {
  std::atomic<std::int64_t> now = 0;
  std::atomic<std::int64_t> peak = 0;

  void add(std::int64_t bytes) {
    const std::int64_t sum = now += bytes;
    for (std::int64_t before = peak; before < sum && !peak.compare_exchange_weak(before, sum);) {
    }
  }
};

// Treats every tensor as one on a device. Its copies to the host wait for `may_copy`.
class FakeCopies : public HostCopies {
 public:
  explicit FakeCopies(HostMemoryUse& use, std::latch* may_copy = nullptr) : use_(use), may_copy_(may_copy) {}

  [[nodiscard]] bool is_on_device(const at::Tensor&) const override { return true; }

  at::Tensor host_memory_for(const at::Tensor& tensor) override {
    const at::Tensor memory = at::empty_like(tensor, at::MemoryFormat::Contiguous);
    const auto bytes = static_cast<std::int64_t>(memory.nbytes());
    use_.add(bytes);
    const auto release = [memory, bytes, use = &use_](void*) { use->add(-bytes); };
    return at::from_blob(memory.data_ptr(), memory.sizes(), release, memory.options());
  }

  std::function<void()> start_to_host(const at::Tensor& tensor, const at::Tensor& host) override {
    return [this, host, as_sent = tensor.clone()] {
      if (may_copy_ != nullptr) may_copy_->wait();
      host.copy_(as_sent);
    };
  }

  std::function<void()> prepare_to_device(const at::Tensor& host, const at::Tensor& tensor) override {
    return [host, tensor] { tensor.copy_(host); };
  }

 private:
  HostMemoryUse& use_;
  std::latch* may_copy_;
};

// Two members that send each other messages. Member 0 runs on the thread of the test.
class Messages : public ::testing::Test {
 protected:
  using Act = std::function<void(Group& group, Interrupt& interrupt)>;

  void run(const Act& first, const Act& second) {
    const std::jthread peer([&] { join(1, second); });
    join(0, first);
  }

  std::latch may_copy_{1};

 private:
  void join(int rank, const Act& act) {
    Rendezvous rendezvous(host_, kPort, "host-copy-test", kLong);
    GroupFactory factory(rendezvous, host_, rank, kLong, {.names = {"pod-a", "pod-b"}});
    HostCopyGroup group(factory.make_message_group("pair", 2), std::make_unique<FakeCopies>(use_, &may_copy_));
    act(group, *factory.interrupt());
  }

  HostMemoryUse use_;
  const std::string host_ = own_address();
  const Result<std::unique_ptr<RendezvousServer>> store_ = RendezvousServer::listen(host_, kPort);
};

// If send() waited for the copy, this test would not end.
TEST_F(Messages, AreSentWithoutWaitingForTheirCopies) {
  const auto send = [&](Group& group, Interrupt&) {
    const at::Tensor tensor = at::ones({4});
    const auto work = group.send(tensor, 1, 7);
    tensor.zero_();  // the device overwrites what it has sent
    may_copy_.count_down();
    work->wait();
  };
  const auto receive = [](Group& group, Interrupt&) {
    const at::Tensor tensor = at::zeros({4});
    group.receive(tensor, 0, 7)->wait();
    EXPECT_TRUE(tensor.equal(at::ones({4})));
  };
  run(send, receive);
}

TEST_F(Messages, ThatCannotStartAfterTheirCopyThrowFromTheWait) {
  const auto send = [&](Group& group, Interrupt& interrupt) {
    const auto work = group.send(at::ones({4}), 1, 7);
    interrupt.raise();
    may_copy_.count_down();
    EXPECT_THROW(work->wait(), CommunicationError);
  };
  run(send, [](Group&, Interrupt&) {});
}

// Lets messages between stages pass through copies in host memory.
Wrap by_host_memory(HostMemoryUse& use) {
  return [&use](std::unique_ptr<Group> group, const std::string& name, int) {
    if (!name.starts_with("pipeline")) return group;
    return std::unique_ptr<Group>(new HostCopyGroup(std::move(group), std::make_unique<FakeCopies>(use)));
  };
}

std::int64_t peak_of_messages(int microbatches) {
  const Scratch scratch;
  Assignment job = tiny_job(scratch.text());
  job.training.global_batch_size = 2 * microbatches;
  job.training.steps = 2;
  HostMemoryUse use;
  (void)train(job, plan_of(job, {{0, 2, {microbatches}}, {2, 3, {microbatches}}, {3, 5, {microbatches}}}),
              {.wrap = by_host_memory(use)});
  return use.peak;
}

TEST(HostCopyGroup, NeedsMemoryThatDoesNotGrowWithTheNumberOfMicrobatches) {
  const std::int64_t few = peak_of_messages(8);
  EXPECT_GT(few, 0);
  EXPECT_LE(peak_of_messages(64), few * 5 / 4) << "threads differ in how many messages they have at once";
}

TEST(HostCopyGroup, LearnsTheSame) {
  const Scratch scratch;
  const Assignment job = tiny_job(scratch.text());
  const Plan plan = plan_of(job, {{0, 2, {5, 3}, {1, 2}}, {2, 5, {8}, {2}}});
  HostMemoryUse use;
  const Trained by_host = train(job, plan, {.wrap = by_host_memory(use)});
  EXPECT_EQ(difference(job, by_host, train(job, plan)).loss, 0);
}

}  // namespace
}  // namespace sailor::trainer::testing
