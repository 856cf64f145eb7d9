// SPDX-License-Identifier: Apache-2.0
#include "collectors/dmabuf/holders.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "base/text/text.h"
#include "collectors/processes/group/pids.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

// A descriptor or a mapping of a buffer.
struct Piece {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::uint32_t holder = 0;  // its index
  bool nvmap = false;
  bool is_of_pages = false;  // which need not be contiguous
  bool clientless = false;
  std::uint64_t mapped = 0;  // of a mapping
};

// "key:<T>value"
bool take_key(std::string_view& line, std::string_view key) {
  std::string_view rest = line;
  if (!take_prefix(rest, key) || !take_prefix(rest, ":\t")) return false;
  line = rest;
  return true;
}

std::optional<std::uint64_t> hex_of(std::string_view digits) {
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

class HolderCollector {
 public:
  HolderCollector(const Snapshot& snapshot, std::span<const NvmapBuffer> of_nvmap,
                  DmabufHolders& out)
      : snapshot_(snapshot), of_nvmap_(of_nvmap), out_(out) {}

  void run() {
    for (std::size_t i = 0; i < snapshot_.size(); ++i) take(snapshot_[i]);
    finish_descriptor();
    finish_process();
    know_buffers();
    sum_by_process();
    sum_by_size();
    sum_all();
    sum_by_name();
    std::erase_if(out_.holders, [](const DmabufHolder& h) {
      return h.buffers == 0 && h.descriptors == 0 && !h.mappings_missed;
    });
    std::sort(
        out_.holders.begin(), out_.holders.end(), [](const DmabufHolder& a, const DmabufHolder& b) {
          return std::tie(b.bytes, b.descriptors, a.pid) < std::tie(a.bytes, a.descriptors, b.pid);
        });
  }

 private:
  DmabufHolder& holder() { return out_.holders.back(); }

  void take(const FileText& file) {
    if (take_note(file)) return;
    const auto location = process_file(file.path);
    if (!location) return;
    const bool is_fdinfo = location->leaf == "fdinfo";
    const bool is_beyond = location->leaf == kLeafBeyond;
    const bool is_maps = location->leaf == "maps";
    if (!is_fdinfo && !is_beyond && !is_maps && location->leaf != "fd" && location->leaf != "comm")
      return;
    if (out_.holders.empty() || holder().pid != location->pid) {
      finish_descriptor();
      finish_process();
      out_.holders.emplace_back().pid = location->pid;
    } else if (location->number != number_) {
      finish_descriptor();
    }
    if (location->leaf == "comm") {
      if (const auto comm = file.ok() ? comm_of(file.text) : std::nullopt) {
        assign_kind(holder().name, *comm);
      }
      return;
    }
    if (is_beyond) {
      const std::uint64_t count = one_u64(file.text).value_or(0);
      // A copied tree could say anything.
      if (count > UINT32_MAX) return;
      holder().beyond += count;
      holder().descriptors += count;
      out_.beyond += count;
      return;
    }
    if (is_maps) {
      finish_descriptor();
      if (!file.ok()) {
        holder().mappings_missed = true;
        ++out_.holders_missed;
      }
      take_maps(file.text);
      return;
    }
    number_ = location->number;
    // A descriptor that was closed between two looks is no news.
    if (!file.ok()) {
      if (file.error != ENOENT && file.error != ESRCH) ++out_.malformed;
      return;
    }
    is_fdinfo ? take_fdinfo(file.text) : take_fd(file.text);
  }

  bool take_note(const FileText& file) {
    if (!file.path.starts_with("jetmem:")) return false;
    const std::uint64_t number = one_u64(file.text).value_or(0);
    if (file.path == kNoteProcesses) out_.processes = number;
    if (file.path == kNoteProcessesDenied) out_.processes_denied = number;
    if (file.path == kNoteProcessesLeftOut) out_.processes_omitted = number;
    if (file.path == kNoteDescriptorsLeftOut) out_.descriptors_left_out = number;
    if (file.path == kNoteUnreadable) out_.unreadable = number;
    if (file.path == kNoteProcessesHidden) out_.hidden = number != 0;
    if (file.path == kNoteMappings) out_.mappings = number;
    if (file.path == kNoteMappingsMissed) out_.mappings_missed = number;
    return true;
  }

  void take_fdinfo(std::string_view text) {
    const auto info = parse_dmabuf_fdinfo(text);
    if (!info) {
      ++out_.malformed;
      return;
    }
    // Before 5.3 nothing in it is the buffer's.
    if (!info->size) return;
    seen_ = true;
    size_ = info->size;
    if (info->inode) inode_ = info->inode;
    nvmap_ = is_nvmap(info->exporter);
    is_of_pages_ = info->exporter.starts_with("system") || info->exporter == "udmabuf";
  }

  void take_fd(std::string_view text) {
    std::string_view line = text.substr(0, text.find('\n'));
    if (line == kNvmapDevice && take_prefix(text, "/dev/nvmap\n")) {
      std::uint64_t file = 0;
      if (text.ends_with('\n') && take_key(text, "file")) file = one_u64(text).value_or(0);
      nvmap_files_.insert(static_cast<std::uint32_t>(std::min<std::uint64_t>(file, UINT32_MAX)));
    } else if (text.empty() || line.size() + 1 != text.size()) {
      ++out_.malformed;
    } else if (line == "anon_inode:dmabuf") {
      seen_ = true;
    } else if (take_key(line, "ino")) {
      if (const auto inode = parse_u64(line)) inode_ = inode;
    }
  }

  void take_maps(std::string_view text) {
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
      const auto mapping = parse_dmabuf_mapping(line);
      if (!mapping) continue;
      Piece& piece = add_piece();
      piece.inode = mapping->inode;
      piece.size = piece.mapped = mapping->bytes;
    }
  }

  Piece& add_piece() {
    Piece& piece = pieces_.emplace_back();
    piece.holder = static_cast<std::uint32_t>(out_.holders.size() - 1);
    return piece;
  }

  void finish_process() {
    for (const std::uint32_t file : nvmap_files_) {
      out_.nvmap_openers.push_back({holder().pid, holder().name, file});
    }
    nvmap_files_.clear();
  }

  const NvmapBuffer* of_nvmap(std::uint64_t inode) const {
    const auto at = std::lower_bound(
        of_nvmap_.begin(), of_nvmap_.end(), inode,
        [](const NvmapBuffer& buffer, std::uint64_t value) { return buffer.inode < value; });
    return at != of_nvmap_.end() && at->inode == inode ? &*at : nullptr;
  }

  // Who made the buffer that is mapped, and its size, which a mapping does not tell; and whether
  // all references to it are known.
  void know_buffers() {
    // Descriptors first.
    std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
      return std::tie(a.inode, a.mapped, a.holder) < std::tie(b.inode, b.mapped, b.holder);
    });
    for (std::size_t begin = 0, end = 0; begin < pieces_.size(); begin = end) {
      while (end < pieces_.size() && pieces_[end].inode == pieces_[begin].inode) ++end;
      const bool has_descriptor = pieces_[begin].mapped == 0;
      Piece whole = has_descriptor ? pieces_[begin] : pieces_[end - 1];
      bool is_known = has_descriptor || out_.knows_nvmap;
      if (const NvmapBuffer* const buffer = of_nvmap(whole.inode)) {
        whole.nvmap = is_known = true;
        whole.size = buffer->size;
        whole.clientless = buffer->references > 0 && end - begin >= buffer->references;
      }
      for (std::size_t i = begin; i < end; ++i) {
        Piece& piece = pieces_[i];
        piece.clientless = whole.clientless;
        if (piece.mapped == 0) continue;
        if (!is_known) {
          out_.holders[piece.holder].mappings_missed = true;
          piece.size = 0;
          continue;
        }
        piece.nvmap = whole.nvmap;
        piece.size = whole.size;
        if (piece.nvmap) out_.holders[piece.holder].mapped_bytes += piece.mapped;
      }
    }
    std::erase_if(pieces_, [](const Piece& piece) { return piece.mapped > 0 && piece.size == 0; });
  }

  void finish_descriptor() {
    if (seen_) ++holder().descriptors;
    if (seen_ && size_ && inode_) {
      Piece& piece = add_piece();
      piece.inode = *inode_;
      piece.size = *size_;
      piece.nvmap = nvmap_;
      piece.is_of_pages = is_of_pages_;
    } else if (seen_) {
      ++holder().unsized;
      ++out_.unsized;
    }
    seen_ = nvmap_ = is_of_pages_ = false;
    size_.reset();
    inode_.reset();
    number_ = {};
  }

  // One piece of each buffer for each holder, or name, in their order.
  template <class Key>
  void sort_unique(Key key) {
    // By size too: of a buffer that was reported with two sizes (its number went to another
    // meanwhile) the same one is kept each time.
    std::sort(pieces_.begin(), pieces_.end(), [&](const Piece& a, const Piece& b) {
      return std::tuple(key(a), a.inode, a.size, a.nvmap, a.holder) <
             std::tuple(key(b), b.inode, b.size, b.nvmap, b.holder);
    });
    const auto same = [&](const Piece& a, const Piece& b) {
      return key(a) == key(b) && a.inode == b.inode;
    };
    pieces_.erase(std::unique(pieces_.begin(), pieces_.end(), same), pieces_.end());
  }

  void sum_by_process() {
    sort_unique([](const Piece& piece) { return piece.holder; });
    for (const Piece& piece : pieces_) {
      DmabufHolder& holder = out_.holders[piece.holder];
      ++holder.buffers;
      holder.bytes += piece.size;
      if (piece.nvmap) holder.nvmap_bytes += piece.size;
      if (piece.clientless) holder.clientless_bytes += piece.size;
    }
  }

  void sum_by_size() {
    std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
      return std::tie(b.size, a.holder, a.inode) < std::tie(a.size, b.holder, b.inode);
    });
    std::vector<DmabufOfSize>& sizes = out_.sizes;
    for (const Piece& piece : pieces_) {
      if (piece.nvmap || piece.is_of_pages) continue;
      const DmabufHolder& holder = out_.holders[piece.holder];
      if (sizes.empty() || sizes.back().bytes != piece.size || sizes.back().pid != holder.pid) {
        if (sizes.size() == DmabufHolders::kMaxSizes) return;
        sizes.push_back({piece.size, 0, holder.pid, holder.name});
      }
      ++sizes.back().buffers;
    }
  }

  void sum_all() {
    std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
      return std::tie(a.inode, a.size, a.holder) < std::tie(b.inode, b.size, b.holder);
    });
    for (std::size_t begin = 0, end = 0; begin < pieces_.size(); begin = end) {
      while (end < pieces_.size() && pieces_[end].inode == pieces_[begin].inode) ++end;
      ++out_.buffers;
      out_.bytes += pieces_[begin].size;
      if (pieces_[begin].clientless) out_.clientless_bytes += pieces_[begin].size;
      if (end - begin == 1) continue;
      ++out_.shared_buffers;
      out_.shared_bytes += pieces_[begin].size;
    }
  }

  void sum_by_name() {
    const auto name_of = [&](const Piece& piece) -> std::string_view {
      return out_.holders[piece.holder].name;
    };
    std::map<std::string_view, DmabufName> names;
    for (const DmabufHolder& holder : out_.holders) {
      DmabufName& name = names[holder.name];
      name.descriptors += holder.descriptors;
      name.unsized += holder.unsized;
      name.beyond += holder.beyond;
      name.mappings_missed |= holder.mappings_missed;
    }
    sort_unique(name_of);
    for (const Piece& piece : pieces_) {
      DmabufName& name = names[name_of(piece)];
      ++name.buffers;
      name.bytes += piece.size;
      if (piece.clientless) name.clientless_bytes += piece.size;
    }
    for (auto& [command, name] : names) {
      if (name.descriptors == 0 && name.buffers == 0 && !name.mappings_missed) continue;
      name.key.command = command;
      out_.names.push_back(std::move(name));
    }
  }

  const Snapshot& snapshot_;
  std::span<const NvmapBuffer> of_nvmap_;
  DmabufHolders& out_;
  std::vector<Piece> pieces_;
  std::set<std::uint32_t> nvmap_files_;  // of the process at hand
  // Of the descriptor at hand.
  std::string_view number_;
  bool seen_ = false;
  bool nvmap_ = false;
  bool is_of_pages_ = false;
  std::optional<std::uint64_t> size_;
  std::optional<std::uint64_t> inode_;
};

}  // namespace

