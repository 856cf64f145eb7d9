// SPDX-License-Identifier: Apache-2.0
// Which process names have how much of nvmap's heaps.

#include <algorithm>
#include <string>
#include <vector>

#include "collectors/jetson/nvmap/parse.h"
#include "collectors/jetson/nvmap/source.h"
#include "collectors/storage.h"

namespace jetmem {
namespace nvmap {
namespace {

using Clients = std::vector<Nvmap::Client>;
using Group = Nvmap::Group;

// The sums of clients [begin, end), which are of one heap, by name and in the order of names.
void sum_by_name(const Clients& clients, std::size_t begin, std::size_t end,
                 std::vector<Group>& groups) {
  groups.clear();
  for (std::size_t i = begin; i < end; ++i) groups.push_back({i, clients[i].bytes});
  std::sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    return clients[a.client].name < clients[b.client].name;
  });
  std::size_t count = 0;
  for (const Group& group : groups) {
    if (count > 0 && clients[groups[count - 1].client].name == clients[group.client].name) {
      groups[count - 1].bytes += group.bytes;
    } else {
      groups[count++] = group;
    }
  }
  groups.resize(count);
}

// Leaves the kMaxNames that have most, in the order of names, and returns what the rest has.
std::uint64_t take_rest(const Clients& clients, std::vector<Group>& groups) {
  const auto by_name = [&](const Group& a, const Group& b) {
    return clients[a.client].name < clients[b.client].name;
  };
  std::sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : by_name(a, b);
  });
  std::uint64_t rest = 0;
  for (std::size_t i = kMaxNames; i < groups.size(); ++i) rest += groups[i].bytes;
  groups.resize(kMaxNames);
  std::sort(groups.begin(), groups.end(), by_name);
  return rest;
}

void sum_heap(Nvmap& out, std::size_t begin, std::size_t end, Refill<Nvmap::Process>& processes) {
  const Clients& clients = out.clients;
  sum_by_name(clients, begin, end, out.groups);
  bool has_rest = out.groups.size() > kMaxNames;
  std::uint64_t rest = has_rest ? take_rest(clients, out.groups) : 0;
  for (const Group& group : out.groups) {
    const Nvmap::Client& client = clients[group.client];
    // "other" is the name of the rest: a process of that name belongs there.
    if (client.name == "other") {
      rest += group.bytes;
      has_rest = true;
      continue;
    }
    Nvmap::Process& process = processes.add();
    process.heap = client.heap;
    process.name = client.name;
    process.bytes = group.bytes;
  }
  if (!has_rest) return;
  Nvmap::Process& process = processes.add();
  process.heap = clients[begin].heap;
  process.is_rest = true;
  process.bytes = rest;
}

}  // namespace

void sum_processes(Nvmap& out) {
  Refill<Nvmap::Process> processes(out.processes);
  const Clients& clients = out.clients;
  for (std::size_t i = 0; i < clients.size();) {
    const std::size_t begin = i;
    while (i < clients.size() && clients[i].heap == clients[begin].heap) ++i;
    const auto heap = std::find_if(out.heaps.begin(), out.heaps.end(), [&](const Nvmap::Heap& h) {
      return h.name == clients[begin].heap;
    });
    if (heap != out.heaps.end() && !heap->is_partial) sum_heap(out, begin, i, processes);
  }
}

}  // namespace nvmap

}  // namespace jetmem
