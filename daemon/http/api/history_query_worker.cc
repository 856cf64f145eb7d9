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

HistoryQueryWorker::Job* HistoryQueryWorker::Shared::find(const std::string& key) {
  const auto found =
      std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) { return job.key == key; });
  return found == jobs.end() ? nullptr : &*found;
}

void HistoryQueryWorker::Shared::forget(Time now) {
  jobs.remove_if([&](const Job& job) {
    return &job != running && !job.is_awaited && now - job.asked > kForgotten;
  });
}

HistoryQueryWorker::Job* HistoryQueryWorker::Shared::next() {
  const auto found = std::find_if(jobs.begin(), jobs.end(),
                                  [](const Job& job) { return job.question != nullptr; });
  return found == jobs.end() ? nullptr : &*found;
}

void HistoryQueryWorker::run(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  while (!shared.stopping) {
    shared.forget(std::chrono::steady_clock::now());
    Job* const job = shared.next();
    if (job == nullptr) {
      shared.changed.wait(lock);
      continue;
    }
    Question question = std::exchange(job->question, nullptr);
    shared.running = job;
    shared.begun = std::chrono::steady_clock::now();
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
    shared.running = nullptr;
    job->answer = std::move(answer);
    job->is_answered = true;
    job->asked = std::chrono::steady_clock::now();
    job->elapsed = std::chrono::ceil<Milliseconds>(job->asked - shared.begun);
    shared.changes.signal();
    shared.changed.notify_all();
  }
}

HistoryQueryWorker::Reply HistoryQueryWorker::ask(const std::string& key, Asker asker,
                                                  Question question, Milliseconds timeout) {
  Reply out;
  std::unique_lock lock(shared_->mutex);
  const auto now = std::chrono::steady_clock::now();
  shared_->forget(now);
  Job* job = shared_->find(key);
  if (job == nullptr || !job->is_answered) {
    if (shared_->is_stuck(now)) {
      out.state = State::kStuck;
      return out;
    }
    if (job == nullptr) {
      const std::size_t most = asker == Asker::kRemote ? kMost : kMostWithLocal;
      if (asker != Asker::kItself && shared_->jobs.size() >= most) {
        out.state = State::kFull;
        return out;
      }
      if (!start()) {
        out.state = State::kNoThread;
        return out;
      }
      auto& jobs = shared_->jobs;
      const auto next = std::find_if(jobs.begin(), jobs.end(), [&](const Job& each) {
        return each.question != nullptr && each.asker < asker;
      });
      job = &*jobs.emplace(next);
      job->asker = asker;
      job->key = key;
      job->question = std::move(question);
      shared_->changed.notify_all();
    }
    job->is_awaited = true;
    const bool is_answered =
        shared_->changed.wait_for(lock, timeout, [&] { return job->is_answered; });
    job->is_awaited = false;
    job->asked = std::chrono::steady_clock::now();
    if (!is_answered) return out;
  }
  out.state = State::kAnswered;
  out.answer = std::move(job->answer);
  out.elapsed = job->elapsed;
  shared_->jobs.remove_if([&](const Job& each) { return &each == job; });
  return out;
}

std::optional<HistoryQueryWorker::Milliseconds> HistoryQueryWorker::query_age() const {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->running == nullptr) return std::nullopt;
  return std::chrono::floor<Milliseconds>(std::chrono::steady_clock::now() - shared_->begun);
}

bool HistoryQueryWorker::is_stuck() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->is_stuck(std::chrono::steady_clock::now());
}

bool HistoryQueryWorker::stop(Milliseconds timeout) {
  {
    const std::lock_guard lock(shared_->mutex);
    // An idle thread ends at once, however busy the machine.
    if (shared_->running == nullptr) timeout = std::max(timeout, Milliseconds(1'000));
  }
  return thread_.stop(timeout);
}

}  // namespace jetmem
