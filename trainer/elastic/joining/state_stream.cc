#include "trainer/elastic/joining/state_stream.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "core/log/log.h"
#include "trainer/comm/communication_error.h"
#include "trainer/device/allocation_failure.h"
#include "trainer/device/device.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::seconds kHeartbeat{1};  // a header is sent at least this often
constexpr std::int64_t kMostStates = 2;  // the queue may grow to this many times the streamed state, or to kLeastLimit
constexpr std::int64_t kLeastLimit = 16 << 20;  // elements, 64 MB: steps of a small model take almost no time

}  // namespace

// Copies the elements to host memory, because the next step changes the tensor, and training may need all memory of the
// GPU. A GPU copies them between what it was given before and what it is given later; only the sending thread waits.
void StateStream::add(Message& message, const at::Tensor& flat, const std::vector<StridedSpan>& spans) {
  const std::int64_t elements = size_of(spans);
  message.tensors.push_back(buffers_.take(elements));
  pack_into(message.tensors.back(), flat, spans);
  message.elements += elements;
}

StateStream::StateStream(LiveState& live, const StreamPace& pace, std::vector<StreamedShard> shards, StreamLink link)
    : live_(live), pace_(pace), shards_(std::move(shards)) {
  for (const StreamedShard& shard : shards_) elements_ += shard.elements;
  live_.attach(*this);  // before the first shard is copied, so that no update of it is missed
  thread_ = std::thread([this, link = std::move(link)]() mutable { run(std::move(link)); });
}

StateStream::~StateStream() {
  live_.detach(*this);
  stop();
  thread_.join();
}

void StateStream::before_update(const HeldState& held) {
  if (is_over_ || has_last_) return;
  step_ = {.header = {.squared_norm = held.squared_norm, .known_shards = sent_shards_, .sent_shards = sent_shards_},
           .tensors = {},
           .elements = 0};
  if (held.squared_norm == kStepSkipped) return;
  const auto failure = allocation_failure([&] {
    for (int i = 0; i < sent_shards_; ++i) {
      const StreamedShard& shard = shards_[static_cast<std::size_t>(i)];
      add(step_, held.gradients.at(shard.layer_state),
          spans_of(held.layer_states.at(shard.layer_state).layout, shard.slices));
    }
    step_.wait_until_copied = waiter_for_given_work();
  });
  if (!failure) return;
  step_ = {};
  give_up(*failure);
}

void StateStream::give_up(const std::string& why) {
  log_warning("state stream given up", {{"why", why}});
  stop();
}

void StateStream::after_update(const HeldState& held, const AppliedStep& step) {
  if (is_over_ || has_last_) return;
  if (step.is_last && (sent_shards_ == 0 || is_behind())) return stop();
  if (sent_shards_ > 0) push(held, step.is_last);
}

void StateStream::push(const HeldState& held, bool is_last) {
  step_.header.step = held.step;
  step_.header.loss = held.loss;
  step_.header.first_loss = held.first_loss;
  step_.header.is_last = is_last;
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  queued_elements_ += step_.elements;
  has_last_ = is_last;
  is_stopped_ =
      is_stopped_ || queued_elements_ > std::max(kMostStates * std::int64_t{kStateTensors} * elements_, kLeastLimit);
  queue_.push_back(std::exchange(step_, {}));
  changed_.notify_all();
}

bool StateStream::is_behind() const {
  const std::lock_guard lock(mutex_);
  return queue_.size() > 1;
}

bool StateStream::is_settled(Clock::time_point lost_before) const {
  const std::lock_guard lock(mutex_);
  if (is_stopped_ || lost_) return is_stopped_ || *lost_ < lost_before;
  return arrived_ == std::ssize(shards_) && queue_.size() <= 1;
}

StateStream::Progress StateStream::progress() const {
  const std::lock_guard lock(mutex_);
  Progress progress;
  for (int i = 0; i < std::ssize(shards_); ++i) {
    const StreamedShard& shard = shards_[static_cast<std::size_t>(i)];
    if (i < arrived_) progress.arrived += shard.elements;
    if (i >= arrived_ && shard.is_unique) progress.unique_left += shard.elements;
  }
  return progress;
}

