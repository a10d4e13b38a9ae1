// Translates the exceptions of LibTorch's communication backends. They say in many ways that a peer is lost, and in
// some of the same types that this worker itself has failed.
#pragma once

#include <exception>
#include <string>

namespace sailor::trainer {

// Returns the first line of a backend's error message, without the source location at its beginning.
std::string first_line(const std::string& text);

// Much of what LibTorch throws has no type of its own. What such an exception means depends on what was done: a call
// that starts an exchange checks its arguments, but connecting and waits fail so because of a peer.
enum class UntypedErrors { kMeanLostPeer, kMeanWrongArguments };

// Throws the error as CannotCommunicate if it is out of memory, an error of the GPU or wrong use of the backend. Throws
// everything else, which may be due to a peer, as CommunicationError. The message has one line.
[[noreturn]] void throw_translated(const std::string& doing, const std::exception& error, UntypedErrors untyped);

// Returns what `action` returns, and translates the exceptions that it throws. The action connects, or waits for an
// exchange. `doing` says so, for the message.
template <class Action>
auto translate_errors(const std::string& doing, Action action) {
  try {
    return action();
  } catch (const std::exception& error) {
    throw_translated(doing, error, UntypedErrors::kMeanLostPeer);
  }
}

}  // namespace sailor::trainer
