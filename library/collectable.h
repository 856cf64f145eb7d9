// SPDX-License-Identifier: Apache-2.0
// The board's memory health on the page of a C++ program that has an Exposer of prometheus-cpp's:
//
//   #include <jetmem/collectable.h>
//   auto board = std::make_shared<jetmem::Collectable>();
//   exposer.RegisterCollectable(board);
//
// Link with jetmem-collectable and prometheus-cpp-core.
#pragma once

#include <prometheus/collectable.h>

#include <string>
#include <utility>
#include <vector>

namespace jetmem {

class Collectable final : public prometheus::Collectable {
 public:
  // Of the jetmemd at this address, as `jetmem --daemon` takes it; empty: this machine's.
  explicit Collectable(std::string address = {}) : address_(std::move(address)) {}

  // What jetmemd has of the device now, without the metrics of jetmemd itself, and jetmem_up: 1
  // where it answered within three seconds, else 0 and nothing more. From any thread; throws
  // nothing but std::bad_alloc.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::string address_;
};

}  // namespace jetmem
