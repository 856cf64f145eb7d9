// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/query_worker.h"

#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace jetmem {

void QueryWorker::Shared::forget(Time now) {
  jobs.remove_if([&](const Job& job) {
    return &job != running && !job.is_awaited && now - job.asked > kForgotten;
  });
}

void QueryWorker::run(Shared& shared) {
  // On Linux of this thread alone.
  ::setpriority(PRIO_PROCESS, 0, shared.nice);
  std::unique_lock lock(shared.mutex);
  while (!shared.stopping) {
    shared.forget(std::chrono::steady_clock::now());
    const auto job = std::find_if(shared.jobs.begin(), shared.jobs.end(),
                                  [](const Job& each) { return each.query != nullptr; });
    if (job == shared.jobs.end()) {
      shared.changed.wait(lock);
      continue;
    }
    Query query = std::exchange(job->query, nullptr);
    shared.running = &*job;
    shared.begun = std::chrono::steady_clock::now();
    lock.unlock();
    std::any answer;
    Nanoseconds rest{0};
    try {
      answer = query(rest);
    } catch (const std::exception&) {
      // The asker gets State::kAnswered without a value.
      answer.reset();
    }
    query = nullptr;
    lock.lock();
    shared.running = nullptr;
    job->answer = std::move(answer);
    job->is_answered = true;
    job->asked = std::chrono::steady_clock::now();
    job->elapsed = std::chrono::ceil<Milliseconds>(job->asked - shared.begun);
    shared.changes.signal();
    shared.changed.notify_all();
    shared.changed.wait_for(lock, rest, [&] { return shared.stopping; });
  }
}

int QueryWorker::rank_of(const ClientKey* client) {
  if (client == nullptr) return 2;
  return client->is_local() ? 1 : 0;
}

// The thread is started by the first query: most daemons never receive one.
QueryWorker::Job* QueryWorker::add(const std::string& key, const ClientKey* client, Query query,
                                   State& state) {
  auto& jobs = shared_->jobs;
  const auto own = static_cast<std::size_t>(std::count_if(
      jobs.begin(), jobs.end(), [&](const Job& job) { return client && job.client == *client; }));
  const int rank = rank_of(client);
  const std::size_t most = rank == 0 ? options_.most : options_.most_with_local;
  if (client != nullptr && (jobs.size() >= most || (rank == 0 && own >= options_.most_of_client))) {
    state = State::kFull;
    return nullptr;
  }
  shared_->nice = options_.nice;
  if (!thread_.is_running() && !thread_.start(options_.thread, shared_, run)) {
    state = State::kNoThread;
    return nullptr;
  }
  const auto next = std::find_if(jobs.begin(), jobs.end(), [&](const Job& each) {
    return each.query != nullptr && rank_of(each.client ? &*each.client : nullptr) < rank;
  });
  Job& out = *jobs.emplace(next);
  out.key = key;
  if (client != nullptr) out.client = *client;
  out.query = std::move(query);
  shared_->changed.notify_all();
  return &out;
}

QueryWorker::Reply QueryWorker::ask(const std::string& key, const ClientKey* client, Query query,
                                    Milliseconds timeout) {
  Reply out;
  std::unique_lock lock(shared_->mutex);
  const auto now = std::chrono::steady_clock::now();
  shared_->forget(now);
  auto& jobs = shared_->jobs;
  const auto found =
      std::find_if(jobs.begin(), jobs.end(), [&](const Job& each) { return each.key == key; });
  Job* job = found == jobs.end() ? nullptr : &*found;
  if (job == nullptr || !job->is_answered) {
    if (shared_->running != nullptr && now - shared_->begun > kStuck) {
      out.state = State::kStuck;
      return out;
    }
    if (job == nullptr) job = add(key, client, std::move(query), out.state);
    if (job == nullptr) return out;
    job->is_awaited = true;
    const bool is_answered =
        timeout > Milliseconds(0) &&
        shared_->changed.wait_for(lock, timeout, [&] { return job->is_answered; });
    job->is_awaited = false;
    job->asked = std::chrono::steady_clock::now();
    if (!is_answered) return out;
  }
  out.state = State::kAnswered;
  out.answer = std::move(job->answer);
  out.elapsed = job->elapsed;
  jobs.remove_if([&](const Job& each) { return &each == job; });
  return out;
}

std::optional<QueryWorker::Milliseconds> QueryWorker::query_age() const {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->running == nullptr) return std::nullopt;
  return std::chrono::floor<Milliseconds>(std::chrono::steady_clock::now() - shared_->begun);
}

bool QueryWorker::stop(Milliseconds timeout) {
  // An idle thread ends at once, however busy the machine.
  if (!query_age()) timeout = std::max(timeout, Milliseconds(1'000));
  return thread_.stop(timeout);
}

}  // namespace jetmem
