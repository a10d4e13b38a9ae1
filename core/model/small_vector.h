// SmallVector: a vector that has memory for a few elements in itself, so that short ones are copied without the heap.
#pragma once

// GCC takes the memory inside of a vector for all that it can have.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif
#include <boost/container/small_vector.hpp>
#pragma GCC diagnostic pop

namespace sailor {

template <class Element, std::size_t kInside>
using SmallVector = boost::container::small_vector<Element, kInside>;

}  // namespace sailor
