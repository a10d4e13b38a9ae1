// PodNetwork: a network with an address of its own for each pod, in which paths between pods can be cut. It lies in
// network namespaces of Linux: nothing of the machine's own network changes, and all is gone with the processes in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sailor::trainer::testing {

class PodNetwork {
 public:
  // The calling thread is in it from now on, and reaches all pods.
  PodNetwork();
  ~PodNetwork();  // the thread is back where it was, if it may
  PodNetwork(const PodNetwork&) = delete;
  PodNetwork& operator=(const PodNetwork&) = delete;

  // Why there can be no such network here, as the user may make none or the program `ip` is missing; empty: there is
  // one.
  [[nodiscard]] const std::string& fault() const { return fault_; }

  // What starts the pod's processes, with the pod's address; on a thread in the pod's own namespace.
  void add_pod(const std::function<void(const std::string& host)>& start);

  // From now on nothing from one of these pods, by number, arrives at another of them; nobody is told.
  void cut_between(const std::vector<int>& pods);

  // From now on the pod, by number, receives no more than this.
  void limit_rate_to(int pod, int megabytes_per_second);

 private:
  int home_ = -1;  // the namespace that the thread came from
  int pods_ = 0;
  std::string fault_;
};

}  // namespace sailor::trainer::testing
