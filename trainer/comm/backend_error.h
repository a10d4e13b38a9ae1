// Translates the exceptions of LibTorch's communication backends. They say in many ways that a peer is lost, and in
// some of the same types that this worker itself has failed.
#pragma once

#include <exception>
#include <string>

namespace sailor::trainer {

// Returns the first line of a backend's error message, without the source location at its beginning.
std::string first_line(const std::string& text);

// Returns true for out of memory, errors of the GPU and wrong use of the backend. Everything else may be due to a peer.
bool is_own_failure(const std::exception& error);

// Throws the error as CannotCommunicate if it is an own failure, else as CommunicationError. The message has one line.
[[noreturn]] void throw_translated(const std::string& doing, const std::exception& error);

// Runs an action of a backend, and translates its exceptions.
template <class Action>
auto translate_errors(const std::string& doing, Action action) {
  try {
    return action();
  } catch (const std::exception& error) {
    throw_translated(doing, error);
  }
}

}  // namespace sailor::trainer
