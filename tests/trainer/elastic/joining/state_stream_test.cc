// One state source and one receiver over real Gloo: their states are equal, or there is no result.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/comm/communication_error.h"
#include "trainer/comm/group_factory.h"
#include "trainer/comm/interrupt.h"
#include "trainer/device/device.h"
#include "trainer/elastic/joining/state_receiver.h"
#include "trainer/elastic/joining/state_streams.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {
namespace {

constexpr int kSource = 0, kJoining = 1;
constexpr std::int64_t kGeneration = 1;
constexpr int kStorePort = 7074;
constexpr std::chrono::seconds kTimeout{30};
constexpr std::chrono::seconds kMuchLess{
    10};  // much less than kTimeout, but longer than any wait here on a busy machine
constexpr std::chrono::seconds kNone{0};
constexpr double kSlowdown = 0.1;

// The allocator of CPU tensors while it exists. Once `is_full`, it has no memory for more than a few hundred elements.
class Memory : public c10::Allocator {
 public:
  Memory() { c10::SetCPUAllocator(this, kPriority); }
  ~Memory() override { c10::SetCPUAllocator(&usual_, kPriority); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  c10::DataPtr allocate(std::size_t bytes) override {
    TORCH_CHECK(!is_full || bytes < kFew, "can't allocate ", bytes, " bytes");
    return usual_.allocate(bytes);
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { usual_.copy_data(to, from, bytes); }

  std::atomic<bool> is_full = false;

 private:
  static constexpr std::uint8_t kPriority = 0;
  static constexpr std::size_t kFew = 1024;
  c10::Allocator& usual_ = *c10::GetCPUAllocator();
};

class StateStreaming : public ::testing::Test {
 protected:
  StateStreaming() {
    set_cpu_threads(1);
    job_->training.optimizer.clip_norm = 0.5;
    job_->training.optimizer.weight_decay = 0.1;
    hold_all_of_the_model();
    live_.begin(kGeneration, 0);
    connect();
  }
  ~StateStreaming() override {
    streams_.reset();
    live_.end();
  }

  void hold_all_of_the_model() {
    held_ = {};
    shards_.clear();
    for (const int layer_state : all_layer_states(job_->model)) {
      const StateLayout whole = layout_of(job_->model, layer_state);
      held_.layer_states[layer_state] = initial_state(job_->model, whole, 7);
      if (layer_state == 2) {  // the later columns of a tensor and the earlier ones, and not all of it
        shards_.push_back(streamed(whole, shard_slices(whole, {.index = 1, .tensor_parallel = 3})));
      } else {
        shards_.push_back(streamed(whole, slices_of(whole)));
      }
    }
    shards_.back().is_peer_replica = true;
  }

  static StreamedShard streamed(const StateLayout& whole, const std::vector<Slice>& slices) {
    return {whole.id, false, slices, shard_of(whole, slices).size};
  }

  // Two shards of each layer state instead of one.
  void divide_shards() {
    std::vector<StreamedShard> halves;
    for (const StreamedShard& shard : shards_) {
      for (const int half : {0, 1}) {
        std::vector<Slice> slices;
        for (const Slice& slice : shard.slices) slices.push_back(subslice(slice, half, 2));
        std::erase_if(slices, [](const Slice& slice) { return slice.begin == slice.end; });
        halves.push_back(streamed(layout_of(job_->model, shard.layer_state), slices));
        halves.back().is_peer_replica = shard.is_peer_replica;
      }
    }
    shards_ = halves;
  }

  void connect() {
    store_ = *RendezvousServer::listen(host_, kStorePort);
    std::unique_ptr<Group> groups[2];
    std::vector<std::thread> threads;
    for (const int rank : {kSource, kJoining}) {
      threads.emplace_back([&, rank] {
        Rendezvous rendezvous(host_, kStorePort, "follow", kTimeout);
        GroupFactory factory(rendezvous, host_, rank, kTimeout);
        groups[rank] = factory.make_message_group("pair", {kSource, kJoining});
        interrupts_[rank] = factory.interrupt();
      });
    }
    for (auto& thread : threads) thread.join();
    groups_[kSource] = std::move(groups[kSource]);
    groups_[kJoining] = std::move(groups[kJoining]);
  }

  StreamLink sources_end(std::chrono::milliseconds timeout = kTimeout) {
    return {std::move(groups_[kSource]), kJoining, timeout};
  }
  StreamLink joining_end() { return {std::move(groups_[kJoining]), kSource, kTimeout}; }

  void begin(const StateStreams::Limits& limits = {.lost = kTimeout, .all = kTimeout}) {
    begin_to_send(kTimeout, limits);
    begin_to_receive();
  }

  void begin_to_send(std::chrono::milliseconds timeout, const StateStreams::Limits& limits) {
    streams_ = std::make_unique<StateStreams>(live_, limits, kSlowdown);
    streams_->add(shards_, sources_end(timeout));
  }

  void begin_to_receive() {
    stream_ = std::make_unique<IncomingStream>(job_, kGeneration, shards_, joining_end(), at::Device(at::kCPU));
  }

  // A step of the state source, as its generation does one.
  void train(bool is_last = false, bool is_left_out = false) { train_step({.is_last = is_last}, is_left_out); }

  void train_step(const AppliedStep& step, bool is_left_out = false) {
    set_gradients();
    if (is_left_out) held_.squared_norm = kStepSkipped;
    live_.update(job_->training, step);
  }

  void set_gradients() {
    for (const auto& [layer_state, state] : held_.layer_states)
      held_.gradients[layer_state] = at::randn_like(state.weights);
    held_.squared_norm = 3.7;
    held_.next_loss = 5.0 / static_cast<double>(held_.step + 1);
  }

  void wait_until_settled() const {
    while (!streams_->is_settled()) std::this_thread::yield();
  }
  void wait_until_over() const {
    while (!streams_->is_over()) std::this_thread::yield();
  }

  [[nodiscard]] std::int64_t unsent_bytes() const { return streams_->unsent().bytes; }

  // Bit for bit where it is cut as the state source's: LibTorch rounds the last few elements of a tensor's update
  // otherwise, and where that ends depends on the cut.
  void expect_same(const StreamedShard& shard, const HeldState& held) const {
    const LayerState& received = (shard.is_peer_replica ? held.peer_replicas : held.layer_states).at(shard.layer_state);
    const LayerState& original = held_.layer_states.at(shard.layer_state);
    LayerState mine = empty_state(received.layout), part = empty_state(received.layout);
    for (const at::Tensor& tensor : tensors_of(mine)) tensor.zero_();
    for (const at::Tensor& tensor : tensors_of(part)) tensor.zero_();
    copy_slices(shard.slices, original, mine);
    copy_slices(shard.slices, received, part);
    const bool is_whole = original.layout == received.layout;
    const auto are_same = [&](const at::Tensor& one, const at::Tensor& other) {
      return is_whole ? at::equal(one, other) : at::allclose(one, other, 1e-5, 1e-9);
    };
    EXPECT_TRUE(are_same(mine.weights, part.weights)) << "layer state " << shard.layer_state;
    EXPECT_TRUE(are_same(mine.momentum, part.momentum)) << "layer state " << shard.layer_state;
    EXPECT_TRUE(are_same(mine.variance, part.variance)) << "layer state " << shard.layer_state;
  }

  std::shared_ptr<Assignment> job_ = std::make_shared<Assignment>(testing::tiny_job("unused"));
  HeldState held_;  // the state source's
  LiveState live_{held_};
  std::vector<StreamedShard> shards_;
  std::string host_ = testing::own_address();
  std::unique_ptr<RendezvousServer> store_;
  std::unique_ptr<Group> groups_[2];  // by rank: the ends of the connection that nobody has yet
  std::shared_ptr<Interrupt> interrupts_[2];
  std::unique_ptr<StateStreams> streams_;
  std::unique_ptr<IncomingStream> stream_;
};

TEST_F(StateStreaming, UnsentIsWhatTheReceiverLacksAndNobodyElseHas) {
  shards_.front().is_unique = shards_.back().is_unique = true;
  begin_to_send(kTimeout, {.lost = kTimeout, .all = kTimeout});
  EXPECT_EQ(unsent_bytes(), 12 * (shards_.front().elements + shards_.back().elements)) << "nobody receives";
  EXPECT_EQ(streams_->unsent().bytes_per_second, 0);
  begin_to_receive();
  wait_until_settled();
  EXPECT_EQ(unsent_bytes(), 0);
  EXPECT_GT(streams_->unsent().bytes_per_second, 0);
}

TEST_F(StateStreaming, ReceivedStateEqualsTheSourceBitForBitIfTheShardsAreEqual) {
  begin();
  train();
  for (int step = 0; step < 7; ++step) {
    train(false, step == 3);  // one that counts and is not applied
    wait_until_settled();
  }
  train(true);
  const auto received = stream_->take();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->held.step, held_.step);
  EXPECT_EQ(received->held.reached, held_.step);
  EXPECT_EQ(received->held.loss, held_.loss);
  EXPECT_EQ(received->held.first_loss, held_.first_loss);
  EXPECT_EQ(received->held.layer_states.size() + received->held.peer_replicas.size(), shards_.size());
  for (const StreamedShard& shard : shards_) {
    expect_same(shard, received->held);
  }
}

TEST_F(StateStreaming, AllShardsArriveWhileOneStepComputes) {
  begin();
  wait_until_settled();
  EXPECT_EQ(held_.step, 0);
}

// Of each layer state, some shards are sent before steps that change it, and others after them.
TEST_F(StateStreaming, AStateThatIsUpdatedWhileItIsSentArrivesAsItIsInTheEnd) {
  divide_shards();
  begin();
  for (int step = 0; step < 200; ++step) train(false, step % 5 == 3);
  wait_until_settled();
  train(true);
  const auto received = stream_->take();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->held.step, held_.step);
  for (const StreamedShard& shard : shards_) expect_same(shard, received->held);
}

TEST_F(StateStreaming, OnlyShardsThatArrivedBeforeTheLastStepCount) {
  divide_shards();
  begin_to_receive();
  StreamLink link = sources_end();
  link.send_header({.step = 5, .loss = 1, .first_loss = 1, .known_shards = 0, .sent_shards = 3});
  for (const StreamedShard& shard : std::span(shards_).first(3)) {
    for (int tensor = 0; tensor < 3; ++tensor) link.send(at::ones({shard.elements}));
  }
  link.await_acknowledgement(0);
  link.send_header({.step = 6, .squared_norm = kStepSkipped, .known_shards = 3, .sent_shards = 3, .is_last = true});
  link.await_acknowledgement(0);
  const auto received = stream_->take();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->held.step, 6);
  ASSERT_EQ(received->held.layer_states.size(), 2U);
  EXPECT_EQ(received->held.layer_states.at(shards_[0].layer_state).layout.size,
            shards_[0].elements + shards_[1].elements);
  EXPECT_EQ(received->held.layer_states.at(shards_[2].layer_state).layout.size, shards_[2].elements);
  EXPECT_TRUE(at::all(received->held.layer_states.at(shards_[2].layer_state).weights == 1).item<bool>());
}

