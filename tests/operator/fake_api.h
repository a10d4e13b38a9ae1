// FakeApi: an API server in memory, as a Transport: objects, resource versions, server-side apply, preconditions,
// faults.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "operator/kube/transport.h"

namespace sailor::testing {

using kube::HttpRequest;
using kube::HttpResponse;
using kube::Json;

struct Crash {};  // what a fault throws to end an operator in the middle of its work

class FakeApi : public kube::Transport {
 public:
  HttpResponse send(const HttpRequest& request) override;
  HttpResponse stream(const HttpRequest& request, const kube::ChunkSink& sink, std::stop_token stop) override;

  // As somebody else than the operator would: not counted, no faults.
  Json put(const std::string& collection, Json object);  // replaces what is there
  void erase(const std::string& collection, const std::string& name);
  [[nodiscard]] std::vector<Json> all(const std::string& plural) const;
  [[nodiscard]] Json find(const std::string& plural, const std::string& name) const;  // null: none

  std::deque<HttpResponse> next_answers;  // given instead of carrying requests out
  int crash_at_write = -1;                // counted from now; -1: never
  bool crash_after_commit = false;
  std::set<std::string> dead_nodes;  // pods there stay, marked as deleted: no kubelet confirms their end
  int writes = 0;
  std::vector<std::string> requests;  // method and path
  std::string watch_text;             // what a watch sends
  int watch_status = 200;

 private:
  HttpResponse carry_out(const HttpRequest& request, const std::string& path, bool& is_change);
  HttpResponse apply(const std::string& path, const Json& body, bool is_status, bool& is_change);
  HttpResponse store(const std::string& path, Json object);

  std::map<std::string, Json> objects_;  // by path
  long version_ = 100;
};

}  // namespace sailor::testing
