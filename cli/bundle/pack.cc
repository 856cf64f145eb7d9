// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <utility>

#include "cli/client/output_file.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 3> kEndings{".tar.zst", ".tar.gz", ".tar"};
constexpr std::size_t kPiece = 64U << 10;

std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }

int add_filter(archive* to, std::string_view ending) {
  if (ending == ".tar.gz") return archive_write_add_filter_gzip(to);
  if (ending == ".tar") return archive_write_add_filter_none(to);
  // A low level: little memory, and fast where the device has no time to spare.
  const int ok = archive_write_add_filter_zstd(to);
  if (ok == ARCHIVE_OK) archive_write_set_filter_option(to, "zstd", "compression-level", "3");
  return ok;
}

}  // namespace

std::string_view bundle_ending(std::string_view name) {
  for (const std::string_view ending : kEndings) {
    if (name.size() > ending.size() && name.ends_with(ending)) return ending;
  }
  return {};
}

void BundleWriter::Close::operator()(archive* a) const { archive_write_free(a); }

Result<std::unique_ptr<BundleWriter>> BundleWriter::create(const std::string& file,
                                                           const std::string& part_folder,
                                                           std::string folder,
                                                           std::uint64_t max_bytes,
                                                           std::int64_t time) {
  std::unique_ptr<BundleWriter> writer(new BundleWriter);
  writer->folder_ = std::move(folder);
  writer->name_ = file == "-" ? "stdout" : file;
  writer->max_bytes_ = max_bytes;
  writer->time_ = time;
  const bool to_stdout = file == "-";
  const std::string_view ending = to_stdout ? kEndings[0] : bundle_ending(file);
  if (ending.empty()) {
    return fail(Errc::kInvalid, file + ": a bundle's name ends in .tar.zst, .tar.gz or .tar");
  }
  // Before the file exists, as libarchive may exit when it runs out of memory.
  writer->archive_.reset(archive_write_new());
  archive* out = writer->archive_.get();
  if (out == nullptr) return fail(Errc::kIo, "no memory for libarchive");
  int ok = archive_write_set_format_pax_restricted(out);
  if (ok == ARCHIVE_OK) ok = add_filter(out, ending);
  // Into a pipe the last block would be filled up with zeros, as for a tape: what is compressed is
  // then followed by what no tool can unpack.
  if (ok == ARCHIVE_OK) ok = archive_write_set_bytes_in_last_block(out, 1);
  if (auto made = writer->check(ok); !made) return tl::unexpected(made.error());
  int fd = -1;
  if (to_stdout) {
    writer->stdout_ = UniqueFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    fd = writer->stdout_.get();
  } else {
    AtomicFileOptions options;
    options.part = part_folder + "/bundle";
    auto made = AtomicFile::create(file, std::move(options));
    if (!made) return tl::unexpected(output_error(std::move(made.error())));
    writer->file_ = std::move(*made);
    fd = writer->file_->fd();
  }
  if (fd < 0) return tl::unexpected(output_error(errno_error("make", file, errno)));
  if (auto opened = writer->check(archive_write_open_fd(out, fd)); !opened) {
    return tl::unexpected(opened.error());
  }
  return writer;
}

Result<void> BundleWriter::check(int result) {
  if (result < ARCHIVE_WARN) {
    const char* why = archive_error_string(archive_.get());
    const int error = archive_errno(archive_.get());
    if (error > 0) return tl::unexpected(output_error(errno_error("write", name_, error)));
    return fail(Errc::kIo, "write " + name_ + ": " + (why == nullptr ? "libarchive failed" : why));
  }
  if (bytes() > max_bytes_) {
    return fail(Errc::kIo, "the bundle would be larger than --max-size allows");
  }
  return {};
}

std::uint64_t BundleWriter::bytes() const {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(archive_filter_bytes(archive_.get(), -1), 0));
}

void BundleWriter::remember(std::string_view path, std::uint64_t hash) {
  files_.emplace(std::string(path), hash);
  for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    if (!folders_.emplace(path.substr(0, slash)).second) break;
  }
}

bool BundleWriter::has(std::string_view path, std::string_view text) const {
  const auto at = files_.find(std::string(path));
  return at != files_.end() && at->second == (hash_of(text) ^ text.size());
}

bool BundleWriter::is_free(std::string_view path) const {
  if (path.size() < 2 || path.front() != '/' || path.find("//") != std::string_view::npos ||
      path.find("/../") != std::string_view::npos || path.find("/./") != std::string_view::npos ||
      path.ends_with("/..") || path.ends_with("/.") || path.ends_with("/")) {
    return false;
  }
  const std::string whole(path);
  if (files_.contains(whole) || folders_.contains(whole)) return false;
  for (std::size_t slash = whole.rfind('/'); slash != std::string::npos && slash > 0;
       slash = whole.rfind('/', slash - 1)) {
    if (files_.contains(whole.substr(0, slash))) return false;
  }
  return true;
}

Result<void> BundleWriter::header(std::string_view path, std::uint64_t size, bool folder) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  if (entry == nullptr) return fail(Errc::kIo, "no memory for libarchive");
  const std::string name = folder_ + std::string(path);
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), folder ? AE_IFDIR : AE_IFREG);
  archive_entry_set_perm(entry.get(), folder ? 0700 : 0600);
  archive_entry_set_size(entry.get(), static_cast<std::int64_t>(size));
  archive_entry_set_mtime(entry.get(), time_, 0);
  return check(archive_write_header(archive_.get(), entry.get()));
}

Result<void> BundleWriter::data(const char* bytes, std::size_t size) {
  while (size > 0) {
    const la_ssize_t n = archive_write_data(archive_.get(), bytes, std::min(size, kPiece));
    if (auto ok = check(n < 0 ? ARCHIVE_FATAL : ARCHIVE_OK); !ok) return ok;
    if (n == 0) return fail(Errc::kIo, "a file grew while it was packed");
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return {};
}

Result<void> BundleWriter::add(std::string_view path, std::string_view text) {
  if (auto ok = header(path, text.size(), false); !ok) return ok;
  if (auto ok = data(text.data(), text.size()); !ok) return ok;
  remember(path, hash_of(text) ^ text.size());
  return {};
}

Result<void> BundleWriter::add_folder(std::string_view path) {
  if (has_folder(path) || !is_free(path)) return {};
  if (auto ok = header(path, 0, true); !ok) return ok;
  remember(std::string(path) + "/.", 0);
  files_.erase(std::string(path) + "/.");
  return {};
}

Result<void> BundleWriter::add_file(std::string_view path, int fd, std::uint64_t size) {
  if (auto ok = header(path, size, false); !ok) return ok;
  std::array<char, kPiece> piece;
  std::uint64_t at = 0;
  while (at < size) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), size - at));
    const ssize_t n = ::pread(fd, piece.data(), want, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected(errno_error("read", path, errno));
    if (n == 0) return fail(Errc::kIo, std::string(path) + " shrank while it was packed");
    if (auto ok = data(piece.data(), static_cast<std::size_t>(n)); !ok) return ok;
    at += static_cast<std::uint64_t>(n);
  }
  remember(path, 0);
  return {};
}

Result<void> BundleWriter::finish() {
  if (auto ok = check(archive_write_close(archive_.get())); !ok) return ok;
  if (file_ == nullptr) return {};
  auto ok = file_->commit(/*durably=*/true);
  if (!ok) return tl::unexpected(output_error(std::move(ok.error())));
  return {};
}

}  // namespace jetmem