TEST_F(StateStreaming, AStreamThatIsBrokenOffHasTheStateOfItsNewestStep) {
  begin();
  train();
  wait_until_settled();
  streams_->stop();
  const auto received = stream_->take();
  ASSERT_TRUE(received);
  EXPECT_FALSE(received->is_final);
  EXPECT_TRUE(received->held.gradients.empty());
  for (const StreamedShard& shard : shards_) {
    if (received->held.step == held_.step) expect_same(shard, received->held);
  }
}

TEST_F(StateStreaming, AfterTheLastStepNothingIsStoppedOrSent) {
  begin();
  train();
  wait_until_settled();
  train(true);
  const std::int64_t last_step = held_.step;
  streams_->stop();
  train();  // of the next generation: the receiver trains in it itself
  const auto received = stream_->take();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->held.step, last_step);
}

TEST_F(StateStreaming, AJoiningWorkerThatIsTooSlowIsGivenUp) {
  job_->model.blocks = 1;
  job_->model.hidden_size = 1024;  // of a smaller one the limit is not what two states are
  job_->model.ffn_size = 4096;
  hold_all_of_the_model();
  std::ranges::sort(shards_, std::greater(), &StreamedShard::elements);  // so that steps send much
  begin_to_send(kTimeout, {.lost = kTimeout, .all = kTimeout});
  while (!streams_->is_settled()) {  // the receiver does not receive
    ASSERT_LT(held_.step, 100);
    train();
  }
  groups_[kJoining].reset();  // so that the state source's last message is not waited for either
}

