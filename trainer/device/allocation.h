// What to do where memory may run out and the work can be given up.
#pragma once

#include <new>
#include <optional>
#include <string>

#include <c10/util/Exception.h>

namespace sailor::trainer {

// Calls work(). Returns nothing if it ends, or says why if memory cannot be allocated. LibTorch throws c10::Error then,
// on CPUs and GPUs; other errors of LibTorch are treated alike.
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
