// SPDX-License-Identifier: Apache-2.0
// Which drives the kernel lost: of a USB device that was disconnected, and SD cards that were
// removed. It prints the same whether somebody took one out or it stopped answering.
//
// The kernel names a drive in several lines, each with what the one before it is known by: usb_hub
// "usb 1-1.2: USB disconnect", usb-storage "scsi host0: usb-storage 1-1.2:1.0", sd.c "sd 0:0:0:0:
// [sda]". Where the ones that tie them together are lost, only what the kernel says of the drive
// itself is known: that a command had no connection (DID_NO_CONNECT), or that it is offline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace jetmem::kernel_log {

class Drives {
 public:
  // A line of the kernel's.
  void line(std::string_view text);
  // "sda1", "sda1-8", "mmcblk1p2", "0:0:0:0": whether it is of a drive that was disconnected and
  // has not come back.
  bool is_removed(std::string_view dev) const;

 private:
  // More than that many at once are not followed.
  static constexpr std::size_t kMost = 32;
  // A name's: what is longer is no such name, and none allocates memory.
  static constexpr std::size_t kMaxName = 15;
  // Lines that are of one connection.
  static constexpr std::uint64_t kNear = 16;

  // A SCSI host ("0") or an SD host ("mmc1"), and the USB port that it is behind: "1-1.2"; "?": one
  // that is not known; empty: none.
  struct Host {
    std::string name, port;
  };
  struct Disk {
    std::string name, host;
    bool removed = false;
  };

  void usb_line(std::string_view port);
  std::string_view port_of_uas() const;
  void scsi_line(std::string_view text);
  void disk_line(std::string_view text);
  void card_line(std::string_view text);
  const Host* host(std::string_view name) const;
  void set_host(std::string_view name, std::string_view port);
  Disk& disk(std::string_view name);
  void set_disk(std::string_view name, std::string_view host);
  void lose(std::string_view name);
  void find(std::string_view name);
  void remove_of(std::string_view host);

  std::array<Host, kMost> hosts_;
  std::array<Disk, kMost> disks_;
  std::size_t next_host_ = 0;
  std::size_t next_disk_ = 0;
  std::uint64_t lines_ = 0;
  std::string announced_;  // the port of the last line about a USB device
  // Of lines_; 0: none yet.
  std::uint64_t announced_at_ = 0;
  std::uint64_t other_ = 0;  // the last line about another one
};

}  // namespace jetmem::kernel_log
