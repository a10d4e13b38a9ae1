// Seeds: the drafts that a search starts from.
#pragma once

#include <functional>
#include <vector>

#include "planner/problem/draft.h"

namespace sailor {

using Visit = std::function<void(const Draft&)>;

// Drafts of so many stages that take at least so long, on GPUs of at least that price.
struct EvenOutlook {
  int microbatch_size = 1;
  int stages = 1;
  double seconds = 0;
  DollarsPerHour price;
};
using IsHopeless = std::function<bool(const EvenOutlook&)>;

// Every microbatch size, number of stages and number of replicas, over pools in several orders: fastest first, slowest
// first, the fastest few types only, one type only, and over each order of regions. Layers are split evenly, every
// stage has the same number of replicas, groups have the smallest degree that holds their layers. What is hopeless is
// not made.
void visit_even_seeds(const World& world, const IsHopeless& is_hopeless, const Visit& visit);

// Every GPU of such a choice of pools in use: stages of about equal speed, layers in proportion to it.
void visit_uneven_seeds(const World& world, const Visit& visit);

}  // namespace sailor
