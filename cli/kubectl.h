// Kubectl: runs the user's kubectl, which knows the cluster and how to sign in to it. So this program may do in the
// cluster what the user may, and nothing else.
#pragma once

#include <string>
#include <vector>

#include "core/model/error.h"
#include "operator/kube/object.h"

namespace sailor::cli {

struct KubectlOptions {
  std::string name_space;  // empty: that of kubectl's context
  std::string context;     // empty: kubectl's own, like the next one
  std::string kubeconfig;
};

class Kubectl {
 public:
  explicit Kubectl(KubectlOptions options) : options_(std::move(options)) {}

  // Returns what `kubectl ARGUMENTS` writes to standard output. An error contains what it says; its code is kNotFound
  // if the cluster does not have the object, kForbidden if the user may not see it, and kUnavailable otherwise.
  [[nodiscard]] Result<std::string> run(const std::vector<std::string>& arguments) const;

  // Returns the objects that `kubectl get ARGUMENTS` finds.
  [[nodiscard]] Result<std::vector<kube::Object>> get(std::vector<std::string> arguments) const;

  // Replaces this program by kubectl. Returns only if that fails.
  [[nodiscard]] Error become(const std::vector<std::string>& arguments) const;

 private:
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& arguments) const;

  KubectlOptions options_;
};

}  // namespace sailor::cli
