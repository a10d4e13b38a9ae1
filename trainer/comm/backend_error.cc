#include "trainer/comm/backend_error.h"

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <typeinfo>

#include <c10/util/Exception.h>

#include "trainer/comm/cannot_communicate.h"
#include "trainer/comm/communication_error.h"

namespace sailor::trainer {
namespace {

template <class... Types>
bool is_one_of(const std::exception& error) {
  return (... || (dynamic_cast<const Types*>(&error) != nullptr));
}

template <std::size_t n>
bool contains_one_of(std::string_view text, const std::array<std::string_view, n>& parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

// NCCL's names of its own failures, as LibTorch writes them. The other names (system, internal and remote errors) also
// stand for a connection that broke.
constexpr std::array<std::string_view, 3> kOwnFailuresOfNccl = {"ncclInvalidUsage", "ncclInvalidArgument",
                                                                "ncclUnhandledCudaError"};

bool is_own_failure(const std::exception& error, UntypedErrors untyped) {
  if (typeid(error) == typeid(c10::Error)) return untyped == UntypedErrors::kMeanWrongArguments;
  if (is_one_of<c10::DistError>(error)) return contains_one_of(error.what(), kOwnFailuresOfNccl);
  return is_one_of<c10::Error, std::bad_alloc, std::logic_error>(error);
}

}  // namespace

// Gloo's messages begin with their source location, "[.../pair.cc:547] ", which does not help our readers.
std::string first_line(const std::string& text) {
  const auto end_of_place = text.starts_with('[') ? text.find("] ") : std::string::npos;
  const std::size_t begin = end_of_place == std::string::npos ? 0 : end_of_place + 2;
  return text.substr(begin, text.find('\n') - begin);
}

void throw_translated(const std::string& doing, const std::exception& error, UntypedErrors untyped) {
  const std::string message = doing + ": " + first_line(error.what());
  if (is_own_failure(error, untyped)) throw CannotCommunicate(message);
  throw CommunicationError(message);
}

}  // namespace sailor::trainer
