// Reads the JSON that the API server sends.
#pragma once

#include <string_view>

#include "operator/kube/object.h"

namespace sailor::kube {

// Leaves out the `managedFields` of all objects. The operator does not read them, and they may be longer than the rest.
// If the text is not JSON, throws, or returns a discarded value.
Json parse(std::string_view text, bool throws = true);

}  // namespace sailor::kube
