// Api: the requests of the operator to the API server, with retries where a repetition is harmless.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "operator/kube/api_error.h"
#include "operator/kube/backoff.h"
#include "operator/kube/object.h"
#include "operator/kube/resource.h"
#include "operator/kube/transport.h"
#include "operator/kube/watch_event.h"

namespace sailor::kube {

inline constexpr const char* kFieldManager = "sailor-operator";

struct Selection {
  std::string namespace_name;  // empty: all namespaces
  std::string labels;          // label selector
  std::string fields;          // field selector
};

// From which version of a collection on a watch tells what happens, and for how long.
struct WatchSpan {
  std::string version;
  std::chrono::seconds duration;
};

struct ObjectList {
  std::vector<Json> items;
  std::string version;  // from which a watch goes on
};

// What Api needs besides a transport; the defaults are what a program without metrics and leadership wants.
struct ApiHooks {
  std::function<void(const std::string& method, int code, double seconds)> requested = [](const auto&...) {};
  std::function<bool()> may_write = [] { return true; };  // asked before every write: false once leadership is lost
  std::function<void(std::chrono::milliseconds)> sleep;   // between tries; absent: this_thread::sleep_for
};

class Api {
 public:
  explicit Api(Transport& transport, ApiHooks hooks = {});

  [[nodiscard]] ApiResult<Json> get(const Resource& resource, const JobKey& key);
  [[nodiscard]] ApiResult<ObjectList> list(const Resource& resource, const Selection& selection);
  // Server-side apply. metadata.uid and metadata.resourceVersion in the object are preconditions.
  [[nodiscard]] ApiResult<Json> apply(const Resource& resource, const Json& object);
  [[nodiscard]] ApiResult<Json> apply_status(const Resource& resource, const Json& object);
  [[nodiscard]] ApiResult<Json> create(const Resource& resource, const Json& object);
  [[nodiscard]] ApiResult<Json> replace(const Resource& resource, const Json& object);  // with its resourceVersion
  // Only if it still has this UID; an object that is gone already is no error.
  [[nodiscard]] ApiResult<void> remove(const Resource& resource, const JobKey& key, const std::string& uid);

  // Calls the sink for every event until the server ends the watch, or a stop. An ERROR event ends it with its Status.
  [[nodiscard]] ApiResult<void> watch(const Resource& resource, const Selection& selection, const WatchSpan& span,
                                      const std::function<void(WatchEvent)>& sink, std::stop_token stop);

 private:
  ApiResult<Json> parsed(const HttpRequest& request, bool repeatable);
  ApiResult<HttpResponse> exchange(const HttpRequest& request, bool repeatable);
  ApiResult<HttpResponse> try_once(const HttpRequest& request);
  ApiResult<Json> patch(const std::string& path, const Json& object);

  Transport& transport_;
  ApiHooks hooks_;
};

}  // namespace sailor::kube
