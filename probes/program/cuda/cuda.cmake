# SPDX-License-Identifier: Apache-2.0
# jetmem_probe_cuda: gpu.h and the kinds of memory that need CUDA's driver. It is found at run time;
# nothing of CUDA is needed to build this. For targets of the directory that includes this.
#
# The kernels' text goes into the program as a string.
set(jetmem_kernels_ptx_file ${CMAKE_CURRENT_LIST_DIR}/kernels.ptx)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${jetmem_kernels_ptx_file})
file(READ ${jetmem_kernels_ptx_file} jetmem_kernels_ptx)

# And, where CUDA's toolkit is, machine code for the GPUs of Orin, GH200, Thor and GB10, as far as
# the toolkit knows them: nothing is compiled on these.
set(jetmem_kernels_fatbin "")
if(NOT CMAKE_VERSION VERSION_LESS 3.17)
  find_package(CUDAToolkit QUIET)
endif()
if(CUDAToolkit_FOUND)
  set(jetmem_images "")
  foreach(sm 87 90 110 121)
    set(cubin ${CMAKE_CURRENT_BINARY_DIR}/kernels_${sm}.cubin)
    execute_process(COMMAND ${CUDAToolkit_BIN_DIR}/ptxas -arch=sm_${sm} -o ${cubin} ${jetmem_kernels_ptx_file}
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed)
      message(STATUS "jetmem-probe: this CUDA toolkit makes no machine code for sm_${sm}")
    else()
      list(APPEND jetmem_images --image3=kind=elf,sm=${sm},file=${cubin})
    endif()
  endforeach()
  set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/kernels.fatbin)
  execute_process(COMMAND ${CUDAToolkit_BIN_DIR}/fatbinary --create=${fatbin} ${jetmem_images}
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(jetmem_images AND NOT failed)
    file(READ ${fatbin} jetmem_kernels_fatbin HEX)
    string(REGEX REPLACE "(..)" "0x\\1," jetmem_kernels_fatbin "${jetmem_kernels_fatbin}")
  endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/kernels_code.cc.in ${CMAKE_CURRENT_BINARY_DIR}/kernels_code.cc @ONLY)

file(GLOB_RECURSE jetmem_cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
add_library(jetmem_probe_cuda OBJECT ${jetmem_cuda_sources} ${CMAKE_CURRENT_BINARY_DIR}/kernels_code.cc)
target_link_libraries(jetmem_probe_cuda PUBLIC jetmem_options ${CMAKE_DL_LIBS})
target_compile_features(jetmem_probe_cuda PUBLIC cxx_std_17)
