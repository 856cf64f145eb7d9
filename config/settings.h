// SPDX-License-Identifier: Apache-2.0
// The settings of jetmemd, typed. A field's initializer is its default; its key, range and
// description are its one declaration in config/schema.cc. To add a setting, add both.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/root/known_source.h"
#include "config/listen_address.h"

namespace jetmem {

std::string_view log_level_name(LogLevel level);

struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  bool operator==(const LogSettings&) const = default;
};

struct HttpSettings {
  std::vector<ListenAddress> listen{{.host = "127.0.0.1", .port = 10743}};  // empty: no server
  std::string web_config;  // a file of TLS and passwords (config/web/web_config.h); empty: neither
  std::vector<std::string> hosts;  // what clients may call this device, beside its addresses
  // For each address of its own: who fills the TCP port does not lock out the Unix socket.
  std::uint32_t max_connections = 64;
  std::uint32_t max_connections_per_client = 8;  // over TCP, likewise
  // From a connection's or a request's beginning to the end of its headers, TLS included.
  std::chrono::milliseconds request_timeout{10'000};
  bool operator==(const HttpSettings&) const = default;
};

struct ReaderSettings {
  std::chrono::milliseconds deadline{5'000};
  std::uint32_t max_wedged = 5;
  std::string socket = "/run/jetmem-reader/socket";  // used when it exists; empty: always spawn
  std::string program;                               // empty: the one beside jetmemd
  bool operator==(const ReaderSettings&) const = default;
};

// What a log's stream IDs are named by: the device tree's SoC, or one given.
enum class SocChoice : std::uint8_t {
  kAuto,
  kTegra210,
  kTegra186,
  kTegra194,
  kTegra234,
  kTegra264
};
std::string_view soc_choice_name(SocChoice choice);

// Whether the journal is followed for error lines of NVIDIA's libraries.
enum class ProcessLines : std::uint8_t { kAuto, kAlways, kNever };
std::string_view process_lines_name(ProcessLines choice);

struct KernelLogSettings {
  bool accept_user_records = false;
  SocChoice soc = SocChoice::kAuto;
  ProcessLines library_errors = ProcessLines::kAuto;  // auto: on a Jetson
  bool operator==(const KernelLogSettings&) const = default;
};

// Messages of the kernel's log that a site describes itself.
struct MessagesSettings {
  std::string directory = "/etc/jetmem/messages.d";  // *.yaml below it; a missing one is none
  bool operator==(const MessagesSettings&) const = default;
};

struct TegrastatsSettings {
  std::string program;  // empty: the one that NVIDIA installs, where it is
  bool operator==(const TegrastatsSettings&) const = default;
};

// jetmem-probe: what it may take, and when it must not run. How often it takes host memory and
// DMA-BUFs is sources.probe.interval.
struct ProbeSettings {
  std::uint64_t frame = 12U << 20;  // bytes of the largest buffer: one 4K NV12 frame
  bool cuda = true;
  std::chrono::milliseconds cuda_interval{std::chrono::hours(1)};
  // With CUDA only.
  std::uint64_t min_available = 512U << 20;
  std::uint64_t min_free = 256U << 20;
  std::chrono::milliseconds deadline{60'000};
  std::string socket = "/run/jetmem-probe/socket";  // used when it exists; empty: always spawn
  std::string program;                              // empty: the one beside jetmemd
  bool operator==(const ProbeSettings&) const = default;
};

// The rules by which the daemon evaluates what it sees, and how.
struct RulesSettings {
  bool shipped = true;
  std::string directory = "/etc/jetmem/rules.d";  // *.yaml below it; a missing one is none
  std::chrono::milliseconds interval{15'000};
  std::uint64_t memory = 2U << 20;  // bytes of the series' past
  std::string runbooks;             // empty: beside the documentation, where that is installed
  std::string runbook_directory() const;
  bool operator==(const RulesSettings&) const = default;
};

// What runs when an alert changes, beside the log entry. Nothing by default.
struct AlertsSettings {
  std::string program;  // run for each alert that fires or resolves; empty: none
  std::chrono::milliseconds deadline{30'000};
  bool operator==(const AlertsSettings&) const = default;
};

// The flight recorder: what was, on the device's own disk.
struct HistorySettings {
  bool enabled = true;
  std::string directory;  // empty: the state directory that systemd made
  std::chrono::milliseconds interval{10'000};
  std::uint64_t max_size = 64U << 20;  // bytes on disk, all of it
  std::vector<std::string> metrics;    // patterns beside the default ones; "-..." takes away
  bool operator==(const HistorySettings&) const = default;
};

// A bundle of everything that jetmem reads, written when a critical alert fires.
struct CaptureSettings {
  bool enabled = true;
  std::uint32_t keep = 5;                                     // bundles
  std::uint64_t max_size = 64U << 20;                         // bytes of all of them
  std::chrono::milliseconds interval{std::chrono::hours(1)};  // between two
  std::chrono::milliseconds history{std::chrono::hours(6)};   // of the past in a bundle
  std::chrono::milliseconds deadline{std::chrono::minutes(2)};
  bool operator==(const CaptureSettings&) const = default;
};

struct SourceSettings {
  std::string name;
  bool enabled = true;
  std::chrono::milliseconds interval{1000};
  bool operator==(const SourceSettings&) const = default;
};

struct Settings {
  LogSettings log;
  HttpSettings http;
  ReaderSettings reader;
  KernelLogSettings kernel_log;
  MessagesSettings messages;
  TegrastatsSettings tegrastats;
  ProbeSettings probe;
  RulesSettings rules;
  AlertsSettings alerts;
  HistorySettings history;
  CaptureSettings capture;
  std::vector<SourceSettings> sources;  // every known source, in the order the caller gave

  const SourceSettings* find_source(std::string_view name) const;
  bool operator==(const Settings&) const = default;
};

Settings default_settings(std::span<const KnownSource> sources);

}  // namespace jetmem
