# Imports the core and the command line from the build in REMATLAS_CORE_BUILD. The programs of that build are
# copied into this build's folder of programs, because each program looks for the other programs in its own
# folder.
find_package(nlohmann_json 3.11 REQUIRED)
include(${REMATLAS_CORE_BUILD}/core_targets.cmake)
set(_made)
foreach(program rematlas rematlas-layout)
  if(TARGET ${program})
    get_target_property(_program ${program} LOCATION)
    list(APPEND _made ${_program})
    string(TOUPPER "${CMAKE_BUILD_TYPE}" _type)
    set_target_properties(${program} PROPERTIES IMPORTED_LOCATION_${_type} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program})
  endif()
endforeach()
add_custom_target(copied_programs COMMAND ${CMAKE_COMMAND} -E copy_if_different ${_made} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
