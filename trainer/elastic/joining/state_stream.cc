#include "trainer/elastic/joining/state_stream.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "core/log/log.h"
#include "trainer/comm/peer_lost.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::seconds kSign{1};  // a follower hears at least this often that its feeder is still there
constexpr int kMostStates = 2;  // the queue may grow to so many times the state that is followed, or to so much
constexpr std::int64_t kLeastLimit = 16 << 20;  // elements, 64 MB: of a small state steps are over in no time

// In the host's memory, for a GPU's is the plan's; and not the tensor itself, which the next step changes.
at::Tensor copied_to_host(const at::Tensor& flat, const std::vector<StridedSpan>& spans) {
  const at::Tensor message = packed(flat, spans);
  return message.is_cpu() && message.is_alias_of(flat) ? message.clone() : message.cpu();
}

}  // namespace

void Outlet::Frame::add(const at::Tensor& flat, const std::vector<StridedSpan>& spans) {
  tensors.push_back(copied_to_host(flat, spans));
  elements += tensors.back().numel();
}

Outlet::Outlet(std::vector<StreamedShard> shards, FollowLink link) : shards_(std::move(shards)) {
  for (const StreamedShard& shard : shards_) elements_ += shard.elements;
  thread_ = std::thread([this, link = std::move(link)]() mutable { run(std::move(link)); });
}

Outlet::~Outlet() {
  stop();
  thread_.join();
}

void Outlet::note_gradients(const HeldState& held) {
  if (is_over_ || has_last_) return;
  frame_ = {.news = {.squared_norm = held.squared_norm, .followed = handed_out_}, .tensors = {}, .elements = 0};
  if (held.squared_norm == kStepLeftOut) return;
  for (int i = 0; i < handed_out_; ++i) {
    const StreamedShard& shard = shards_[static_cast<std::size_t>(i)];
    frame_.add(held.gradients.at(shard.layer_state),
               spans_of(held.layer_states.at(shard.layer_state).layout, shard.slices));
  }
}

void Outlet::note_update(const HeldState& held, std::chrono::duration<double> allowed) {
  if (is_over_ || has_last_) return;
  hand_out(held, allowed);
  push(held);
}

void Outlet::note_last_update(const HeldState& held) {
  if (is_over_ || has_last_) return;
  if (handed_out_ == 0 || is_behind()) return stop();
  frame_.news.is_last = true;
  push(held);
}

// What was handed out before has arrived first: no more than that is kept twice.
void Outlet::hand_out(const HeldState& held, std::chrono::duration<double> allowed) {
  {
    const std::lock_guard lock(mutex_);
    if (arrived_ < handed_out_) return;
  }
  const auto began = Clock::now();
  while (handed_out_ < std::ssize(shards_)) {
    const StreamedShard& shard = shards_[static_cast<std::size_t>(handed_out_)];
    const LayerState& state = held.layer_states.at(shard.layer_state);
    for (const at::Tensor& tensor : tensors_of(state)) frame_.add(tensor, spans_of(state.layout, shard.slices));
    ++handed_out_;
    if (Clock::now() - began > allowed) return;
  }
}

void Outlet::push(const HeldState& held) {
  frame_.news.step = held.step;
  frame_.news.loss = held.loss;
  frame_.news.first_loss = held.first_loss;
  frame_.news.handed_out = handed_out_;
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  queued_elements_ += frame_.elements;
  has_last_ = frame_.news.is_last;
  is_stopped_ = is_stopped_ || queued_elements_ > std::max(kMostStates * kStateTensors * elements_, kLeastLimit);
  queue_.push_back(std::exchange(frame_, {}));
  changed_.notify_all();
}

bool Outlet::is_behind() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() > 1;
}

bool Outlet::is_settled(Clock::time_point lost_before) const {
  const std::lock_guard lock(mutex_);
  if (is_stopped_ || lost_) return is_stopped_ || *lost_ < lost_before;
  return arrived_ == std::ssize(shards_) && queue_.size() <= 1;
}

void Outlet::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = is_stopped_ || !has_last_;
  changed_.notify_all();
}

void Outlet::run(FollowLink link) {
  try {
    send_frames(link);
  } catch (const PeerLost& error) {
    note_lost(error.what());
  }
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  queue_.clear();
}

void Outlet::send_frames(FollowLink& link) {
  bool was_last = false;
  while (!was_last) {
    const std::optional<Frame> frame = next();
    if (!frame) return;
    link.tell(frame->news);
    if (frame->news.step == 0) continue;
    for (const at::Tensor& tensor : frame->tensors) link.send(tensor);
    link.await_acknowledgement(frame->elements);
    note_sent(*frame);
    was_last = frame->news.is_last;
  }
}

void Outlet::note_lost(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return;
  lost_ = Clock::now();
  log_info("a follower is lost", {{"why", why}});
}

// Of steps, or after a while a sign that there is none; nothing once it is stopped.
std::optional<Outlet::Frame> Outlet::next() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kSign, [&] { return is_stopped_ || !queue_.empty(); });
  if (is_stopped_) return std::nullopt;
  return queue_.empty() ? Frame{} : queue_.front();
}

void Outlet::note_sent(const Frame& frame) {
  const std::lock_guard lock(mutex_);
  queued_elements_ -= frame.elements;
  arrived_ = frame.news.handed_out;
  queue_.pop_front();
}

}  // namespace sailor::trainer
