// SPDX-License-Identifier: Apache-2.0
#include "base/worker_thread.h"

#include <pthread.h>

#include <csignal>
#include <system_error>

namespace jetmem {
namespace {

// Signals belong to the main loop. Those of a crash stay deliverable: blocked, they would kill the
// process without its handler or a sanitizer's report.
sigset_t signals_to_block() {
  sigset_t set;
  sigfillset(&set);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP})
    sigdelset(&set, crash);
  return set;
}

}  // namespace

bool WorkerThread::start_thread(const char* name, std::shared_ptr<Shared> shared,
                                std::function<void()> body) {
  if (is_running()) thread_.detach();
  shared_ = std::move(shared);
  end_ = std::make_shared<End>();
  // Blocked before the thread exists, so that it never receives one.
  const sigset_t block = signals_to_block();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &block, &before);
  try {
    thread_ = std::thread([name, body = std::move(body), end = end_]() mutable {
      pthread_setname_np(pthread_self(), name);
      body();
      body = nullptr;
      const std::lock_guard lock(end->mutex);
      end->is_reached = true;
      end->reached.notify_all();
    });
    problem_.clear();
  } catch (const std::system_error& error) {
    problem_ = error.code().message();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_running();
}

bool WorkerThread::stop(std::chrono::milliseconds timeout) {
  if (!is_running()) return true;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
    shared_->changed.notify_all();
  }
  std::unique_lock lock(end_->mutex);
  const bool ended = end_->reached.wait_for(lock, timeout, [this] { return end_->is_reached; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
  shared_.reset();
  return ended;
}

void WorkerThread::join() {
  if (!is_running()) return;
  thread_.join();
  shared_.reset();
}

}  // namespace jetmem
