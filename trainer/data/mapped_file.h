// MappedFile: a read-only memory-mapped file. The kernel reads each page when it is first accessed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/model/error.h"

namespace sailor::trainer {

class MappedFile {
 public:
  static Result<std::unique_ptr<MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}

  const std::byte* data_;
  std::size_t size_;
};

}  // namespace sailor::trainer
