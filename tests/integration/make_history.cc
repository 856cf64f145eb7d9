// SPDX-License-Identifier: Apache-2.0
// Makes a history file for tests of commands: two hours of a device that leaks, with a restart and
// a counter that begins anew.
//
//   make_history FILE

#include <chrono>
#include <cmath>
#include <vector>

#include "tests/history_maker.h"

namespace {

using namespace std::chrono_literals;
using jetmem::HistoryStore;
using jetmem::Nanoseconds;

constexpr Nanoseconds kBegin = 1795183200s;  // 2026-11-20 14:00:00 UTC
constexpr double kMiB = 1 << 20;

void write_boot(HistoryStore& store, const char* boot_id, Nanoseconds wall, int steps) {
  const Nanoseconds boot_begin = 100s;
  const jetmem::WallSeen seen{boot_begin, wall - boot_begin, jetmem::WallTrust::kSynced};
  const auto boot = *jetmem::or_exit("begin_boot", store.begin_boot(boot_id, seen));
  for (int done = 0; done < steps; done += 60) {
    jetmem::RawChunk chunk;
    std::vector<double> available;
    std::vector<double> used;
    std::vector<double> kills;
    for (int i = done; i < done + 60; ++i) {
      chunk.steps.push_back(boot_begin + i * 10s);
      available.push_back((4096 - 2.0 * i + 40 * std::sin(i / 20.0)) * kMiB);
      used.push_back(std::min(1.0, 0.2 + i / 1000.0));
      kills.push_back(i / 50);
    }
    chunk.columns = {{"jetmem_meminfo_MemAvailable_bytes", false, available},
                     {R"(jetmem_cma_used_ratio{area="linux,cma"})", false, used},
                     {"jetmem_vmstat_oom_kill_total", true, kills}};
    std::vector<jetmem::EventRecord> events;
    if (done == 60) {
      events.push_back(jetmem::event_of(jetmem::EventWhat::kKernel, "oom_kill", "error",
                                        boot_begin + 600s, "camera_app",
                                        "camera_app (pid 4711) was killed"));
      events.back().boot = boot;
    }
    jetmem::or_exit("write", store.write(boot, &chunk, events));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto store = jetmem::open_history(argv[1]);
  write_boot(*store, "11111111-1111-4111-8111-111111111111", kBegin, 360);
  write_boot(*store, "22222222-2222-4222-8222-222222222222", kBegin + 80min, 240);
}
