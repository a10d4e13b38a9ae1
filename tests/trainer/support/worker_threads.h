// WorkerThreads: real workers over real Gloo, each a thread of the test: many plans in little time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/protocol/agent_report.h"
#include "core/protocol/assignment.h"
#include "tests/trainer/support/nccl_like_backend.h"
#include "trainer/comm/rendezvous.h"
#include "trainer/elastic/control/assignment_mailbox.h"

namespace sailor::trainer::testing {

constexpr std::int64_t kStepsWithoutEnd = 1'000'000;

class WorkerThreads {
 public:
  explicit WorkerThreads(int count, const MakeDeviceBackend& collectives = collectives_under_test());
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  [[nodiscard]] std::vector<AgentAddress> agents() const;  // one per worker
  void assign(const Assignment& assignment);               // assigns to all workers
  void assign(int worker, const Assignment& assignment);   // assigns to this one; halted workers stay halted
  void join();                                             // waits until each has finished, failed or been released

  // Assigns, and returns when rank 0's worker has trained this many steps of the generation, where it is halted until
  // the next assignment or loss. So training does not run ahead, however slow this thread is. The generation before
  // takes as many steps as the change needs: give the job kStepsWithoutEnd, so that it does not finish meanwhile.
  void train(const Assignment& assignment, std::int64_t steps);
  void resume();  // resumes halted workers

  // What their agent does once they train in this generation; the keys that are left in its store.
  [[nodiscard]] std::size_t forget_before(const Assignment& assignment);

  // Of a job that asks for one: without it this worker computes a step and does not vote.
  void lease(int worker, const Lease& lease);

  // This worker ends in the middle of a generation, as if its process were gone.
  void lose(int worker);
  void lose_all();

  // What was reported.
  [[nodiscard]] std::map<std::int64_t, double> losses() const;  // by step
  [[nodiscard]] WorkerReport last(int worker) const;
  [[nodiscard]] JobProgress progress() const;
  void wait_until(int worker, const std::function<bool(const WorkerReport&)>& is_so) const;

 private:
  struct Collector;
  void halt_after(std::int64_t generation, std::int64_t steps);
  void halt_nobody();

  std::string host_;
  std::unique_ptr<RendezvousServer> store_;
  std::unique_ptr<Collector> collector_;
  std::vector<std::unique_ptr<AssignmentMailbox>> mailboxes_;
  std::vector<std::thread> threads_;
};

// Returns the assignment of a generation in which all workers save the job and none trains.
Assignment releasing_assignment(const Assignment& job, std::int64_t number, const WorkerThreads& workers);

// The losses of each step when the job runs with this plan from its start to its end.
std::map<std::int64_t, double> losses_of(const Assignment& job, const Plan& plan);
// Expects the losses of one worker that trains the job undisturbed. `tolerance` is relative. At each loss of a worker a
// step may be rolled forward when the survivors meet, and that one is reported by nobody.
void expect_undisturbed(Assignment job, std::map<std::int64_t, double> losses, double tolerance,
                        std::size_t workers_lost = 0);

}  // namespace sailor::trainer::testing
