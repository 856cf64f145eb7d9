# SPDX-License-Identifier: Apache-2.0
# jetmem_probe_cuda: gpu.h and the kinds of memory that need CUDA's driver. It is found at run time;
# nothing of CUDA is needed to build this. For targets of the directory that includes this.
#
# The kernels' text goes into the program as a string.
set(jetmem_kernels_ptx_file ${CMAKE_CURRENT_LIST_DIR}/kernels.ptx)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${jetmem_kernels_ptx_file})
file(READ ${jetmem_kernels_ptx_file} jetmem_kernels_ptx)
configure_file(${CMAKE_CURRENT_LIST_DIR}/kernels_ptx.cc.in ${CMAKE_CURRENT_BINARY_DIR}/kernels_ptx.cc @ONLY)

file(GLOB_RECURSE jetmem_cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
add_library(jetmem_probe_cuda OBJECT ${jetmem_cuda_sources} ${CMAKE_CURRENT_BINARY_DIR}/kernels_ptx.cc)
target_link_libraries(jetmem_probe_cuda PUBLIC jetmem_options ${CMAKE_DL_LIBS})
target_compile_features(jetmem_probe_cuda PUBLIC cxx_std_17)
