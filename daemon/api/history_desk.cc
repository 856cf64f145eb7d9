#include "daemon/api/history_desk.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <exception>
#include <system_error>
#include <utility>

namespace jetmem {
namespace {

// Those of a crash stay: blocked, they would kill without a handler.
sigset_t signals_to_block() {
  sigset_t set;
  sigfillset(&set);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigdelset(&set, crash);
  return set;
}

}  // namespace

HistoryDesk::HistoryDesk() : shared_(std::make_shared<Shared>()) {
  shared_->news.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void HistoryDesk::Shared::tell() const {
  const std::uint64_t one = 1;
  if (news.valid()) (void)!::write(news.get(), &one, sizeof one);
}

void HistoryDesk::news_seen() {
  std::uint64_t count = 0;
  if (shared_->news.valid()) (void)!::read(shared_->news.get(), &count, sizeof count);
}

// At the first question: most daemons are never asked one.
bool HistoryDesk::start() {
  if (thread_.joinable()) return true;
  const sigset_t block = signals_to_block();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &block, &before);
  try {
    thread_ = std::thread([shared = shared_] { run(shared); });
    pthread_setname_np(thread_.native_handle(), "jetmem-desk");
  } catch (const std::system_error&) {
    // No more threads to be had: it is tried again with the next question.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

void HistoryDesk::run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return shared->question || shared->stopping; });
    if (shared->stopping) break;
    Question question = std::exchange(shared->question, nullptr);
    lock.unlock();
    std::any answer;
    try {
      answer = question();
    } catch (const std::exception&) {
      // Whatever it was: the asker is told that there is no answer.
      answer.reset();
    }
    question = nullptr;
    lock.lock();
    const auto now = std::chrono::steady_clock::now();
    shared->is_asked = false;
    shared->answer = Answer{std::move(shared->key), std::move(answer),
                            std::chrono::ceil<Milliseconds>(now - shared->since), now};
    shared->tell();
    shared->changed.notify_all();
  }
  shared->finished = true;
  shared->changed.notify_all();
}

HistoryDesk::Reply HistoryDesk::ask(const std::string& key, Question question,
                                    Milliseconds patience) {
  Reply out;
  std::unique_lock lock(shared_->mutex);
  const auto now = std::chrono::steady_clock::now();
  std::optional<Answer>& answer = shared_->answer;
  const auto is_there = [&] { return answer && answer->key == key; };
  if (answer && now - answer->came > kKept) answer.reset();
  if (!is_there()) {
    if (shared_->is_stuck(now)) {
      out.state = State::kStuck;
      return out;
    }
    const bool is_same = shared_->is_asked && shared_->key == key;
    if (!is_same) {
      out.state = State::kBusy;
      if (shared_->is_asked || (answer && now - answer->came < kReserved)) return out;
      if (!start()) {
        out.state = State::kNoThread;
        return out;
      }
      answer.reset();
      shared_->key = key;
      shared_->question = std::move(question);
      shared_->is_asked = true;
      shared_->since = now;
      shared_->changed.notify_all();
    }
    if (!shared_->changed.wait_for(lock, patience, is_there)) {
      out.state = State::kAsked;
      return out;
    }
  }
  out.state = State::kAnswered;
  out.answer = std::move(answer->answer);
  out.took = answer->took;
  answer.reset();
  // Who waits for the place of this answer may have it.
  shared_->tell();
  return out;
}

std::optional<HistoryDesk::Milliseconds> HistoryDesk::asked_for() const {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->is_asked) return std::nullopt;
  return std::chrono::floor<Milliseconds>(std::chrono::steady_clock::now() - shared_->since);
}

bool HistoryDesk::is_stuck() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->is_stuck(std::chrono::steady_clock::now());
}

bool HistoryDesk::stop(Milliseconds patience) {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  // Nothing can hold it up where it is not asked anything.
  if (!shared_->is_asked) patience = std::max(patience, Milliseconds(1'000));
  const bool done = shared_->changed.wait_for(lock, patience, [&] { return shared_->finished; });
  lock.unlock();
  if (done) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return done;
}

}  // namespace jetmem
