// CopiedGradients: how the copies that peers keep follow each step: by the gradients that the slices are updated with.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "trainer/comm/group.h"
#include "trainer/elastic/state/incoming_message.h"
#include "trainer/elastic/state/peer_replicas.h"
#include "trainer/model/layer_state.h"

namespace sailor::trainer {

// A copy is updated as its slice is, by the same gradients, so it is at the same step after the same vote: no more and
// no less than another replica of the slice. Gradients travel beside the backward pass, from when they are complete.
class CopiedGradients {
 public:
  // `kept`: the copies of this worker. `group` outlives it; null where nobody keeps any.
  CopiedGradients(const Roster& roster, int rank, const std::vector<StateCopy>& copies, const LayerStates& kept,
                  Group* group);

  void begin();                                                // a step: what the one before returned is written over
  void send(int layer_state, const at::Tensor& own_gradient);  // once it is complete; it stays as it is until finish()

  // Once all own gradients are sent. Returns, by layer state, those of the copies that this worker keeps.
  std::map<int, at::Tensor> finish();

  void set_timeout(std::chrono::milliseconds timeout);

 private:
  struct Outgoing {
    int tag = 0;
    int keeper = 0;
    int layer_state = 0;
    std::vector<StridedSpan> spans;  // in the held shard
  };
  struct Incoming {
    int tag = 0;
    int holder = 0;
    Arrival arrival;
  };

  Group* group_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  std::map<int, at::Tensor> received_;  // by layer state, laid out as the copies' shards
  std::vector<std::unique_ptr<Work>> transfers_;
};

}  // namespace sailor::trainer
