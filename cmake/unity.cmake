# Several files as one unit: what their headers cost is paid once, which halves a build that has no
# ccache. Only for CI: that each file includes what it needs is seen in every other build, and in that of
# scripts/test --nightly.
#
# Which files may go together is settled by their contents when CMake runs, which it does after each edit.
option(JETMEM_UNITY "Compile files together where their names allow it: for CI, where nothing is cached" OFF)
if(JETMEM_UNITY)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

function(jetmem_unify_targets directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(STATIC_LIBRARY|EXECUTABLE)$")
      jetmem_unify(${target} ${directory})
    endif()
  endforeach()
  get_property(below DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS below)
    jetmem_unify_targets(${each})
  endforeach()
endfunction()

function(jetmem_unify target directory)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  foreach(source IN LISTS sources)
    get_filename_component(source ${source} ABSOLUTE BASE_DIR ${directory})
    list(APPEND paths ${source})
  endforeach()
  list(FILTER paths EXCLUDE REGEX "^${PROJECT_BINARY_DIR}/")
  list(LENGTH paths many)
  if(many LESS 2)
    return()
  endif()
  execute_process(COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/cmake/unity_groups.py 12 ${paths}
                  OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${paths})
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([0-9]+) (.*)$" _ "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} TARGET_DIRECTORY ${target}
                                PROPERTIES UNITY_GROUP ${target}_${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # To GCC, a file that is included is a header, whose classes must have no unnamed namespace's members.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()
