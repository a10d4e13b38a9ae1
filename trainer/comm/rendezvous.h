// Rendezvous: the store of an agent at which the workers of a generation meet, seen from a worker; and its host.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/model/error.h"

namespace c10d {
class Store;
}

namespace sailor::trainer {

// The prefix of a generation's keys.
std::string store_prefix(const std::string& job_uid, std::int64_t generation);

// Keys of one generation, under a prefix of their own. Throws PeerLost when the store is gone.
class Rendezvous {
 public:
  Rendezvous(const std::string& host, int port, std::string prefix, std::chrono::milliseconds timeout);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  void set(const std::string& key, const std::string& value);  // not empty
  // The key's value once somebody has set it; nothing if nobody has within the timeout.
  [[nodiscard]] std::optional<std::string> wait(const std::string& key, std::chrono::milliseconds timeout);

 private:
  friend class GroupFactory;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Holds the store as long as it lives. It listens on the given address only, so that several agents on one machine,
// each with its own, may use the same port.
class RendezvousHost {
 public:
  static Result<std::unique_ptr<RendezvousHost>> listen(const std::string& host, int port);
  ~RendezvousHost();

  // Deletes the keys of the job's generations before this one, which nobody asks for any more once it has been
  // confirmed. How many keys are left.
  Result<std::size_t> forget_before(const std::string& job_uid, std::int64_t generation);
  RendezvousHost(const RendezvousHost&) = delete;
  RendezvousHost& operator=(const RendezvousHost&) = delete;

 private:
  RendezvousHost();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sailor::trainer
