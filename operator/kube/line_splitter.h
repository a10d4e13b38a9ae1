// LineSplitter: cuts a stream of chunks into lines. A watch sends one JSON object per line.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sailor::kube {

class LineTooLong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class LineSplitter {
 public:
  // feed() throws LineTooLong for a line that is longer than the limit. The server never sends one, because etcd does
  // not store an object above 1.5 MB.
  explicit LineSplitter(std::size_t limit = 16U << 20U) : limit_(limit) {}

  // Calls the sink with each line that the chunk completes, without its end ("\n" or "\r\n"). Skips empty lines.
  void feed(std::string_view chunk, const std::function<void(std::string_view)>& sink) {
    for (std::size_t end = chunk.find('\n'); end != std::string_view::npos; end = chunk.find('\n')) {
      take(chunk.substr(0, end));
      chunk.remove_prefix(end + 1);
      std::string line = std::move(pending_);  // cleared first, because the sink may throw
      pending_.clear();
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) sink(line);
    }
    take(chunk);
  }

 private:
  void take(std::string_view part) {
    if (pending_.size() + part.size() > limit_) throw LineTooLong("a line of a watch exceeds its limit");
    pending_ += part;
  }

  std::size_t limit_;
  std::string pending_;
};

}  // namespace sailor::kube
