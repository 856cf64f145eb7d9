// SPDX-License-Identifier: Apache-2.0
#include "base/root/gatherer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace jetmem {
namespace {

constexpr std::size_t kChunk = 32U << 10;

}  // namespace

int Gatherer::list(std::string_view path, std::vector<std::string>& names) {
  bool cut = false;
  return list(path, names, Root::Moment::max(), cut);
}

int Gatherer::list(std::string_view path, std::vector<std::string>& names, Root::Moment end,
                   bool& cut) {
  return root_.list(path, limits_.names, names, cut, end);
}

FileText Gatherer::read(std::string_view path) {
  out_.begin(path);
  int error = 0;
  const UniqueFd fd = root_.open_file(path, error);
  if (fd.valid()) error = read_to_end(fd.get(), limits_.file_bytes, out_.buffer());
  out_.end(error);
  return out_[out_.size() - 1];
}

FileText Gatherer::read_if_any(std::string_view path) {
  const FileText file = read(path);
  if (file.error != ENOENT && file.error != ENOTDIR) return file;
  forget();
  return {path, {}, ENOENT};
}

FileText Gatherer::read_ends(std::string_view path, std::size_t head, std::size_t tail,
                             std::string_view word, std::size_t most) {
  out_.begin(path);
  int error = 0;
  const UniqueFd fd = root_.open_file(path, error);
  std::string end;    // what came behind `head`, the last of it
  std::string lines;  // of it, those with the word
  std::string line;   // begun
  int lines_error = 0;
  std::size_t size = 0;
  std::array<char, kChunk> chunk;
  const auto keep = [&](std::string_view text) {
    if (text.find(word) == std::string_view::npos || lines_error != 0) return;
    lines.append(text);
    if (lines.size() > most) lines_error = FileText::kTooLarge;
  };
  while (error == 0) {
    // Not pread(): what debugfs has is not always seekable.
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error = errno;
    if (n <= 0) break;
    const std::string_view piece(chunk.data(), static_cast<std::size_t>(n));
    const std::size_t fits = size < head ? std::min(head - size, piece.size()) : 0;
    out_.buffer().append(piece.substr(0, fits));
    end.append(piece.substr(fits));
    size += piece.size();
    if (!word.empty()) {
      // The line that `head` cuts is one of them.
      line.append(piece);
      if (size <= head) line.erase(0, line.rfind('\n') + 1);
      std::size_t done = 0;
      for (std::size_t at = 0; size > head && (at = line.find('\n', done)) != std::string::npos;
           done = at + 1) {
        const bool is_behind = size - line.size() + at + 1 > head;
        if (is_behind) keep(std::string_view(line).substr(done, at + 1 - done));
      }
      line.erase(0, done);
      if (line.size() > most) {
        lines_error = FileText::kTooLarge;
        line.clear();
      }
    }
    if (end.size() > tail + 2 * kChunk) end.erase(0, end.size() - tail);
  }
  const bool cut = error == 0 && size > head + tail;
  if (!cut) {
    out_.buffer().append(end);
    out_.end(error);
    return out_[out_.size() - 1];
  }
  end.erase(0, end.size() - tail);
  out_.end(0);
  out_.cut_last_to_lines();
  const std::size_t record = out_.size() - 1;
  // It begins within a line, or by chance at one: the first newline decides.
  end.erase(0, std::min(end.find('\n'), end.size() - 1) + 1);
  out_.add(end_of(path), end, 0);
  if (!word.empty()) out_.add(lines_of(path), lines_error == 0 ? lines : "", lines_error);
  return out_[record];
}

FileText Gatherer::read_lines_with(std::string_view path, std::string_view word, std::size_t most) {
  out_.begin(path);
  const std::size_t begin = out_.buffer().size();
  int error = 0;
  const UniqueFd fd = root_.open_file(path, error);
  std::string text;  // from the beginning of a line
  std::array<char, kChunk> chunk;
  const auto keep = [&](std::string_view line) {
    if (line.find(word) == std::string_view::npos) return;
    if (out_.buffer().size() - begin + line.size() > most) {
      error = FileText::kTooLarge;
    } else {
      out_.buffer().append(line);
    }
  };
  while (error == 0) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error = errno;
    if (n <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(n));
    std::size_t done = 0;
    for (std::size_t end = 0; (end = text.find('\n', done)) != std::string::npos; done = end + 1) {
      keep(std::string_view(text).substr(done, end + 1 - done));
    }
    text.erase(0, done);
    if (text.size() > most) error = FileText::kTooLarge;
  }
  keep(text);
  if (error != 0) out_.buffer().truncate(begin);
  out_.end(error);
  return out_[out_.size() - 1];
}

std::string Gatherer::end_of(std::string_view path) { return "jetmem:end of " + std::string(path); }

std::string Gatherer::lines_of(std::string_view path) {
  return "jetmem:lines of " + std::string(path);
}

void Gatherer::note(std::string_view name, std::uint64_t number) {
  out_.add("jetmem:" + std::string(name), std::to_string(number) + "\n", 0);
}

}  // namespace jetmem
