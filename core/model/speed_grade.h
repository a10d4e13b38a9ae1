// Speed grades: how much slower than the others of its type a GPU computes. A grade stands for a range of measurements,
// so that noise does not change the planner's question, and few grades mean few kinds of GPUs.
#pragma once

namespace sailor {

// GPUs that are slower than this grade are of no use: the slowdown of grade 12 is 14.6.
inline constexpr int kSlowestGrade = 12;

// The time of a pass on a GPU of this grade over its time on a GPU of grade 0: 1.25 to the power of the grade.
// 0 <= grade <= kSlowestGrade.
double slowdown_of(int grade);

// The least grade that is at least as slow, so that a plan expects no more of the GPU than it does. `slowdown` is at
// least 1. Above kSlowestGrade if no grade is so slow.
int grade_of(double slowdown);

}  // namespace sailor
