# SPDX-License-Identifier: Apache-2.0
# A cross build for arm64 with Debian's g++-aarch64-linux-gnu, against libraries that
# scripts/unpack-root put below JETMEM_SYSROOT; scripts/package does both. Programs of the build
# that run during it (jetmem-manual) are run by qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(sysroot $ENV{JETMEM_SYSROOT})
if(NOT EXISTS ${sysroot}/usr/lib/aarch64-linux-gnu/libc.so)
  message(FATAL_ERROR "JETMEM_SYSROOT=${sysroot}: no arm64 libraries to link against there; scripts/package makes such a folder")
endif()
set(CMAKE_SYSROOT ${sysroot})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${sysroot})
set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(PKG_CONFIG_EXECUTABLE /usr/bin/pkg-config CACHE FILEPATH "" FORCE)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${sysroot})
set(ENV{PKG_CONFIG_LIBDIR} ${sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${sysroot}/usr/share/pkgconfig)
