// search_again(): further searches after that with all pools. Local search starts from few plans, and which plans these
// are depends on facts that should not matter: a pool that no good plan uses, or the order of the pools. So the search
// runs again with the pools in the opposite order, and with only those that the best plan uses. It keeps the best
// answer, so no answer becomes worse.
#pragma once

#include <functional>
#include <span>

#include "planner/search/search.h"

namespace sailor {

// Searches with these pools only, in this order, and adds the answers to those of the first search.
using SearchWithPools = std::function<void(std::span<const int> pools)>;

// `search` has run. Does nothing if it searched everything, or if GPUs are slow: most of their pools are parts of one.
void search_again(const Search& search, const SearchWithPools& search_with_pools);

}  // namespace sailor
