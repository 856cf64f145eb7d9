// SPDX-License-Identifier: Apache-2.0
#include "daemon/state/state_writer.h"

#include <utility>

#include "base/root/small_file.h"

namespace jetmem {

StateWriter::StateWriter(std::string path) : shared_(std::make_shared<Shared>()) {
  shared_->path = std::move(path);
  thread_.start("jetmem-state", shared_, run);
}

StateWriter::~StateWriter() { finish(std::chrono::milliseconds(0)); }

void StateWriter::run(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return shared.next || shared.stopping; });
    if (!shared.next) break;
    const std::string text = std::move(*shared.next);
    shared.next.reset();
    shared.writing = true;
    lock.unlock();
    const auto written = replace_small_file_durably(shared.path, text);
    lock.lock();
    shared.writing = false;
    if (written) {
      ++shared.counts.written;
      shared.counts.bytes += text.size();
      shared.counts.problem.clear();
    } else {
      ++shared.counts.failed;
      shared.counts.problem = written.error().message;
    }
  }
}

void StateWriter::put(std::string text) {
  const std::lock_guard lock(shared_->mutex);
  shared_->next = std::move(text);
  shared_->changed.notify_all();
}

bool StateWriter::finish(std::chrono::milliseconds timeout) { return thread_.stop(timeout); }

StateWriter::Counts StateWriter::counts() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->counts;
}

bool StateWriter::waits() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->next || shared_->writing;
}

}  // namespace jetmem