void StateStream::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = is_stopped_ || !has_last_;
  changed_.notify_all();
}

void StateStream::run(StreamLink link) {
  try {
    if (const auto failure = allocation_failure([&] { send_messages(link); })) give_up(*failure);
  } catch (const CommunicationError& error) {
    note_lost(error.what());
  }
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  queue_.clear();
}

void StateStream::send_messages(StreamLink& link) {
  bool was_last = false;
  while (!was_last) {
    std::optional<Message> message = next();
    if (!message) return;
    link.send_header(message->header);
    if (message->header.is_heartbeat()) continue;
    if (message->wait_until_copied) message->wait_until_copied();
    for (const at::Tensor& tensor : message->tensors) link.send(tensor);
    link.await_acknowledgement(message->elements);
    note_sent(*message);
    for (at::Tensor& tensor : message->tensors) buffers_.give_back(std::move(tensor));
    if (!message->header.is_step()) rest();
    was_last = message->header.is_last;
  }
}

void StateStream::note_lost(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return;
  lost_ = Clock::now();
  log_info("receiver of state lost", {{"why", why}});
}

// Returns the next message: a queued step, else a shard if the pace allows one, else a heartbeat after kHeartbeat.
// Returns nothing after stop().
std::optional<StateStream::Message> StateStream::next() {
  const auto heartbeat_at = Clock::now() + kHeartbeat;
  while (true) {
    std::unique_lock lock(mutex_);
    const bool has_more = sent_shards_ < std::ssize(shards_) && !has_last_ && !pace_.is_paused();
    changed_.wait_until(lock, has_more ? std::min(next_shard_at_, heartbeat_at) : heartbeat_at,
                        [&] { return is_stopped_ || !queue_.empty(); });
    if (is_stopped_) return std::nullopt;
    if (!queue_.empty()) return queue_.front();
    lock.unlock();
    if (!has_more || Clock::now() < next_shard_at_) return Message{};
    if (auto shard = next_shard()) return shard;
  }
}

// Puts the next shard off, so that shards take only their share of the time.
void StateStream::rest() {
  const auto spent = Clock::now() - shard_began_;
  const auto pause = std::chrono::duration_cast<Clock::duration>(spent * (1 / pace_.share() - 1));
  next_shard_at_ = Clock::now() + std::min<Clock::duration>(pause, kHeartbeat);
}

// Copies the next shard as it is now. Returns nothing if a step has been queued meanwhile, because its gradients must
// come first, or if the worker does not train.
std::optional<StateStream::Message> StateStream::next_shard() {
  std::optional<Message> message;
  shard_began_ = Clock::now();
  const bool trains = live_.read([&](const HeldState& held, std::int64_t updated_by) {
    if (!is_up_to_date()) return;
    const StreamedShard& shard = shards_[static_cast<std::size_t>(sent_shards_)];
    const LayerState& state = held.layer_states.at(shard.layer_state);
    message.emplace();
    message->header = {.step = held.step,
                       .updated_by = updated_by,
                       .loss = held.loss,
                       .first_loss = held.first_loss,
                       .known_shards = sent_shards_,
                       .sent_shards = sent_shards_ + 1};
    for (const at::Tensor& tensor : tensors_of(state)) add(*message, tensor, spans_of(state.layout, shard.slices));
    message->wait_until_copied = waiter_for_given_work();
    ++sent_shards_;
  });
  if (!trains) next_shard_at_ = shard_began_ + kHeartbeat;
  return message;
}

// Returns true if all steps are sent and another one may come. Call it in a read of `live_`.
bool StateStream::is_up_to_date() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !has_last_;
}

void StateStream::note_sent(const Message& message) {
  const std::lock_guard lock(mutex_);
  arrived_ = message.header.sent_shards;
  if (!message.header.is_step()) return;
  queued_elements_ -= message.elements;
  queue_.pop_front();
}

}  // namespace sailor::trainer
