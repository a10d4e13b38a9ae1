#include "operator/pages/page_routes.h"

#include <fmt/format.h>

#include "operator/pages/fleet_page.h"
#include "operator/pages/job_page.h"
#include "operator/pages/page_parts.h"

namespace sailor {
namespace {

using report::Element;

constexpr int kNotFound = 404;
constexpr int kUnavailable = 503;
constexpr std::string_view kJobsPath = "/jobs/";

net::HttpAnswer html(int status, std::string page) { return {status, std::move(page), "text/html; charset=utf-8"}; }

// A page that has nothing to show.
net::HttpAnswer apology(int status, const std::string& title, const std::string& sentence, Time now) {
  Element content("main");
  content.add(Element("h1").text(title)).add(Element("p").text(sentence));
  return html(status, operator_page(title, content, now));
}

// "/jobs/team/llama". A name that is none is of no job.
JobKey key_in(const std::string& path) {
  const std::string names = path.substr(kJobsPath.size());
  const std::size_t slash = names.find('/');
  if (slash == std::string::npos) return {"", names};
  return {names.substr(0, slash), names.substr(slash + 1)};
}

net::HttpAnswer answer_with_fleet(const Caches& caches, const PageSources& sources) {
  ShownFleet view;
  view.cluster = sources.cluster();
  for (const kube::Object& job : caches.jobs.all()) view.jobs.push_back(job_in_cluster(*job));
  return html(200, fleet_page(view, sources.clock()));
}

net::HttpAnswer answer_with_job(const JobKey& key, const Caches& caches, const PageSources& sources) {
  const kube::Object job = caches.jobs.find(key);
  if (job == nullptr) {
    return apology(kNotFound, "No such job",
                   fmt::format("There is no TrainingJob {} that this operator looks at.", to_string(key)),
                   sources.clock());
  }
  auto record = sources.record(key, kube::uid_of(*job));
  return html(200, job_page({.job = job_in_cluster(*job),
                             .record = record ? std::optional(*std::move(record)) : std::nullopt,
                             .cluster = sources.cluster()},
                            sources.clock()));
}

}  // namespace

std::vector<net::Route> page_routes(const Caches& caches, const PageSources& sources) {
  const auto page = [&caches, sources](std::string path, auto answer) {
    return net::Route{"GET", std::move(path), [&caches, sources, answer](const net::HttpCall& call) {
                        if (caches.are_synced()) return answer(call, caches, sources);
                        return apology(kUnavailable, "Not ready",
                                       "The operator has just started and still reads the cluster. Try again.",
                                       sources.clock());
                      }};
  };
  return {page("/", [](const net::HttpCall&, const Caches& all,
                       const PageSources& from) { return answer_with_fleet(all, from); }),
          page(std::string(kJobsPath) + "*", [](const net::HttpCall& call, const Caches& all, const PageSources& from) {
            return answer_with_job(key_in(call.path), all, from);
          })};
}

}  // namespace sailor
