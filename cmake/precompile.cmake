# SPDX-License-Identifier: Apache-2.0
# Headers that nearly every file includes, parsed once instead of once for each file: a third of what a
# build without ccache takes. A plain build and scripts/test --nightly go without, which proves that each
# file includes what it needs.
#
# Not with ccache, which does not cache what uses them unless it is told to be less strict.
option(JETMEM_PRECOMPILE "Precompile common headers: for CI, where nothing is cached" OFF)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(JETMEM_PRECOMPILE OFF)
endif()

# jetmem_precompile(TARGET KIND headers...): targets of one KIND share them. They must be compiled with
# the same options but for -D and -I; macros of theirs must mean nothing to these headers.
function(jetmem_precompile target kind)
  if(NOT JETMEM_PRECOMPILE)
    return()
  endif()
  get_property(first GLOBAL PROPERTY jetmem_precompiled_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY jetmem_precompiled_${kind} ${target})
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <chrono> <cmath> <cstdint> <cstdio> <filesystem> <fstream> <functional> <map>
      <memory> <mutex> <optional> <span> <string> <string_view> <thread> <utility> <vector>
      <tl/expected.hpp> ${ARGN})
  endif()
endfunction()
