#include "trainer/elastic/joining/state_stream.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "core/log/log.h"
#include "trainer/comm/communication_error.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::seconds kSign{1};  // the source sends a header at least this often
constexpr std::int64_t kMostStates = 2;   // the queue may grow to this many times the streamed state, or to kLeastLimit
constexpr std::int64_t kLeastLimit = 16 << 20;  // elements, 64 MB: steps of a small model take almost no time

// Copies the spans to host memory, because training may need all memory of the GPU. Never returns the tensor itself,
// because the next step changes it.
at::Tensor copied_to_host(const at::Tensor& flat, const std::vector<StridedSpan>& spans) {
  const at::Tensor message = packed(flat, spans);
  return message.is_cpu() && message.is_alias_of(flat) ? message.clone() : message.cpu();
}

}  // namespace

void StateStream::Frame::add(const at::Tensor& flat, const std::vector<StridedSpan>& spans) {
  tensors.push_back(copied_to_host(flat, spans));
  elements += tensors.back().numel();
}

StateStream::StateStream(std::vector<StreamedShard> shards, StreamLink link) : shards_(std::move(shards)) {
  for (const StreamedShard& shard : shards_) elements_ += shard.elements;
  thread_ = std::thread([this, link = std::move(link)]() mutable { run(std::move(link)); });
}

StateStream::~StateStream() {
  stop();
  thread_.join();
}

void StateStream::note_gradients(const HeldState& held) {
  if (is_over_ || has_last_) return;
  frame_ = {.header = {.squared_norm = held.squared_norm, .known_shards = sent_shards_}, .tensors = {}, .elements = 0};
  if (held.squared_norm == kStepSkipped) return;
  for (int i = 0; i < sent_shards_; ++i) {
    const StreamedShard& shard = shards_[static_cast<std::size_t>(i)];
    frame_.add(held.gradients.at(shard.layer_state),
               spans_of(held.layer_states.at(shard.layer_state).layout, shard.slices));
  }
}

void StateStream::note_update(const HeldState& held, std::chrono::duration<double> allowed) {
  if (is_over_ || has_last_) return;
  enqueue_shards(held, allowed);
  push(held);
}

void StateStream::note_last_update(const HeldState& held) {
  if (is_over_ || has_last_) return;
  if (sent_shards_ == 0 || is_behind()) return stop();
  frame_.header.is_last = true;
  push(held);
}

// Enqueues new shards only after the earlier ones have arrived. So only the shards of one step are in memory twice.
void StateStream::enqueue_shards(const HeldState& held, std::chrono::duration<double> allowed) {
  {
    const std::lock_guard lock(mutex_);
    if (arrived_ < sent_shards_) return;
  }
  const auto began = Clock::now();
  while (sent_shards_ < std::ssize(shards_)) {
    const StreamedShard& shard = shards_[static_cast<std::size_t>(sent_shards_)];
    const LayerState& state = held.layer_states.at(shard.layer_state);
    for (const at::Tensor& tensor : tensors_of(state)) frame_.add(tensor, spans_of(state.layout, shard.slices));
    ++sent_shards_;
    if (Clock::now() - began > allowed) return;
  }
}

void StateStream::push(const HeldState& held) {
  frame_.header.step = held.step;
  frame_.header.loss = held.loss;
  frame_.header.first_loss = held.first_loss;
  frame_.header.sent_shards = sent_shards_;
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  queued_elements_ += frame_.elements;
  has_last_ = frame_.header.is_last;
  is_stopped_ =
      is_stopped_ || queued_elements_ > std::max(kMostStates * std::int64_t{kStateTensors} * elements_, kLeastLimit);
  queue_.push_back(std::exchange(frame_, {}));
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

void StateStream::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = is_stopped_ || !has_last_;
  changed_.notify_all();
}

void StateStream::run(StreamLink link) {
  try {
    send_frames(link);
  } catch (const CommunicationError& error) {
    note_lost(error.what());
  }
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  queue_.clear();
}

void StateStream::send_frames(StreamLink& link) {
  bool was_last = false;
  while (!was_last) {
    const std::optional<Frame> frame = next();
    if (!frame) return;
    link.send_header(frame->header);
    if (frame->header.step == 0) continue;
    for (const at::Tensor& tensor : frame->tensors) link.send(tensor);
    link.await_acknowledgement(frame->elements);
    note_sent(*frame);
    was_last = frame->header.is_last;
  }
}

void StateStream::note_lost(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_) return;
  lost_ = Clock::now();
  log_info("joining worker lost", {{"why", why}});
}

// Returns the next frame of the queue. Returns an empty frame as a sign of life if the queue stays empty for kSign, and
// nothing after stop().
std::optional<StateStream::Frame> StateStream::next() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kSign, [&] { return is_stopped_ || !queue_.empty(); });
  if (is_stopped_) return std::nullopt;
  return queue_.empty() ? Frame{} : queue_.front();
}

void StateStream::note_sent(const Frame& frame) {
  const std::lock_guard lock(mutex_);
  queued_elements_ -= frame.elements;
  arrived_ = frame.header.sent_shards;
  queue_.pop_front();
}

}  // namespace sailor::trainer
