// SPDX-License-Identifier: Apache-2.0
// How many file descriptors this process may open (ulimit -n; LimitNOFILE= of a unit), and what the
// daemon keeps of them for everything but HTTP connections.
#pragma once

#include <cstdint>
#include <string>

namespace jetmem {

// Files of sources that stay open, child processes and their pipes, the reader, history, log and
// event loop; with as many again to spare (a Jetson AGX Orin keeps about 110 open).
inline constexpr std::uint64_t kOwnDescriptors = 256;

struct DescriptorLimit {
  std::uint64_t soft = 0;  // in force
  std::uint64_t hard = 0;  // up to which a process may raise it
};

DescriptorLimit descriptor_limit();

// Raises the soft limit to `needed` where the hard limit allows it, else as far as it does; never
// lowers it. Returns the limit in force.
std::uint64_t raise_descriptor_limit(std::uint64_t needed);

// "the limit of 64 file descriptors is too low: at least 256 are needed; set LimitNOFILE=256 in the
// unit, or ulimit -n 256". Empty: `limit` is enough.
std::string descriptor_shortage(std::uint64_t limit, std::uint64_t needed = kOwnDescriptors);

}  // namespace jetmem
