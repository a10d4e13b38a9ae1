// What an applier writes in which order.
#include "operator/reconcile/applier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/fake_api.h"
#include "tests/operator/small_plan.h"

namespace sailor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ApplierOfJob : public ::testing::Test {
 protected:
  ApplierOfJob() { observation_.job.key = {"default", "job"}; }

  // Applies the actions. Returns the requests that had been sent when the claims of the decision were complete.
  std::vector<std::string> requests_before_claimed(std::vector<Action> actions) {
    std::vector<std::string> before = {"never"};
    Decision decision;
    decision.actions = std::move(actions);
    EXPECT_TRUE(applier_.apply(observation_, decision, [&] { before = server_.requests; }));
    return before;
  }
  static WriteRecord record() {
    GenerationRecord record;
    record.job_uid = "uid";
    record.generation = record.last_issued = 1;
    record.plan = plan_of({1});
    return {record};
  }
  static CreatePod pod() { return {{{"metadata", {{"name", "job-1"}, {"namespace", "default"}}}}}; }

  FakeApi server_;
  kube::Api api_{server_};
  Caches caches_;
  PodRefusals refusals_;
  SecuredJobs secured_jobs_;
  Observation observation_;
  Applier applier_{api_, caches_, refusals_, secured_jobs_, {}};
};

TEST_F(ApplierOfJob, LetsOtherJobsBeDecidedOnceTheRecordIsWritten) {
  EXPECT_THAT(requests_before_claimed({record(), pod()}), ElementsAre(HasSubstr("POST")))
      << "the pod claims nothing that the record does not claim";
  EXPECT_EQ(server_.requests.size(), 2U);
}

TEST_F(ApplierOfJob, LetsOtherJobsBeDecidedAtOnceIfItClaimsNothing) {
  EXPECT_THAT(requests_before_claimed({pod()}), ElementsAre());
}

}  // namespace
}  // namespace sailor::testing
