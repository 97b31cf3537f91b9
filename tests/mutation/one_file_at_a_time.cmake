# CMake reads this file through CMAKE_PROJECT_INCLUDE. It makes CMake compile each file of core by itself, so
# a mutant costs the build of one file and a link. The tests are still compiled in batches.
cmake_language(DEFER CALL set_target_properties rematlas_core PROPERTIES UNITY_BUILD OFF)
cmake_language(DEFER CALL set_target_properties rematlas_transfers PROPERTIES UNITY_BUILD OFF)
