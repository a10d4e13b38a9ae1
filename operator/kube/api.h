// Api: the operator's client of the API server. It retries a request that failed for a transient reason, if repeating
// it is harmless.
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
  std::string labels;          // a label selector; empty: any labels
  std::string fields;          // a field selector; empty: any fields
};

// The part of a collection's history that a watch reports.
struct WatchSpan {
  std::string version;            // the watch reports the changes after this resourceVersion
  std::chrono::seconds duration;  // the server ends the watch after this time
};

struct ObjectList {
  std::vector<Json> items;
  std::string version;  // the resourceVersion of the list; a watch continues from it
};

// Returns the part of an object that its readers need, or nothing if they need nothing of it.
using Trim = std::function<std::optional<Json>(Json)>;
inline std::optional<Json> keep_all(Json object) { return object; }

// The defaults suit a program that has no metrics and takes no part in a leader election.
struct ApiHooks {
  // Called after each attempt with its HTTP method ("WATCH" for a watch), the HTTP status (0: there was no answer) and
  // its duration (0 for a watch).
  std::function<void(const std::string& method, int code, double seconds)> requested = [](const auto&...) {};
  // Called before each write. If it returns false, because the operator has lost the leadership, the write is not sent.
  std::function<bool()> may_write = [] { return true; };
  // Called to wait between two attempts; empty: std::this_thread::sleep_for.
  std::function<void(std::chrono::milliseconds)> sleep;
};

// A function repeats its request after a transient error (ApiError::is_transient()), up to four attempts. It gives up
// earlier if the server asks to wait for more than a second: the caller then waits, without keeping its thread
// (ApiError::retry_after). create() refuses an object with fields that its kind does not have. create(), replace()
// and replace_status() repeat a request only after a 429, because the server has not carried out such a request.
// watch() never repeats its request.
class Api {
 public:
  explicit Api(Transport& transport, ApiHooks hooks = {});

  [[nodiscard]] ApiResult<Json> get(const Resource& resource, const JobKey& key);
  // Passes each object through `trim` as soon as its page is read, so that only what is kept of it stays in memory.
  [[nodiscard]] ApiResult<ObjectList> list(const Resource& resource, const Selection& selection,
                                           const Trim& trim = keep_all);
  // apply() and apply_status() use server-side apply. metadata.uid and metadata.resourceVersion in the object are
  // preconditions. The functions that write an object return it as the server has stored it.
  [[nodiscard]] ApiResult<Json> apply(const Resource& resource, const Json& object);
  [[nodiscard]] ApiResult<Json> apply_status(const Resource& resource, const Json& object);
  [[nodiscard]] ApiResult<Json> create(const Resource& resource, const Json& object);
  // Changes the fields that `object` has, and no others (a JSON merge patch). Fails if the object does not exist.
  [[nodiscard]] ApiResult<Json> merge(const Resource& resource, const Json& object);
  // Fails with a conflict unless the stored object still has the resourceVersion of `object`.
  [[nodiscard]] ApiResult<Json> replace(const Resource& resource, const Json& object);
  // The same for the status alone.
  [[nodiscard]] ApiResult<Json> replace_status(const Resource& resource, const Json& object);
  // Deletes the object if it still has this UID; empty: whatever its UID is. Succeeds if the object is gone.
  [[nodiscard]] ApiResult<void> remove(const Resource& resource, const JobKey& key, const std::string& uid);

  // Calls the sink with each event until the server ends the watch or a stop is requested. After an ERROR event the
  // watch fails with the Status that the event contains.
  [[nodiscard]] ApiResult<void> watch(const Resource& resource, const Selection& selection, const WatchSpan& span,
                                      const std::function<void(WatchEvent)>& sink, std::stop_token stop);

 private:
  ApiResult<Json> parsed(const HttpRequest& request, bool repeatable);
  ApiResult<HttpResponse> exchange(const HttpRequest& request, bool repeatable);
  ApiResult<HttpResponse> try_once(const HttpRequest& request);
  ApiResult<Json> patch(const std::string& path, const Json& object);
  ApiResult<Json> put(const std::string& path, const Json& object);

  Transport& transport_;
  ApiHooks hooks_;
};

}  // namespace sailor::kube
