// Runs work that can be given up if memory runs out.
#pragma once

#include <new>
#include <optional>
#include <string>

#include <c10/util/Exception.h>

namespace sailor::trainer {

// Calls work(). Returns nothing if it succeeds, or says why memory could not be allocated. LibTorch throws c10::Error
// then, on CPUs and GPUs. Any other c10::Error is reported in the same way. Other exceptions pass through.
template <class Work>
std::optional<std::string> allocation_failure(Work work) {
  try {
    work();
    return std::nullopt;
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::bad_alloc& error) {
    return error.what();
  }
}

}  // namespace sailor::trainer