std::optional<DmabufFdinfo> parse_dmabuf_fdinfo(std::string_view text) {
  if (text.empty() || text.back() != '\n') return std::nullopt;
  DmabufFdinfo out;
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) {
    std::optional<std::uint64_t>* figure = nullptr;
    if (!out.size && take_key(line, "ino")) {
      figure = &out.inode;
    } else if (take_key(line, "size")) {
      figure = &out.size;
    } else if (take_key(line, "exp_name")) {
      out.exporter = line;
      break;  // what follows may be a name
    } else if (take_key(line, "name")) {
      break;
    }
    if (figure == nullptr || *figure) continue;
    if (!(*figure = parse_u64(line))) return std::nullopt;
  }
  return out;
}

std::optional<DmabufMapping> parse_dmabuf_mapping(std::string_view line) {
  const std::size_t dash = line.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto begin = hex_of(line.substr(0, dash));
  line.remove_prefix(dash + 1);
  const auto end = hex_of(take_word(line));
  // Permissions, offset, device.
  for (int i = 0; i < 3; ++i) take_word(line);
  const auto inode = parse_u64(take_word(line));
  skip_blanks(line);
  if (!begin || !end || !inode || *end <= *begin || !line.starts_with(kDmabufPath)) {
    return std::nullopt;
  }
  return DmabufMapping{*inode, *end - *begin};
}

void parse_dmabuf_holders(const Snapshot& snapshot, std::span<const NvmapBuffer> of_nvmap,
                          bool is_all, DmabufHolders& out) {
  out = {};
  out.knows_nvmap = is_all;
  HolderCollector(snapshot, of_nvmap, out).run();
}

}  // namespace jetmem
