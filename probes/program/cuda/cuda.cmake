# SPDX-License-Identifier: Apache-2.0
# jetmem_probe_gpu: the part of jetmem-probe that is gpu.h and the kinds of memory that need CUDA, or
# cuda_stub.cc. For targets of the directory that includes this.
#
# CUDA is not enabled as a language of CMake's: an old CMake knows neither a new toolkit's
# architectures nor its default. One file of kernels needs no more than one command.
set(JETMEM_CUDA AUTO CACHE STRING "Kinds of memory that need CUDA: AUTO (where it is found), ON or OFF")
set_property(CACHE JETMEM_CUDA PROPERTY STRINGS AUTO ON OFF)
set(JETMEM_CUDA_ARCHITECTURES "" CACHE STRING
    "Compute capabilities to have code for, such as 87;90; empty: all that the toolkit knows of those known here")
# nvcc takes only certain compilers for the part of a kernel's file that runs on the CPU. GCC of the
# rest of the program, where that is GCC; else what nvcc finds.
set(JETMEM_CUDA_HOST_COMPILER "" CACHE FILEPATH "The C++ compiler behind nvcc")

set(jetmem_cuda_sources ${CMAKE_CURRENT_LIST_DIR}/../cuda_stub.cc)
add_library(jetmem_probe_gpu INTERFACE)

# Sets `problem`, empty when kernels can be compiled, and then `nvcc`, the command with its flags,
# `nvcc_name` and `architectures`.
function(jetmem_find_cuda)
  set(problem "" PARENT_SCOPE)
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(problem "no CUDA toolkit with nvcc was found (CUDAToolkit_ROOT tells where to look)" PARENT_SCOPE)
    return()
  endif()
  if(NOT TARGET CUDA::cudart_static)
    set(problem "the CUDA toolkit ${CUDAToolkit_VERSION} has no libcudart_static.a" PARENT_SCOPE)
    return()
  endif()

  set(architectures ${JETMEM_CUDA_ARCHITECTURES})
  if(NOT architectures)
    # Nano, TX2, Xavier, then desktop and Orin (87), Thor (110; 101 before CUDA 13).
    set(architectures 53 62 72 75 80 86 87 89 90 110)
    if(CUDAToolkit_VERSION VERSION_LESS 13)
      list(APPEND architectures 101)
    endif()
    execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --list-gpu-code
                    OUTPUT_VARIABLE known ERROR_QUIET RESULT_VARIABLE failed)
    string(REGEX MATCHALL "sm_[0-9]+" known "${known}")
    if(failed OR NOT known)
      # Older than that option.
      set(known sm_53 sm_62 sm_72 sm_75)
      if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 11)
        list(APPEND known sm_80)
      endif()
    endif()
    set(wanted ${architectures})
    set(architectures)
    foreach(architecture IN LISTS wanted)
      if("sm_${architecture}" IN_LIST known)
        list(APPEND architectures ${architecture})
      endif()
    endforeach()
  endif()

  set(host "${JETMEM_CUDA_HOST_COMPILER}")
  if(NOT host AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(host ${CMAKE_CXX_COMPILER})
  endif()
  # Only real code: what is compiled on the device, at run time, would take seconds and memory.
  set(nvcc ${CUDAToolkit_NVCC_EXECUTABLE} -c -O2 -std=c++14 -Xcompiler -fPIE -Wno-deprecated-gpu-targets)
  if(host)
    list(APPEND nvcc -ccbin ${host})
  endif()
  foreach(architecture IN LISTS architectures)
    list(APPEND nvcc -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()

  # A compiler that nvcc does not take is found out here, not in the middle of a build.
  set(tried "${nvcc} ${CUDAToolkit_VERSION} ${CMAKE_CXX_COMPILER_VERSION}")
  if(NOT "${JETMEM_CUDA_TRIED}" STREQUAL "${tried}")
    set(trial ${CMAKE_CURRENT_BINARY_DIR}/cuda-trial)
    file(WRITE ${trial}.cu "__global__ void trial() {}\nvoid launch() { trial<<<1, 1>>>(); }\n")
    execute_process(COMMAND ${nvcc} -o ${trial}.o ${trial}.cu
                    OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
    if(failed)
      set(problem "nvcc ${CUDAToolkit_VERSION} does not compile (JETMEM_CUDA_HOST_COMPILER chooses its C++ compiler, JETMEM_CUDA_ARCHITECTURES the GPUs): ${said}" PARENT_SCOPE)
      return()
    endif()
    set(JETMEM_CUDA_TRIED "${tried}" CACHE INTERNAL "The nvcc that was seen to compile")
  endif()
  set(nvcc "${nvcc}" PARENT_SCOPE)
  set(nvcc_name "${CUDAToolkit_VERSION} (${CUDAToolkit_NVCC_EXECUTABLE})" PARENT_SCOPE)
  set(architectures "${architectures}" PARENT_SCOPE)
endfunction()

string(TOUPPER "${JETMEM_CUDA}" jetmem_cuda_wish)
if(jetmem_cuda_wish STREQUAL "AUTO" OR JETMEM_CUDA)
  jetmem_find_cuda()
  if(NOT problem)
    string(REPLACE ";" " " architectures "${architectures}")
    message(STATUS "jetmem-probe: WITH CUDA ${nvcc_name}, code for ${architectures}")
    set(kernels ${CMAKE_CURRENT_BINARY_DIR}/kernels.o)
    # The include directory is found from here, not from a target: nvcc is told nothing else.
    add_custom_command(
      OUTPUT ${kernels}
      COMMAND ${nvcc} -I${CMAKE_CURRENT_SOURCE_DIR}/../.. -o ${kernels} ${CMAKE_CURRENT_LIST_DIR}/kernels.cu
      DEPENDS ${CMAKE_CURRENT_LIST_DIR}/kernels.cu ${CMAKE_CURRENT_LIST_DIR}/kernels.h
      COMMENT "Compiling kernels.cu for ${architectures}" VERBATIM)
    set_source_files_properties(${kernels} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    set_property(SOURCE ${CMAKE_CURRENT_LIST_DIR}/session.cc APPEND PROPERTY
                 COMPILE_DEFINITIONS "JETMEM_CUDA_ARCHITECTURES=\"${architectures}\"")
    file(GLOB_RECURSE jetmem_cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
    list(APPEND jetmem_cuda_sources ${kernels})
    # The runtime opens the driver's library itself: the program starts where there is none.
    target_link_libraries(jetmem_probe_gpu INTERFACE CUDA::cudart_static ${CMAKE_DL_LIBS})
  elseif(jetmem_cuda_wish STREQUAL "AUTO" AND NOT JETMEM_CUDA_ARCHITECTURES)
    message(STATUS "jetmem-probe: WITHOUT CUDA: ${problem}")
  else()
    message(FATAL_ERROR "jetmem-probe: JETMEM_CUDA=${JETMEM_CUDA}, but ${problem}")
  endif()
else()
  message(STATUS "jetmem-probe: WITHOUT CUDA, as JETMEM_CUDA=${JETMEM_CUDA} says")
endif()
target_sources(jetmem_probe_gpu INTERFACE ${jetmem_cuda_sources})
