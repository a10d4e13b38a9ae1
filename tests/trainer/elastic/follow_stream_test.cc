// One feeder and one follower over real Gloo: equal states, or none.
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/comm/peer_lost.h"
#include "trainer/elastic/feeding.h"
#include "trainer/elastic/following.h"

namespace sailor::trainer {
namespace {

constexpr int kFeeder = 0, kFollower = 1;
constexpr int kStorePort = 7074;
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::seconds kWholeStep{1};  // so long that everything is handed out at once

class FollowStreams : public ::testing::Test {
 protected:
  FollowStreams() {
    job_->training.optimizer.clip_norm = 0.5;
    job_->training.optimizer.weight_decay = 0.1;
    for (const int piece : all_pieces(job_->model)) {
      const Piece whole = piece_of(job_->model, piece);
      held_.pieces[piece] = initial_state(job_->model, whole, 7);
      if (piece == 2) {  // the later columns of a tensor and the earlier ones, and not all of it
        portions_.push_back(portion_of(whole, shard_ranges(whole, {.index = 1, .degree = 3})));
      } else {
        portions_.push_back(portion_of(whole, ranges_of(whole)));
      }
    }
    portions_.back().is_copy = true;
    connect();
  }

  static Portion portion_of(const Piece& whole, const std::vector<Range>& ranges) {
    return {whole.id, false, ranges, part_of(whole, ranges).size};
  }

  void connect() {
    store_ = *RendezvousHost::listen(host_, kStorePort);
    std::unique_ptr<Group> groups[2];
    std::vector<std::thread> threads;
    for (const int rank : {kFeeder, kFollower}) {
      threads.emplace_back([&, rank] {
        Rendezvous rendezvous(host_, kStorePort, "follow", kPatience);
        GroupFactory factory(rendezvous, host_, rank, kPatience);
        groups[rank] = factory.make_messages("pair", {kFeeder, kFollower});
      });
    }
    for (auto& thread : threads) thread.join();
    feeders_end_.emplace(std::move(groups[kFeeder]), kFollower, kPatience);
    followers_end_.emplace(std::move(groups[kFollower]), kFeeder, kPatience);
  }

  void begin() {
    std::vector<std::unique_ptr<Outlet>> outlets;
    outlets.push_back(std::make_unique<Outlet>(portions_, *std::move(feeders_end_)));
    feeding_ = std::make_unique<Feeding>(std::move(outlets), kPatience);
    begin_to_follow();
  }

  void begin_to_follow() { stream_ = std::make_unique<FollowedStream>(job_, portions_, *std::move(followers_end_)); }

  // A step of the feeder, as its generation does one.
  void train(bool is_last = false, bool is_left_out = false) {
    for (const auto& [piece, state] : held_.pieces) held_.gradients[piece] = at::randn_like(state.weights);
    held_.squared_norm = is_left_out ? kStepLeftOut : 3.7;
    held_.next_loss = 5.0 / static_cast<double>(held_.step + 1);
    feeding_->note_gradients(held_);
    held_.apply_gradients(job_->training);
    if (is_last) return feeding_->note_last_update(held_);
    feeding_->note_update(held_, kWholeStep);
  }

  void wait_until_settled() const {
    while (!feeding_->is_settled()) std::this_thread::yield();
  }

  // Bit for bit where it is cut as the feeder's: LibTorch rounds the last few elements of a tensor's update otherwise,
  // and where that ends depends on the cut.
  void expect_same(const Portion& portion, const PieceState& followed) const {
    const PieceState& original = held_.pieces.at(portion.piece);
    PieceState mine = empty_state(part_of(piece_of(job_->model, portion.piece), portion.ranges));
    copy_ranges(portion.ranges, original, mine);
    const bool is_whole = original.part == followed.part;
    const auto are_same = [&](const at::Tensor& one, const at::Tensor& other) {
      return is_whole ? at::equal(one, other) : at::allclose(one, other, 1e-5, 1e-9);
    };
    EXPECT_TRUE(are_same(mine.weights, followed.weights)) << "piece " << portion.piece;
    EXPECT_TRUE(are_same(mine.momentum, followed.momentum)) << "piece " << portion.piece;
    EXPECT_TRUE(are_same(mine.variance, followed.variance)) << "piece " << portion.piece;
  }

  std::shared_ptr<Assignment> job_ = std::make_shared<Assignment>(testing::tiny_job("unused"));
  HeldState held_;  // the feeder's
  std::vector<Portion> portions_;
  std::string host_ = testing::own_address();
  std::unique_ptr<RendezvousHost> store_;
  std::optional<FollowLink> feeders_end_, followers_end_;
  std::unique_ptr<Feeding> feeding_;
  std::unique_ptr<FollowedStream> stream_;
};

TEST_F(FollowStreams, TheFollowerHoldsBitForBitWhatItsFeederHoldsWhereItIsCutAlike) {
  begin();
  for (int step = 0; step < 7; ++step) {
    train(false, step == 3);  // one that counts and is not applied
    wait_until_settled();
  }
  train(true);
  const auto followed = stream_->take();
  ASSERT_TRUE(followed);
  EXPECT_EQ(followed->step, held_.step);
  EXPECT_EQ(followed->reached, held_.step);
  EXPECT_EQ(followed->loss, held_.loss);
  EXPECT_EQ(followed->first_loss, held_.first_loss);
  EXPECT_EQ(followed->pieces.size() + followed->copies.size(), portions_.size());
  for (const Portion& portion : portions_) {
    expect_same(portion, (portion.is_copy ? followed->copies : followed->pieces).at(portion.piece));
  }
}

TEST_F(FollowStreams, WithoutALastStepTheFollowedStateIsThrownAway) {
  begin();
  train();
  wait_until_settled();
  feeding_->stop();
  EXPECT_FALSE(stream_->take());
}

TEST_F(FollowStreams, AfterTheLastStepNothingIsStoppedNorSent) {
  begin();
  train();
  wait_until_settled();
  train(true);
  feeding_->stop();
  feeding_->note_gradients(held_);  // of the next generation: the follower trains in it itself
  feeding_->note_update(held_, kWholeStep);
  EXPECT_TRUE(stream_->take());
}

TEST_F(FollowStreams, AFollowerThatIsTooSlowIsGivenUpAndWaitedForByNobody) {
  std::vector<std::unique_ptr<Outlet>> outlets;
  outlets.push_back(std::make_unique<Outlet>(portions_, *std::move(feeders_end_)));
  feeding_ = std::make_unique<Feeding>(std::move(outlets), kPatience);
  int steps = 0;
  while (!feeding_->is_settled()) {  // the follower does not receive
    ASSERT_LT(++steps, 10);
    train();
  }
  followers_end_.reset();  // so that the feeder's last message is not waited for either
}

TEST_F(FollowStreams, OneThatIsLostIsNotWhatTrainingEndsFor) {
  begin();
  train();
  wait_until_settled();
  stream_.reset();  // its process is gone
  while (!feeding_->is_over()) std::this_thread::yield();
  EXPECT_FALSE(feeding_->is_settled());
}

TEST_F(FollowStreams, AGapBetweenStepsEndsIt) {
  begin_to_follow();
  feeders_end_->tell({.step = 5, .loss = 1, .first_loss = 1});
  feeders_end_->await_acknowledgement(0);
  feeders_end_->tell({.step = 7, .loss = 1, .first_loss = 1});
  EXPECT_FALSE(stream_->take());
  EXPECT_THROW(feeders_end_->await_acknowledgement(0), PeerLost);
}

}  // namespace
}  // namespace sailor::trainer
