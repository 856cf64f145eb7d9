// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/decode/drives.h"

#include <algorithm>

#include "base/text/text.h"
#include "collectors/kernel_log/event/attention.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::string_view kUnknownPort = "?";

// Up to `end`, which is taken too; empty where there is none.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return {};
  const std::string_view out = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return out;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_disk_name(std::string_view name) {
  if (take_prefix(name, "mmcblk")) return all_digits(name);
  return take_prefix(name, "sd") && !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

void Drives::line(std::string_view text) {
  ++lines_;
  if (text.starts_with("scsi")) return scsi_line(text);
  if (text.starts_with("sd ")) return disk_line(text);
  if (text.starts_with("mmc")) return card_line(text);
  // A command to a drive that the kernel gave up or deleted.
  if (take_prefix(text, "device offline error, dev ")) return lose(take_until(text, ", "));
  // It answered.
  if (take_prefix(text, "critical medium error, dev ")) return find(take_until(text, ", "));
  if (!take_prefix(text, "usb ")) return;
  const std::string_view port = take_until(text, ": ");
  if (port.empty() || port.size() > kMaxName) return;
  if (!text.starts_with("USB disconnect, ")) return usb_line(port);
  for (Host& each : hosts_) {
    if (each.port != port) continue;
    remove_of(each.name);
    each = {};
  }
}

// "usb 1-1.2: SerialNumber: ..."
void Drives::usb_line(std::string_view port) {
  if (port != announced_) other_ = announced_at_;
  announced_ = port;
  announced_at_ = lines_;
}

// uas does not print its port: it is that of the device that was announced just before, where no
// other one was at that time.
std::string_view Drives::port_of_uas() const {
  const bool just_before = announced_at_ > 0 && lines_ - announced_at_ <= 2;
  const bool alone = other_ == 0 || lines_ - other_ > kNear;
  return just_before && alone ? std::string_view(announced_) : kUnknownPort;
}

// "scsi host0: usb-storage 1-1.2:1.0", "scsi0 : usb-storage 1-1.2:1.0" up to 3.13, "scsi host0:
// uas", "scsi host1: ahci"
void Drives::scsi_line(std::string_view text) {
  text.remove_prefix(4);
  const bool is_new = take_prefix(text, " host");
  const std::string_view host = take_until(text, is_new ? ": " : " : ");
  if (!all_digits(host)) return;
  if (take_prefix(text, "usb-storage ")) return set_host(host, take_until(text, ":"));
  // Of an error handler of uas: "scsi host0: uas_eh_device_reset_handler start".
  if (text == "uas") return set_host(host, port_of_uas());
  if (!text.empty() && text.find(' ') == std::string_view::npos) set_host(host, {});
}

// "sd 0:0:0:0: [sda] 60062500 512-byte logical blocks: (30.8 GB/28.6 GiB)"
void Drives::disk_line(std::string_view text) {
  text.remove_prefix(3);
  const std::string_view address = take_until(text, ": ");
  const std::string_view host_name = address.substr(0, address.find(':'));
  if (!all_digits(host_name)) return;
  const Host* const known = host(host_name);
  const bool is_usb = known != nullptr && !known->port.empty();
  // The driver deleted it: of a USB drive, because that is gone.
  if (is_usb && text == "rejecting I/O to dead device") return remove_of(host_name);
  if (!take_prefix(text, "[")) return;
  const std::string_view disk = take_until(text, "] ");
  if (!is_disk_name(disk) || disk.size() > kMaxName) return;
  if (contains(text, "hostbyte=DID_NO_CONNECT") || contains(text, "hostbyte=0x01"))
    return lose(disk);
  const bool begins = contains(text, "logical blocks") || contains(text, "Attached SCSI") ||
                      // It answered.
                      contains(text, "hostbyte=DID_OK") || contains(text, "hostbyte=0x00");
  if (begins || (known != nullptr && !is_removed(disk))) set_disk(disk, host_name);
}

// "mmcblk1: mmc1:0001 SD16G 14.9 GiB", "mmc1: card 0001 removed"; "mmcblk0boot0: mmc0:0001 ..." of
// an eMMC, which nobody takes out
void Drives::card_line(std::string_view text) {
  const std::string_view name = take_until(text, ": ");
  if (name.size() > kMaxName) return;
  const std::size_t boot = name.find("boot");
  if (boot != std::string_view::npos) {
    set_disk(name.substr(0, boot), {});
  } else if (is_disk_name(name)) {
    const std::string_view host_name = take_until(text, ":");
    if (host_name.starts_with("mmc") && host_name.size() <= kMaxName) set_disk(name, host_name);
  } else if (text.starts_with("card ") && text.ends_with(" removed")) {
    remove_of(name);
  }
}

const Drives::Host* Drives::host(std::string_view name) const {
  const auto found = std::find_if(hosts_.begin(), hosts_.end(),
                                  [&](const Host& each) { return each.name == name; });
  return found == hosts_.end() ? nullptr : &*found;
}

void Drives::set_host(std::string_view name, std::string_view port) {
  if (name.size() > kMaxName || port.size() > kMaxName) return;
  auto found = std::find_if(hosts_.begin(), hosts_.end(),
                            [&](const Host& each) { return each.name == name; });
  if (found == hosts_.end()) found = hosts_.begin() + (next_host_++ % kMost);
  found->name = name;
  found->port = port;
  // Its number is used again: what was behind it stays what it is.
  for (Disk& each : disks_) {
    if (each.host == name) each.host.clear();
  }
}

// Adds it where it is not known.
Drives::Disk& Drives::disk(std::string_view name) {
  auto found = std::find_if(disks_.begin(), disks_.end(),
                            [&](const Disk& each) { return each.name == name; });
  if (found == disks_.end()) {
    found = disks_.begin() + (next_disk_++ % kMost);
    *found = {};
    found->name = name;
  }
  return *found;
}

void Drives::set_disk(std::string_view name, std::string_view host_name) {
  Disk& of = disk(name);
  of.host = host_name;
  of.removed = false;
}

void Drives::lose(std::string_view name) {
  if (!name.empty() && name.size() <= kMaxName) disk(name).removed = true;
}

void Drives::find(std::string_view name) {
  for (Disk& each : disks_) {
    if (each.name == name) each.removed = false;
  }
}

void Drives::remove_of(std::string_view host_name) {
  for (Disk& each : disks_) {
    if (!each.host.empty() && each.host == host_name) each.removed = true;
  }
}

bool Drives::is_removed(std::string_view dev) const {
  // "0:0:0:0"
  const std::size_t colon = dev.find(':');
  const std::string_view address = colon == std::string_view::npos ? "" : dev.substr(0, colon);
  return std::any_of(disks_.begin(), disks_.end(), [&](const Disk& each) {
    if (!each.removed) return false;
    return address.empty() ? is_of_disk(dev, each.name) : each.host == address;
  });
}

}  // namespace jetmem::kernel_log
