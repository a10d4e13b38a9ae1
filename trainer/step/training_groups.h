// TrainingGroups: the communication groups of one worker in one generation. Each kind of traffic has its own groups.
// There are two reasons: a message that times out closes every connection of its group, and the traffic of one group
// does not delay another group.
#pragma once

#include <map>
#include <memory>

#include "trainer/comm/group.h"
#include "trainer/comm/group_factory.h"
#include "trainer/comm/interrupt.h"
#include "trainer/device/device.h"
#include "trainer/device/stopwatch.h"
#include "trainer/step/operations.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

class TrainingGroups {
 public:
  // `everyone` is a message group of all workers of the generation. The training uses it too if no worker leaves.
  TrainingGroups(const Roster& roster, int rank, const WorkerSchedule& schedule, GroupFactory& factory,
                 std::shared_ptr<Group> everyone);

  void set_timeout(std::chrono::milliseconds timeout);
  void check() const { interrupt_->check(); }  // throws CommunicationError once the groups have been aborted

  [[nodiscard]] Group& control() { return *control_; }    // all workers: votes and small sums
  [[nodiscard]] Group& pipeline() { return *pipeline_; }  // the connected replicas: messages between stages
  [[nodiscard]] Group& tensor_parallel() { return *tensor_parallel_; }  // the workers of this replica
  // Measures this worker's own passes: it does not run during collectives of tensor_parallel().
  [[nodiscard]] Stopwatch& own_passes() { return own_passes_; }
  // Returns the group of the workers that compute with the same parameters, to reduce their gradients. `holders` are
  // their ranks, and include this worker.
  [[nodiscard]] Group& data_parallel(const std::vector<int>& holders);

 private:
  std::shared_ptr<Interrupt> interrupt_;
  std::shared_ptr<Group> control_;
  std::unique_ptr<Group> pipeline_;
  Stopwatch own_passes_{compute_device()};
  std::unique_ptr<Group> tensor_parallel_;
  std::map<std::vector<int>, std::unique_ptr<Group>> data_parallel_;
};

}  // namespace sailor::trainer
