# Read by CMake through CMAKE_PROJECT_INCLUDE: a mutant then costs one file of core and a link. The tests stay in batches.
cmake_language(DEFER CALL set_target_properties rematlas_core PROPERTIES UNITY_BUILD OFF)
