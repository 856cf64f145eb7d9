// SPDX-License-Identifier: Apache-2.0
// Passes errors on, in a function that returns a Result:
//
//   JETMEM_TRY(run_sql(db, "BEGIN"));
//   JETMEM_ASSIGN(const auto times, BootTimes::load(db));
#pragma once

#include <utility>

#include "base/result.h"

#define JETMEM_JOIN_NOW(a, b) a##b
#define JETMEM_JOIN(a, b) JETMEM_JOIN_NOW(a, b)

// Returns the error of a Result, if it has one.
#define JETMEM_TRY(...) JETMEM_TRY_AS(JETMEM_JOIN(result_, __LINE__), __VA_ARGS__)
#define JETMEM_TRY_AS(result, ...) \
  if (auto result = (__VA_ARGS__); !result) return tl::unexpected(std::move(result).error())

// Likewise; if it has none, `target` is declared or assigned with the value.
#define JETMEM_ASSIGN(target, ...) \
  JETMEM_ASSIGN_AS(JETMEM_JOIN(result_, __LINE__), target, __VA_ARGS__)
#define JETMEM_ASSIGN_AS(result, target, ...)                      \
  auto result = (__VA_ARGS__);                                     \
  if (!(result)) return tl::unexpected(std::move(result).error()); \
  target = *std::move(result) /* NOLINT(bugprone-macro-parentheses) */
