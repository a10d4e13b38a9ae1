#include "trainer/step/operations.h"

#include "core/schedule/make_schedule.h"

namespace sailor::trainer {

std::vector<Operation> operations_of(const Assignment& assignment, const Role& role) {
  const Plan& plan = assignment.plan;
  Schedule schedule = assignment.schedule_times ? make_schedule(plan, *assignment.schedule_times)
                                                : make_schedule(plan, times_from_shares(plan), SchedulePolicy::kFlow);
  auto& stage = schedule.replicas.at(static_cast<std::size_t>(role.stage));
  return std::move(stage.at(static_cast<std::size_t>(role.replica)).operations);
}

}  // namespace sailor::trainer
