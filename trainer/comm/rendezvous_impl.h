// What the files of this folder share of LibTorch's store. Included by them only.
#pragma once

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "trainer/comm/rendezvous.h"

namespace sailor::trainer {

struct Rendezvous::Impl {
  c10::intrusive_ptr<c10d::TCPStore> server;
  c10::intrusive_ptr<c10d::PrefixStore> store;
};

}  // namespace sailor::trainer
