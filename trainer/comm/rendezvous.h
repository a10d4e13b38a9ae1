// The rendezvous store: a key-value store in which the workers of a generation find each other. RendezvousServer is the
// store itself, which runs in an agent. Rendezvous is the connection of one worker to the store.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>

#include "core/model/error.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace sailor::trainer {

// Returns the prefix of all keys of one generation.
std::string rendezvous_prefix(const std::string& job_uid, std::int64_t generation);

// Reads and writes the keys under one prefix. Every call throws CommunicationError when the server is unreachable.
class Rendezvous {
 public:
  Rendezvous(const std::string& host, int port, std::string prefix, std::chrono::milliseconds timeout);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  void set(const std::string& key, const std::string& value);  // the value must not be empty
  // Waits until some worker has set the key, and returns its value. Returns nothing after the timeout.
  [[nodiscard]] std::optional<std::string> wait(const std::string& key, std::chrono::milliseconds timeout);
  // The same for several keys, with two requests in all.
  [[nodiscard]] std::optional<std::vector<std::string>> wait_for_all(const std::vector<std::string>& keys,
                                                                     std::chrono::milliseconds timeout);
  [[nodiscard]] bool is_set(const std::string& key);

  // The LibTorch store behind this object. LibTorch's backends exchange their addresses in it.
  [[nodiscard]] c10::intrusive_ptr<c10d::Store> store() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Serves the store as long as it lives. It listens on the given address only, so that several agents on one machine,
// each with an address of its own, can use the same port.
class RendezvousServer {
 public:
  static Result<std::unique_ptr<RendezvousServer>> listen(const std::string& host, int port);
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

  // Deletes the keys of all generations of the job before this one. The caller must know that all workers have
  // confirmed this generation, because then no worker reads older keys. Returns how many keys are left.
  Result<std::size_t> delete_generations_before(const std::string& job_uid, std::int64_t generation);

 private:
  RendezvousServer();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sailor::trainer
