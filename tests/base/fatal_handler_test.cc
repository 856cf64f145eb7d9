// SPDX-License-Identifier: Apache-2.0
#include "base/fatal_handler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <exception>
#include <new>
#include <stdexcept>

namespace jetmem {
namespace {

void put_terminal_right() { (void)!::write(STDERR_FILENO, "(first act)", 11); }

// As operator new does it: a sanitizer ends a program that asks for too much in its own way.
void refuse() {
  if (std::get_new_handler() != nullptr) std::get_new_handler()();
}

TEST(LastWords, MemoryThatIsRefused) {
  EXPECT_EXIT(refuse(), ::testing::ExitedWithCode(kExitNoMemory), "^[^\n]*out of memory[^\n]*\n$");
}

TEST(LastWords, AnActBeforeThem) {
  EXPECT_EXIT(
      {
        set_fatal_cleanup(put_terminal_right);
        refuse();
      },
      ::testing::ExitedWithCode(kExitNoMemory), "^\\(first act\\)[^\n]*out of memory");
}

// gtest catches what a test throws, but not what leaves a noexcept function.
void fail() { throw std::runtime_error("of the test"); }
void let_it_out() noexcept { fail(); }

TEST(LastWords, AnExceptionThatNobodyCatches) {
  EXPECT_DEATH(
      {
        set_fatal_cleanup(put_terminal_right);
        let_it_out();
      },
      "^\\(first act\\)[^\n]*a mistake in it, please report it: of the test, on the thread ");
}

}  // namespace
}  // namespace jetmem
