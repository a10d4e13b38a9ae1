#include "operator/profile_cache.h"

#include "core/log/log.h"
#include "core/manifest/manifest.h"

namespace sailor {

std::shared_ptr<const ProfileBook> ProfileCache::book() {
  const std::scoped_lock lock(mutex_);
  if (book_ != nullptr && !is_stale_.exchange(false)) return book_;
  is_stale_ = false;
  auto book = std::make_shared<ProfileBook>();
  for (const kube::Object& object : store_.all()) {
    auto profile = profile_from_manifest(*object);
    if (profile) {
      book->add(std::move(*profile));
    } else {
      log_warning("model profile ignored", {{"profile", kube::name_of(*object)}, {"reason", profile.error().message}});
    }
  }
  book_ = std::move(book);
  return book_;
}

}  // namespace sailor
