// SPDX-License-Identifier: Apache-2.0
// A function of the test in place of a program, with the socket that the program is given.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/spawn.h"

namespace jetmem {

class ForkSpawner : public Spawner {
 public:
  explicit ForkSpawner(std::function<void(int)> run) : run_(std::move(run)) {}
  Result<Child> spawn(const SpawnRequest& request) override {
    argv.push_back(request.argv);
    const pid_t pid = ::fork();
    if (pid == 0) {
      run_(request.descriptors.at(0).first);
      ::_exit(0);
    }
    return Child{pid, open_pidfd(pid)};
  }
  std::vector<std::vector<std::string>> argv;  // of each start

 private:
  std::function<void(int)> run_;
};

}  // namespace jetmem
