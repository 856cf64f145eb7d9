# SPDX-License-Identifier: Apache-2.0
# CMake's unity build: several files are compiled as one, so that their headers are parsed and the templates
# they share are compiled once. For the first build of scripts/run and for CI, where nothing is cached. All
# other builds compile each file by itself, which proves that it includes what it needs.
#
# So two files of a room (in cli/, probes/program/ and tests/, of a folder) must not define the same name in
# their unnamed namespaces, nor one that a header has: it would hide the header's from the files behind it.
option(JETMEM_UNITY "Compile several files as one: for first builds" OFF)

# jetmem_unity(TARGET [FILES]): for a target of this folder. So many files are one, in the order of their paths;
# without FILES those of each folder.
function(jetmem_unity target)
  if(NOT JETMEM_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  if(ARGN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${ARGN})
  else()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
      cmake_path(GET path PARENT_PATH folder)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE group)
      string(REPLACE "/" "_" group "${group}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
  endif()
  # To GCC, a file that is included is a header, whose classes must have no unnamed namespace's members.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

# jetmem_compile_alone(files...): of this folder or below; patterns such as proc/*.cc are resolved.
function(jetmem_compile_alone)
  file(GLOB alone CONFIGURE_DEPENDS ${ARGN})
  set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
