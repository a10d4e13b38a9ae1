#include "tests/trainer/elastic/protocol/packed_world.h"

#include "core/model/check.h"

namespace sailor::trainer::exploration {
namespace {

constexpr unsigned kWordBits = 64;

// These functions list the fields of a world and their widths in bits, in one order for both directions. Most
// rendezvous are over, and empty.
template <class Transfer, class Value>
void transfer_worker(Transfer& transfer, Value& worker) {
  transfer(worker.place, 4);
  transfer(worker.generation, 3);
  transfer(worker.has_role, 1);
  transfer(worker.step, 2);
  transfer(worker.has_gradients, 1);
  transfer(worker.next, 3);
  transfer(worker.next_is_prepared, 1);
  transfer(worker.is_streaming, 1);
  transfer(worker.updated_by, 3);
  transfer(worker.confirmed, 3);
  transfer(worker.may_be_behind, 1);
  transfer(worker.units, kUnits);
}

template <class Transfer, class Value>
void transfer_rendezvous(Transfer& transfer, Value& rendezvous) {
  for (auto& report : rendezvous.state_reports) transfer(report, 12);
  for (auto& role : rendezvous.roles) transfer(role, kUnits);
  for (auto& step : rendezvous.computing) transfer(step, 2);
  for (auto& step : rendezvous.voting) transfer(step, 2);
  transfer(rendezvous.members, kWorkers);
  transfer(rendezvous.published, kWorkers);
  transfer(rendezvous.met, kWorkers);
  transfer(rendezvous.saved, kWorkers);
  transfer(rendezvous.moved, kWorkers);
  transfer(rendezvous.chosen_checkpoint, 2);
  transfer(rendezvous.leaving, 2);
  transfer(rendezvous.waiting, 2);
  transfer(rendezvous.is_disconnected, 1);
  transfer(rendezvous.has_finished_late, 1);
}

// Very few rendezvous have these fields.
template <class Transfer, class Value>
void transfer_streaming(Transfer& transfer, Value& rendezvous) {
  for (auto& units : rendezvous.streamed) transfer(units, kUnits);
  transfer(rendezvous.streamed_step, 2);
  transfer(rendezvous.streamed_by, 3);
  transfer(rendezvous.streamed_updated_by, 3);
  transfer(rendezvous.is_final, 1);
}

template <class Transfer, class Value>
void transfer_world(Transfer& transfer, Value& world) {
  transfer(world.issued, 3);
  transfer(world.record, 3);
  transfer(world.committed, 3);
  transfer(world.replaced, 3);
  transfer(world.faults, 3);
  transfer(world.is_voluntary, 1);
  transfer(world.releases_gpus, 1);
  transfer(world.change, 2);
  transfer(world.releases, 2);
  transfer(world.withdrawals, 2);
  transfer(world.checkpoint, 2);
  transfer(world.claim, 3);
  transfer(world.crashed, kWorkers);
  transfer(world.unresponsive, kWorkers);
  transfer(world.leased, kWorkers);
  transfer(world.stale, kWorkers);
  transfer(world.broken_paths, kWorkers);
  transfer(world.noticed_paths, kWorkers);
  transfer(world.unreachable, kWorkers);
  transfer(world.history.newest_confirmed, 3);
  for (auto& generation : world.history.applied) transfer(generation, 3);
  for (auto& worker : world.workers) transfer_worker(transfer, worker);
}

class Writer {
 public:
  template <class Value>
  void operator()(const Value& field, unsigned bits) {
    const auto value = static_cast<std::uint64_t>(field);
    lost_ |= value >> bits;
    word_ |= value << filled_;
    filled_ += bits;
    if (filled_ < kWordBits) return;
    filled_ -= kWordBits;
    packed_.at(at_++) = word_;
    word_ = filled_ == 0 ? 0 : value >> (bits - filled_);
  }

  PackedWorld finish() {
    SAILOR_CHECK(lost_ == 0, "a field of the world does not fit into its bits");
    packed_.at(at_) = word_;
    packed_[0] |= at_ + 1;
    return packed_;
  }

 private:
  PackedWorld packed_{};
  std::size_t at_ = 0;
  std::uint64_t word_ = 0;
  unsigned filled_ = kCountBits;
  std::uint64_t lost_ = 0;
};

struct Reader {
  const PackedWorld& words;
  unsigned at = kCountBits;

  template <class Value>
  void operator()(Value& field, unsigned bits) {
    std::uint64_t value = words[at / kWordBits] >> at % kWordBits;
    if (at % kWordBits + bits > kWordBits) value |= words[at / kWordBits + 1] << (kWordBits - at % kWordBits);
    field = static_cast<Value>(value & ((std::uint64_t{1} << bits) - 1));
    at += bits;
  }
};

}  // namespace

PackedWorld pack(const World& world) {
  Writer writer;
  transfer_world(writer, world);
  for (int generation = 1; generation <= world.issued; ++generation) {
    const Rendezvous& rendezvous = world.rendezvous_of[static_cast<std::size_t>(generation)];
    const bool is_empty = rendezvous == Rendezvous{};
    writer(is_empty, 1);
    if (is_empty) continue;
    transfer_rendezvous(writer, rendezvous);
    const bool is_streaming_state = rendezvous.streamed_by > 0;
    writer(is_streaming_state, 1);
    if (is_streaming_state) transfer_streaming(writer, rendezvous);
  }
  return writer.finish();
}

World unpack(const PackedWorld& packed) {
  World world;
  Reader reader{packed};
  transfer_world(reader, world);
  for (int generation = 1; generation <= world.issued; ++generation) {
    bool is_empty = false, is_streaming_state = false;
    reader(is_empty, 1);
    if (is_empty) continue;
    Rendezvous& rendezvous = world.rendezvous_of[static_cast<std::size_t>(generation)];
    transfer_rendezvous(reader, rendezvous);
    reader(is_streaming_state, 1);
    if (is_streaming_state) transfer_streaming(reader, rendezvous);
  }
  return world;
}

std::uint64_t hash_of(const PackedWorld& packed) {
  std::uint64_t even = 1, odd = 2;  // two chains that do not wait for each other
  for (std::size_t at = 0; at < word_count(packed[0]); at += 2) {
    even = (even ^ packed[at]) * 0x9e3779b97f4a7c15U;
    odd = (odd ^ packed[at + 1]) * 0xbf58476d1ce4e5b9U;
    even ^= even >> 32U;
    odd ^= odd >> 29U;
  }
  const std::uint64_t mixed = (even ^ odd << 1U) * 0x94d049bb133111ebU;
  return mixed ^ mixed >> 31U;
}

}  // namespace sailor::trainer::exploration
