// The planning service: what becomes of questions whose search is stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/reconcile/planning_service.h"

namespace sailor {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

PlanQuestion question_of(const std::string& job) {
  PlanQuestion question;
  question.job.key = {"research", job};
  return question;
}

// Searches begin when asked and end when stopped or let go; the test waits for what it needs to have happened.
class Search {
 public:
  Result<PlannedJob> run(const PlanQuestion& question, std::stop_token stop) {
    std::unique_lock lock(mutex_);
    begun_.push_back(question.job.key.name);
    changed_.notify_all();
    changed_.wait(lock, stop, [this] { return may_end_; });
    return fail(ErrorCode::kInfeasible, "no plan in a test");
  }
  void let_go() {
    const std::scoped_lock lock(mutex_);
    may_end_ = true;
    changed_.notify_all();
  }
  void note_answer() {
    const std::scoped_lock lock(mutex_);
    ++answers_;
    changed_.notify_all();
  }
  void wait_for_searches(std::size_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_.size() >= number; });
  }
  void wait_for_answers(int number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return answers_ >= number; });
  }
  std::vector<std::string> begun() {
    const std::scoped_lock lock(mutex_);
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::string> begun_;
  int answers_ = 0;
  bool may_end_ = false;
};

PlanningService::Search running(Search& search) {
  return
      [&search](const PlanQuestion& question, std::stop_token stop) { return search.run(question, std::move(stop)); };
}

TEST(PlanningService, AnswersAQuestionThatIsAskedAgainAfterItsSearchWasStopped) {
  Search search;
  PlanningService::Hooks hooks;
  hooks.answered = [&search](const JobKey&) { search.note_answer(); };
  PlanningService service(running(search), hooks, 1);
  const PlanQuestion question = question_of("a");
  service.ask(question);
  search.wait_for_searches(1);
  service.forget(question.job.key);
  service.ask(question);
  search.wait_for_searches(2);
  search.let_go();
  search.wait_for_answers(1);
  EXPECT_THAT(service.take_answers(question.job.key), SizeIs(1));
}

PlanQuestion urgent(PlanQuestion question) {
  question.is_urgent = true;
  return question;
}

PlanQuestion in_changed_cluster(PlanQuestion question) {
  question.cluster.pools.emplace_back();
  return question;
}

TEST(PlanningService, UrgentQuestionDoesNotWaitForRoutineSearches) {
  Search search;
  PlanningService service(running(search), {}, 1);
  service.ask(question_of("a"));
  search.wait_for_searches(1);
  for (const char* job : {"b", "c", "d"}) service.ask(question_of(job));
  service.ask(urgent(question_of("loss")));
  search.wait_for_searches(2);
  EXPECT_THAT(search.begun(), ElementsAre("a", "loss"));
}

// A service whose search for a routine question of job "a" is under way.
class SearchUnderWay : public ::testing::Test {
 protected:
  SearchUnderWay() {
    service_.ask(question_of("a"));
    search_.wait_for_searches(1);
  }
  static PlanningService::Hooks counting(Search& search) {
    PlanningService::Hooks hooks;
    hooks.answered = [&search](const JobKey&) { search.note_answer(); };
    return hooks;
  }
  [[nodiscard]] std::vector<PlanAnswer> answers() { return service_.take_answers({"research", "a"}); }

  Search search_;
  PlanningService service_{running(search_), counting(search_), 1};
};

TEST_F(SearchUnderWay, IsNotStoppedByAChangeOfTheCluster) {
  service_.ask(in_changed_cluster(question_of("a")));
  search_.let_go();
  search_.wait_for_answers(2);
  ASSERT_THAT(answers(), SizeIs(2));
  EXPECT_TRUE(answers()[0].is_overtaken);
  EXPECT_FALSE(answers()[1].is_overtaken);
}

TEST_F(SearchUnderWay, ItsAnswerIsNewOnce) {
  search_.let_go();
  search_.wait_for_answers(1);
  EXPECT_TRUE(answers().at(0).is_new);
  EXPECT_FALSE(answers().at(0).is_new);
}

TEST_F(SearchUnderWay, IsTheLastOneIfTheJobHasNoQuestionAnyMore) {
  service_.ask(in_changed_cluster(question_of("a")));
  service_.withdraw({"research", "a"});
  service_.ask(question_of("b"));
  search_.let_go();
  search_.wait_for_answers(2);
  EXPECT_THAT(search_.begun(), ElementsAre("a", "b"));
  EXPECT_FALSE(answers().at(0).is_overtaken);
}

TEST_F(SearchUnderWay, IsStoppedByAnUrgentQuestionOfItsJob) {
  service_.ask(urgent(question_of("a")));
  search_.wait_for_searches(2);  // the first search would not end otherwise
  search_.let_go();
  search_.wait_for_answers(1);
  EXPECT_TRUE(answers().at(0).question.is_urgent);
}

TEST(PlanningService, BeginsNoFurtherSearchOnceItIsAtItsEnd) {
  Search search;
  {
    PlanningService service(running(search), {}, 1);
    service.ask(question_of("a"));
    search.wait_for_searches(1);
    service.ask(question_of("b"));
    service.ask(question_of("c"));
  }
  EXPECT_THAT(search.begun(), ElementsAre("a"));
}

}  // namespace
}  // namespace sailor
