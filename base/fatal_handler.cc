// SPDX-License-Identifier: Apache-2.0
#include "base/fatal_handler.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

namespace jetmem {
namespace {

std::atomic<void (*)()> first_act{nullptr};

void act_first() {
  if (auto* act = first_act.exchange(nullptr)) act();
}

void put(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

void put_thread() {
  char name[17] = "";
  ::prctl(PR_GET_NAME, name);
  put(" on the thread ");
  put(name);
  put("\n");
}

[[noreturn]] void end_without_memory() {
  act_first();
  put(program_invocation_short_name);
  put(": out of memory: the system refused it some; ends with status 71, needed");
  put_thread();
  ::_exit(kExitNoMemory);
}

[[noreturn]] void end() {
  act_first();
  const std::exception_ptr why = std::current_exception();
  try {
    if (why) std::rethrow_exception(why);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (const std::exception& error) {
    put(program_invocation_short_name);
    put(": a mistake in it, please report it: ");
    put(error.what());
    put(",");
    put_thread();
  } catch (...) {
  }
  std::abort();
}

}  // namespace

void install_fatal_handler() {
  std::set_new_handler(end_without_memory);
  std::set_terminate(end);
}

void set_fatal_cleanup(void (*act)()) { first_act = act; }

namespace {

// Before main, too, where the first objects are made.
__attribute__((constructor(101))) void begin() { install_fatal_handler(); }

}  // namespace
}  // namespace jetmem