TEST_F(StateStreaming, AJoiningWorkerThatHesitatesDuringSmallStepsIsNotGivenUp) {
  begin_to_send(kTimeout, {.lost = kTimeout, .all = kTimeout});
  for (int step = 0; step < 20; ++step) train();
  EXPECT_FALSE(streams_->is_settled());
  begin_to_receive();
  wait_until_settled();
  train(true);
  const auto received = stream_->take();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->held.step, held_.step);
}

TEST_F(StateStreaming, ALostJoiningWorkerMayBeReplacedAndIsGivenUpLater) {
  begin();
  train();
  wait_until_settled();
  stream_.reset();  // its process is gone
  wait_until_over();
  EXPECT_FALSE(streams_->is_settled());
}

TEST_F(StateStreaming, AJoiningWorkerLostForLongerThanTheLimitIsGivenUp) {
  begin({.lost = kNone, .all = kTimeout});
  train();
  wait_until_settled();
  stream_.reset();
  wait_until_over();
  wait_until_settled();
}

TEST_F(StateStreaming, WithoutMemoryForShardsTheReceiverGetsAllInTheStop) {
  std::ranges::sort(shards_, std::greater(), &StreamedShard::elements);
  Memory memory;
  memory.is_full = true;
  begin_to_receive();
  StreamLink link = sources_end();
  link.send_header({.step = 5, .loss = 1, .first_loss = 1, .known_shards = 0, .sent_shards = 1});
  EXPECT_EQ(stream_->take(), std::nullopt);
}

