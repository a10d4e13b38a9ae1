// ProfileCache: the ModelProfiles of the cluster as one ProfileBook, built again when one of them changes.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "core/model/profile.h"
#include "operator/kube/store.h"

namespace sailor {

class ProfileCache {
 public:
  explicit ProfileCache(const kube::Store& store) : store_(store) {}

  void changed() { is_stale_ = true; }        // call it when a ModelProfile has changed
  std::shared_ptr<const ProfileBook> book();  // returns the same book until a profile changes

 private:
  const kube::Store& store_;
  std::atomic<bool> is_stale_ = true;
  std::mutex mutex_;
  std::shared_ptr<const ProfileBook> book_;
};

}  // namespace sailor
