// SPDX-License-Identifier: Apache-2.0
// A program with metrics of its own, and the board's beside them: example 0.0.0.0:9100 [ADDRESS OF
// JETMEMD]
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <csignal>
#include <iostream>
#include <memory>

#include "library/collectable.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: " << argv[0] << " HOST:PORT [ADDRESS OF JETMEMD]\n";
    return 64;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  prometheus::Exposer exposer(argv[1]);
  const auto registry = std::make_shared<prometheus::Registry>();
  prometheus::BuildGauge()
      .Name("example_frames_in_flight")
      .Help("Frames being processed.")
      .Register(*registry)
      .Add({})
      .Set(3);
  exposer.RegisterCollectable(registry);

  const auto board = std::make_shared<jetmem::Collectable>(argc > 2 ? argv[2] : "");
  exposer.RegisterCollectable(board);

  int signal = 0;
  sigwait(&ends, &signal);
}
