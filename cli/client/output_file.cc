// SPDX-License-Identifier: Apache-2.0
#include "cli/client/output_file.h"

#include "cli/draw/terminal.h"

namespace jetmem {
namespace {

constexpr std::size_t kPiece = 64U << 10;

bool is_stdout(const std::string& name) { return name.empty() || name == "-"; }

tl::unexpected<Error> unwritten(Error error) {
  return tl::unexpected(output_error(std::move(error)));
}

}  // namespace

Error output_error(Error error) {
  if (error.code != Errc::kDenied && error.code != Errc::kUnavailable) error.code = Errc::kIo;
  return error;
}

Result<void> OutputFile::open() {
  if (is_stdout(name_)) return {};
  AtomicFileOptions options;
  options.mode = mode_;
  auto file = AtomicFile::create(name_, std::move(options));
  if (!file) return unwritten(std::move(file.error()));
  file_ = std::move(*file);
  return {};
}

void OutputFile::put(const std::string& text) {
  if (file_ == nullptr) return jetmem::put(text);
  waiting_ += text;
  if (waiting_.size() >= kPiece) flush();
}

void OutputFile::flush() {
  if (result_) result_ = file_->write(waiting_);
  waiting_.clear();
}

Result<void> OutputFile::finish() {
  if (file_ == nullptr) return {};  // main() checks standard output
  flush();
  if (result_) result_ = file_->commit(/*durably=*/false);
  file_.reset();
  if (!result_) return unwritten(result_.error());
  return {};
}

Result<void> OutputFile::remove_old(const std::string& file) {
  if (is_stdout(file)) return {};
  auto removed = AtomicFile::remove(file);
  if (!removed) return unwritten(std::move(removed.error()));
  return {};
}

}  // namespace jetmem
