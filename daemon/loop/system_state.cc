// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/system_state.h"

#include <poll.h>
#include <systemd/sd-bus.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace jetmem {
namespace {

constexpr const char* kSystemBus = "unix:path=/run/dbus/system_bus_socket";

struct Reply {
  bool came = false;
  SystemState state = SystemState::kUnknown;
};

int on_reply(sd_bus_message* reply, void* data, sd_bus_error*) {
  auto* answer = static_cast<Reply*>(data);
  answer->came = true;
  const char* state = nullptr;
  if (sd_bus_message_is_method_error(reply, nullptr) > 0) return 0;
  if (sd_bus_message_enter_container(reply, 'v', "s") < 0) return 0;
  if (sd_bus_message_read(reply, "s", &state) < 0 || state == nullptr) return 0;
  const std::string_view name(state);
  if (name == "stopping") {
    answer->state = SystemState::kStopping;
  } else if (name == "running" || name == "degraded" || name == "starting" ||
             name == "initializing" || name == "maintenance") {
    answer->state = SystemState::kRunsOn;
  }
  return 0;
}

struct CloseBus {
  // Without flushing, which may wait for a bus that does not read.
  void operator()(sd_bus* bus) const {
    sd_bus_close(bus);
    sd_bus_unref(bus);
  }
};

}  // namespace

SystemState query_system_state(std::chrono::milliseconds timeout, const std::string& address) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  sd_bus* opened = nullptr;
  if (sd_bus_new(&opened) < 0) return SystemState::kUnknown;
  const std::unique_ptr<sd_bus, CloseBus> bus(opened);
  const char* given = std::getenv("DBUS_SYSTEM_BUS_ADDRESS");
  const char* at = given != nullptr ? given : kSystemBus;
  if (!address.empty()) at = address.c_str();
  Reply answer;
  int ok = sd_bus_set_address(opened, at);
  if (ok >= 0) ok = sd_bus_set_bus_client(opened, 1);
  if (ok >= 0) ok = sd_bus_start(opened);
  if (ok >= 0) {
    ok = sd_bus_call_method_async(opened, nullptr, "org.freedesktop.systemd1",
                                  "/org/freedesktop/systemd1", "org.freedesktop.DBus.Properties",
                                  "Get", on_reply, &answer, "ss",
                                  "org.freedesktop.systemd1.Manager", "SystemState");
  }
  // Not sd_bus_call(), which waits for the bus to let us in without an end.
  while (ok >= 0 && !answer.came) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left <= std::chrono::milliseconds(0)) break;
    ok = sd_bus_process(opened, nullptr);
    if (ok != 0) continue;  // there is more to do, or an error
    const int events = sd_bus_get_events(opened);
    if (events < 0) break;
    pollfd ready{sd_bus_get_fd(opened), static_cast<short>(events), 0};
    // Where connecting has a time of its own to look again, this is soon enough.
    ::poll(&ready, 1, static_cast<int>(std::min<long>(left.count(), 50)));
  }
  return answer.came ? answer.state : SystemState::kUnknown;
}

}  // namespace jetmem