TEST_F(StateStreaming, WithoutMemoryForGradientsTheSourceTrainsOnAndTheChangeDoesNotWait) {
  std::ranges::sort(shards_, std::greater(), &StreamedShard::elements);
  Memory memory;
  begin_to_send(kTimeout, {.lost = kTimeout, .all = kTimeout});
  int steps = 0;
  for (; !streams_->is_settled(); ++steps) {
    set_gradients();
    memory.is_full = true;
    live_.update(job_->training, {});
    memory.is_full = false;
  }
  EXPECT_EQ(held_.step, steps);
  groups_[kJoining].reset();
}

// Its connection is open, and nothing is read.
TEST_F(StateStreaming, AFrozenJoiningWorkerIsLostThoughItsConnectionIsNot) {
  const auto began = std::chrono::steady_clock::now();
  begin_to_send(kNone, {.lost = kTimeout, .all = kTimeout});
  train();
  wait_until_over();
  EXPECT_LT(std::chrono::steady_clock::now() - began, kMuchLess);
  EXPECT_FALSE(streams_->is_settled());
}

TEST_F(StateStreaming, AJoiningWorkerThatNeverCatchesUpIsAwaitedUpToTheLimit) {
  begin_to_send(kTimeout, {.lost = kTimeout, .all = kNone});
  train();
  wait_until_settled();
  groups_[kJoining].reset();
}

TEST_F(StateStreaming, AStateSourceThatWaitsIsInterruptedAtOnce) {
  begin_to_send(kTimeout, {.lost = kTimeout, .all = kTimeout});
  train();
  const auto began = std::chrono::steady_clock::now();
  interrupts_[kSource]->raise();
  wait_until_over();
  EXPECT_LT(std::chrono::steady_clock::now() - began, kMuchLess);
}

TEST_F(StateStreaming, NoShardIsSentInTheStepAfterASlowOne) {
  constexpr AppliedStep kUsual{.seconds = 1, .usual_seconds = 1}, kSlow{.seconds = 2, .usual_seconds = 1};
  streams_ = std::make_unique<StateStreams>(live_, StateStreams::Limits{.lost = kTimeout, .all = kTimeout}, kSlowdown);
  train_step(kSlow);
  streams_->add(shards_, sources_end());
  StreamLink receiver = joining_end();
  EXPECT_TRUE(receiver.receive_header().is_heartbeat());
  train_step(kUsual);
  while (true) {
    const StreamHeader header = receiver.receive_header();
    if (header.is_heartbeat()) continue;
    EXPECT_EQ(header.sent_shards, 1);
    break;
  }
  streams_->stop();
  interrupts_[kSource]->raise();
}

TEST_F(StateStreaming, AJoiningWorkerThatWaitsIsInterruptedAtOnce) {
  begin_to_receive();
  const auto began = std::chrono::steady_clock::now();
  interrupts_[kJoining]->raise();
  EXPECT_FALSE(stream_->take());
  EXPECT_LT(std::chrono::steady_clock::now() - began, kMuchLess);
}

TEST_F(StateStreaming, AGapBetweenStepsEndsTheStream) {
  begin_to_receive();
  StreamLink link = sources_end();
  link.send_header({.step = 5, .loss = 1, .first_loss = 1, .known_shards = 0, .sent_shards = 1});
  for (int tensor = 0; tensor < 3; ++tensor) link.send(at::zeros({shards_.front().elements}));
  link.await_acknowledgement(0);
  link.send_header({.step = 7, .loss = 1, .first_loss = 1, .known_shards = 1, .sent_shards = 1});
  EXPECT_EQ(stream_->take().value().held.step, 5);
  EXPECT_THROW(link.await_acknowledgement(0), CommunicationError);
}

// Tensors of more than one block, and ones that only together fill one.
TEST_F(StateStreaming, LargeTensorsArriveInBlocks) {
  StreamLink from = sources_end();
  std::vector<at::Tensor> sent, received;
  for (const std::int64_t elements : {5'000'000, 7, 1'500'000, 1'500'000, 1'500'000}) {
    sent.push_back(at::randn({elements}));
    received.push_back(at::empty({elements}));
  }
  std::thread joining_worker([&] {
    StreamLink to = joining_end();
    for (const at::Tensor& tensor : received) to.receive(tensor);
    to.acknowledge();
  });
  for (const at::Tensor& tensor : sent) from.send(tensor);
  from.await_acknowledgement(0);
  joining_worker.join();
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_TRUE(at::equal(sent[i], received[i])) << "tensor " << i;
}

}  // namespace
}  // namespace sailor::trainer
