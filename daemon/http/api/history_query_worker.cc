// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/api/history_query_worker.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace jetmem {

// Started by the first question: most daemons never receive one.
bool HistoryQueryWorker::start() {
  if (thread_.is_running()) return true;
  return thread_.start("jetmem-query", shared_, run);
}

void HistoryQueryWorker::run(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return shared.question || shared.stopping; });
    if (shared.stopping) break;
    Question question = std::exchange(shared.question, nullptr);
    lock.unlock();
    std::any answer;
    try {
      answer = question();
    } catch (const std::exception&) {
      // The asker gets State::kAnswered without a value.
      answer.reset();
    }
    question = nullptr;
    lock.lock();
    const auto now = std::chrono::steady_clock::now();
    shared.is_requested = false;
    shared.answer = Answer{std::move(shared.key), std::move(answer),
                           std::chrono::ceil<Milliseconds>(now - shared.since), now};
    shared.changes.signal();
    shared.changed.notify_all();
  }
}

HistoryQueryWorker::Reply HistoryQueryWorker::ask(const std::string& key, Question question,
                                                  Milliseconds timeout) {
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
    const bool is_same = shared_->is_requested && shared_->key == key;
    if (!is_same) {
      out.state = State::kBusy;
      if (shared_->is_requested || (answer && now - answer->came < kAnswerReserved)) return out;
      if (!start()) {
        out.state = State::kNoThread;
        return out;
      }
      answer.reset();
      shared_->key = key;
      shared_->question = std::move(question);
      shared_->is_requested = true;
      shared_->since = now;
      shared_->changed.notify_all();
    }
    if (!shared_->changed.wait_for(lock, timeout, is_there)) {
      out.state = State::kRequested;
      return out;
    }
  }
  out.state = State::kAnswered;
  out.answer = std::move(answer->answer);
  out.elapsed = answer->elapsed;
  answer.reset();
  // A client that waits for the place of this answer may have it.
  shared_->changes.signal();
  return out;
}

std::optional<HistoryQueryWorker::Milliseconds> HistoryQueryWorker::query_age() const {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->is_requested) return std::nullopt;
  return std::chrono::floor<Milliseconds>(std::chrono::steady_clock::now() - shared_->since);
}

bool HistoryQueryWorker::is_stuck() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->is_stuck(std::chrono::steady_clock::now());
}

bool HistoryQueryWorker::stop(Milliseconds timeout) {
  {
    const std::lock_guard lock(shared_->mutex);
    // An idle thread ends at once, however busy the machine.
    if (!shared_->is_requested) timeout = std::max(timeout, Milliseconds(1'000));
  }
  return thread_.stop(timeout);
}

}  // namespace jetmem
