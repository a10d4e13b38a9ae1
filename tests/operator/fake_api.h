// FakeApi: a Transport with an API server in memory. It implements objects, resource versions, server-side apply and
// preconditions, and it can inject faults.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "operator/kube/transport.h"

namespace sailor::testing {

using kube::HttpRequest;
using kube::HttpResponse;
using kube::Json;

struct Crash {};  // a fault throws it to end an operator in the middle of its work

class FakeApi : public kube::Transport {
 public:
  HttpResponse send(const HttpRequest& request) override;
  HttpResponse stream(const HttpRequest& request, const kube::ChunkSink& sink, std::stop_token stop) override;

  // These functions act for everybody but the operator. They do not count as writes and trigger no faults.
  Json put(const std::string& collection, Json object);  // creates or replaces the object
  void erase(const std::string& collection, const std::string& name);
  [[nodiscard]] std::vector<Json> all(const std::string& plural) const;
  [[nodiscard]] Json find(const std::string& plural, const std::string& name) const;  // null: none

  std::deque<HttpResponse> next_answers;  // the server gives these answers instead of carrying requests out
  // The server gives these answers to requests that create or apply objects of a kind, by its plural.
  std::map<std::string, HttpResponse> refusals;
  int crash_at_write = -1;           // the number of writes before the crash, counted from now; -1: no crash
  bool crash_after_commit = false;   // that write takes effect before the crash
  std::set<std::string> dead_nodes;  // a deleted pod on these nodes stays, because no kubelet confirms its end
  int writes = 0;
  std::vector<std::string> requests;  // the method and path of each request
  std::string watch_text;             // the body of a watch
  int watch_status = 200;

 private:
  HttpResponse carry_out(const HttpRequest& request, const std::string& path, bool& is_change);
  HttpResponse apply(const std::string& path, const Json& body, bool is_status, bool& is_change);
  HttpResponse merge_patch(const std::string& path, const Json& body);
  HttpResponse store(const std::string& path, Json object);

  std::map<std::string, Json> objects_;  // by path
  long version_ = 100;
};

}  // namespace sailor::testing
