// FakeKueue: what Kueue does to the Workloads in a World, for one queue: it gives quota by flavor, the higher priority
// first, and takes it back when it is told to. It believes what the Workloads say, as Kueue does.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/model/workload.h"
#include "tests/operator/world.h"

namespace sailor::testing {

class FakeKueue {
 public:
  explicit FakeKueue(World& world);

  void add_flavor(const std::string& name, int quota, const Json& labels = Json::object());
  void set_quota(const std::string& flavor, int gpus) { quotas_[flavor] = gpus; }
  void add_priority(const std::string& name, int value);
  void admit();  // those that fit, as far as they fit
  void evict(const std::string& workload, const std::string& reason = "Preempted");
  void evict_beyond_quota();                                // the newest first
  [[nodiscard]] int used(const std::string& flavor) const;  // the quota that it counts as used
  [[nodiscard]] std::vector<Workload> workloads() const;    // the unfinished ones, the first of a job first
  [[nodiscard]] Workload workload(std::size_t index) const { return workloads().at(index); }
  [[nodiscard]] std::string condition(const std::string& workload, const std::string& type) const;  // "True Started"

 private:
  void reserve(const Workload& workload, const std::string& flavor, int gpus);
  void write(Json object);

  World& world_;
  std::map<std::string, int> quotas_;
};

}  // namespace sailor::testing
