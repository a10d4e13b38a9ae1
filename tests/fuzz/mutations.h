// Random changes of a document, for tests of what reads foreign input.
#pragma once

#include <random>
#include <string>

#include <nlohmann/json.hpp>

namespace sailor::testing {

using Random = std::mt19937;

// Replaces, removes, repeats or moves a value of the document: the result is JSON whose shape is nearly right.
nlohmann::json mutated(nlohmann::json document, Random& random);

// Flips, removes, repeats or inserts bytes: the result is hardly ever JSON.
std::string mutated(std::string text, Random& random);

}  // namespace sailor::testing
