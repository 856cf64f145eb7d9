// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/api/history_query_worker.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace jetmem {
namespace {

// A disk that hung for long is no fault of who asked.
constexpr Nanoseconds kMostSpent = std::chrono::seconds(2);

}  // namespace

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

bool HistoryQueryWorker::Shared::has_room(const ClientKey& client) const {
  const auto own = static_cast<std::size_t>(std::count_if(
      jobs.begin(), jobs.end(), [&](const Job& job) { return job.asker.client == client; }));
  if (own == 0) return jobs.size() < kMostInAll;
  return own < kMostOfClient && jobs.size() < kMostQuestions;
}

// What is asked once for all clients has few keys, and no client whose fault it is.
bool HistoryQueryWorker::Shared::must_fetch(const Asker& asker) const {
  if (asker.cost == QueryCost::kOwn) return false;
  const auto own = std::count_if(jobs.begin(), jobs.end(), [&](const Job& job) {
    return job.is_answered && job.asker.client == asker.client;
  });
  return static_cast<std::size_t>(own) >= kMostAnswers;
}

bool HistoryQueryWorker::Shared::make_room(Time now) {
  std::size_t answers = 0;
  auto oldest = jobs.end();
  for (auto job = jobs.begin(); job != jobs.end(); ++job) {
    if (!job->is_answered) continue;
    ++answers;
    if (job->is_awaited) continue;
    if (oldest == jobs.end() || job->asked < oldest->asked) oldest = job;
  }
  if (answers < kMostAnswersInAll) return true;
  if (oldest == jobs.end() || now - oldest->asked < kAbandoned) return false;
  jobs.erase(oldest);
  return true;
}

HistoryQueryWorker::Job* HistoryQueryWorker::Shared::next(Time now) {
  const auto first = [&](bool only_own) {
    Job* out = nullptr;
    Nanoseconds least{0};
    for (Job& job : jobs) {
      if (job.is_answered || must_fetch(job.asker)) continue;
      if (only_own && job.asker.cost != QueryCost::kOwn) continue;
      const Nanoseconds end =
          budget.used(job.asker.client) + expected[static_cast<std::size_t>(job.asker.cost)];
      if (out != nullptr && end >= least) continue;
      out = &job;
      least = end;
    }
    return out;
  };
  Job* const out = first(false);
  // What is asked once for all clients does not wait for what some of them leave.
  return out == nullptr || make_room(now) ? out : first(true);
}

void HistoryQueryWorker::Shared::finish(Job& job, std::any answer, Time now) {
  running = nullptr;
  job.answer = std::move(answer);
  job.is_answered = true;
  job.asked = now;
  job.elapsed = std::chrono::ceil<Milliseconds>(now - begun);
  const Nanoseconds spent = std::min<Nanoseconds>(job.elapsed, kMostSpent);
  budget.spent(job.asker.client, job.asker.cost, spent);
  Nanoseconds& average = expected[static_cast<std::size_t>(job.asker.cost)];
  average += (spent - average) / 4;
}

void HistoryQueryWorker::run(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  while (!shared.stopping) {
    const Time now = std::chrono::steady_clock::now();
    shared.forget(now);
    Job* const job = shared.next(now);
    if (job == nullptr) {
      if (shared.jobs.empty()) {
        shared.changed.wait(lock);
      } else {
        shared.changed.wait_for(lock, kAbandoned / 4);
      }
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
    shared.finish(*job, std::move(answer), std::chrono::steady_clock::now());
    shared.changes.signal();
    shared.changed.notify_all();
  }
}

bool HistoryQueryWorker::may_ask(const Asker& asker, Nanoseconds now) {
  const std::lock_guard lock(shared_->mutex);
  return shared_->budget.may_spend(asker.client, asker.cost, now);
}

HistoryQueryWorker::Reply HistoryQueryWorker::ask(const std::string& key, const Asker& asker,
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
      if (!shared_->has_room(asker.client)) {
        out.state = State::kBusy;
        return out;
      }
      if (!start()) {
        out.state = State::kNoThread;
        return out;
      }
      Job added;
      added.key = key;
      added.asker = asker;
      added.question = std::move(question);
      job = &shared_->jobs.emplace_back(std::move(added));
      shared_->changed.notify_all();
    } else if (job->question && shared_->must_fetch(job->asker)) {
      // It does not wait for what another client leaves.
      job->asker = asker;
      shared_->changed.notify_all();
    }
    job->is_awaited = true;
    const bool is_answered =
        shared_->changed.wait_for(lock, timeout, [&] { return job->is_answered; });
    job->is_awaited = false;
    job->asked = std::chrono::steady_clock::now();
    if (!is_answered) {
      out.state = State::kRequested;
      return out;
    }
  }
  out.state = State::kAnswered;
  out.answer = std::move(job->answer);
  out.elapsed = job->elapsed;
  shared_->jobs.remove_if([&](const Job& each) { return &each == job; });
  shared_->changed.notify_all();
  return out;
}

bool HistoryQueryWorker::has_answer(const std::string& key) {
  const std::lock_guard lock(shared_->mutex);
  shared_->forget(std::chrono::steady_clock::now());
  const Job* const job = shared_->find(key);
  return job != nullptr && job->is_answered;
}

void HistoryQueryWorker::client_left(const ClientKey& client) {
  const std::lock_guard lock(shared_->mutex);
  shared_->jobs.remove_if([&](const Job& job) {
    return &job != shared_->running && !job.is_awaited && job.asker.cost != QueryCost::kOwn &&
           job.asker.client == client;
  });
  shared_->changed.notify_all();
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

bool HistoryQueryWorker::is_idle() const {
  const std::lock_guard lock(shared_->mutex);
  return std::all_of(shared_->jobs.begin(), shared_->jobs.end(),
                     [](const Job& job) { return job.is_answered; });
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
