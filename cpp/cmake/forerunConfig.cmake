# The CMake package of Forerun: the target forerun::forerun, the shared library with its headers for C11 and C++17.

get_filename_component(forerun_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(APPLE)
  set(forerun_library "${forerun_prefix}/lib/libforerun.dylib")
else()
  set(forerun_library "${forerun_prefix}/lib/libforerun.so")
endif()
if(NOT EXISTS "${forerun_library}")
  set(forerun_FOUND FALSE)
  set(forerun_NOT_FOUND_MESSAGE "${forerun_library} does not exist")
  return()
endif()

if(NOT TARGET forerun::forerun)
  add_library(forerun::forerun SHARED IMPORTED)
  set_target_properties(forerun::forerun PROPERTIES
    IMPORTED_LOCATION "${forerun_library}"
    INTERFACE_INCLUDE_DIRECTORIES "${forerun_prefix}/include")
  get_property(forerun_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("CXX" IN_LIST forerun_languages)
    set_property(TARGET forerun::forerun PROPERTY INTERFACE_COMPILE_FEATURES cxx_std_17)
  endif()
endif()
