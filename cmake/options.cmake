# SPDX-License-Identifier: Apache-2.0
# Compiler flags shared by every room.
add_library(jetmem_options INTERFACE)
target_include_directories(jetmem_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(jetmem_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  -fno-omit-frame-pointer -ffunction-sections -fdata-sections)
target_link_options(jetmem_options INTERFACE -Wl,--gc-sections -Wl,--as-needed)
# In a unit of several files, a name of one would shadow that of another: only locals of locals are looked at there, and
# builds of each file alone check the rest. GCC's -Wshadow counts a constructor's parameters; Clang, which builds so in CI, is asked to.
if(NOT JETMEM_UNITY)
  target_compile_options(jetmem_options INTERFACE -Wshadow
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wshadow-field-in-constructor>)
else()
  target_compile_options(jetmem_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wshadow=local>)
endif()
# GCC 12 takes std::string's operator+ for an overlapping copy (its bug 105329), and with more inlined
# sees bounds crossed in it (105651): those it may tell, but they stop no build.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(jetmem_options INTERFACE
    -Wno-restrict -Wno-error=array-bounds -Wno-error=stringop-overflow)
endif()
if(JETMEM_WERROR)
  target_compile_options(jetmem_options INTERFACE -Werror)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(jetmem_options INTERFACE -fstack-protector-strong)
  target_compile_options(jetmem_options INTERFACE -U_FORTIFY_SOURCE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:JETMEM_UNOPTIMIZED>>>:-D_FORTIFY_SOURCE=2>)
  target_link_options(jetmem_options INTERFACE -Wl,-z,relro,-z,now
    $<IF:$<AND:$<BOOL:$<TARGET_PROPERTY:JETMEM_STATIC>>,$<NOT:$<BOOL:${JETMEM_SANITIZE}>>>,-static-pie,-pie>)
endif()
# Set by cmake/portable.cmake.
if(JETMEM_PORTABLE)
  # The compiler is told where these are (-nostdinc); another mention would put them before the headers of C++.
  list(APPEND CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_SYSROOT}/usr/include)
  list(APPEND CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_SYSROOT}/usr/include)
  add_library(jetmem_newer_glibc OBJECT ${PROJECT_SOURCE_DIR}/cmake/newer_glibc.c)
  target_link_libraries(jetmem_options INTERFACE $<TARGET_OBJECTS:jetmem_newer_glibc>)
  # In a static program it would bring back shared libraries.
  target_link_options(jetmem_options INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:JETMEM_STATIC>>>:-static-libstdc++>)
  # libarchive's libraries use C++ too: for them the linker would export, and so keep, all of libstdc++.
  target_link_options(jetmem_options INTERFACE -Wl,--exclude-libs,libstdc++.a)
endif()
if(JETMEM_SANITIZE)
  set(checks ${JETMEM_SANITIZE})
  # Half of what this costs to compile: UBSan in the tests' own code, and whether each pointer is aligned, or null,
  # which AddressSanitizer reports anyway. Checked nightly.
  if(JETMEM_QUICK AND checks STREQUAL "address,undefined")
    set(checks "address$<$<NOT:$<BOOL:$<TARGET_PROPERTY:JETMEM_UNOPTIMIZED>>>:$<COMMA>undefined>")
  endif()
  target_compile_options(jetmem_options INTERFACE -fsanitize=${checks} -fno-sanitize-recover=all)
  if(NOT checks STREQUAL JETMEM_SANITIZE)
    target_compile_options(jetmem_options INTERFACE -fno-sanitize=null,alignment)
  endif()
  target_link_options(jetmem_options INTERFACE -fsanitize=${JETMEM_SANITIZE})
  # These programs are large, and there are sixty of them: GNU's linker takes ten times as long.
  find_program(JETMEM_LLD ld.lld)
  if(JETMEM_LLD)
    target_link_options(jetmem_options INTERFACE -fuse-ld=lld)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(jetmem_options INTERFACE
      -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitize-ignore.txt)
  endif()
endif()
if(JETMEM_FUZZ)
  # What it knows of the tests' own code guides no fuzzer.
  target_compile_options(jetmem_options INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:JETMEM_UNOPTIMIZED>>>:-fsanitize=fuzzer-no-link>)
endif()

# jetmem_room(NAME uses...): the library of one room, from every .cc in its folder. Programs' main
# files are named main.cc and left out, like all in a folder named program/. A new source file needs
# no edit here.
function(jetmem_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$|/program/")
  add_library(jetmem_${name} STATIC ${sources})
  target_link_libraries(jetmem_${name} PUBLIC jetmem_options)
  foreach(room IN LISTS ARGN)
    target_link_libraries(jetmem_${name} PUBLIC jetmem_${room})
  endforeach()
  # What runs each second, or for each scrape, is compiled for speed; the rest for size, as it mostly only
  # lies in memory.
  set(kind small)
  if(JETMEM_QUICK OR name MATCHES "^(base|metrics|collectors|health|rules)$")
    set(kind rooms)
  else()
    target_compile_options(jetmem_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
  endif()
  if(name STREQUAL "cli")
    # Apart: curses defines _XOPEN_SOURCE.
    jetmem_precompile(jetmem_cli cli <nlohmann/json.hpp>)
    jetmem_unity(jetmem_cli)
  else()
    jetmem_precompile(jetmem_${name} ${kind})
    # More would save more, but a change to one file costs all of its unit.
    jetmem_unity(jetmem_${name} 12)
  endif()
endfunction()
