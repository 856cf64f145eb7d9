#include "daemon/state_writer.h"

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <utility>

#include "base/small_file.h"

namespace jetmem {

StateWriter::StateWriter(std::string path) : shared_(std::make_shared<Shared>()) {
  shared_->path = std::move(path);
  // Signals belong to the loop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([shared = shared_] { run(shared); });
    runs_ = true;
  } catch (const std::system_error&) {
    // No more threads to be had: whoever asked for it is told by runs().
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StateWriter::~StateWriter() { finish(std::chrono::milliseconds(0)); }

void StateWriter::run(const std::shared_ptr<Shared>& shared) {
  pthread_setname_np(pthread_self(), "jetmem-state");
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(
        lock, [&] { return shared->next || !shared->questions.empty() || shared->stopping; });
    if (!shared->questions.empty()) {
      const std::function<void()> question = std::move(shared->questions.front());
      shared->questions.pop_front();
      lock.unlock();
      question();
      lock.lock();
      continue;
    }
    if (!shared->next) break;
    const std::string text = std::move(*shared->next);
    shared->next.reset();
    shared->writing = true;
    lock.unlock();
    const auto written = replace_small_file_durably(shared->path, text);
    lock.lock();
    shared->writing = false;
    if (written) {
      ++shared->counts.written;
      shared->counts.bytes += text.size();
      shared->counts.trouble.clear();
    } else {
      ++shared->counts.failed;
      shared->counts.trouble = written.error().message;
    }
  }
  shared->finished = true;
  shared->changed.notify_all();
}

void StateWriter::put(std::string text) {
  const std::lock_guard lock(shared_->mutex);
  shared_->next = std::move(text);
  shared_->changed.notify_all();
}

void StateWriter::ask(std::function<void()> question) {
  const std::lock_guard lock(shared_->mutex);
  shared_->questions.push_back(std::move(question));
  shared_->changed.notify_all();
}

bool StateWriter::finish(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const bool done = shared_->changed.wait_for(lock, patience, [&] { return shared_->finished; });
  lock.unlock();
  if (done) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return done;
}

StateWriter::Counts StateWriter::counts() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->counts;
}

bool StateWriter::waits() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->next || shared_->writing;
}

}  // namespace jetmem
