# Finds the libtorch of a Python wheel without importing torch. If REMATLAS_PYTHON is set, its torch is used,
# otherwise the torch of .venv, otherwise that of python3.
#
# The module sets these variables:
#   TorchWheel_FOUND, TorchWheel_VERSION
#   TorchWheel_CUDA     major version of CUDA that the wheel was built with; empty if it has no CUDA
#   TorchWheel_ROOT     folder of the package torch
#   TorchWheel_PYTHON   interpreter that has the package
# and makes these targets:
#   TorchWheel::cpu    libtorch_cpu and libc10: needs no CUDA driver, starts fast
#   TorchWheel::cuda   adds libtorch_cuda and libc10_cuda (only if the wheel has them)
# The wheel's own TorchConfig.cmake is not used, because it fails without a CUDA toolkit and links
# libtorch_cuda into every target.

set(_torch_query "
import importlib.util, re, sys
spec = importlib.util.find_spec('torch')
if spec is None or not spec.submodule_search_locations:
    sys.exit(1)
root = spec.submodule_search_locations[0]
text = open(root + '/version.py').read()
print(root + ';' + re.search(r'__version__ = .(.+?).$', text, re.M).group(1))
")

set(REMATLAS_PYTHON "" CACHE FILEPATH "Interpreter whose torch is built against")
set(_pythons ${REMATLAS_PYTHON})
if(NOT REMATLAS_PYTHON)
  set(_pythons ${CMAKE_SOURCE_DIR}/.venv/bin/python python3)
endif()
foreach(_python ${_pythons})
  if(TorchWheel_PYTHON AND EXISTS ${TorchWheel_ROOT}/lib/libtorch_cpu.so)
    break()
  endif()
  execute_process(COMMAND ${_python} -c "${_torch_query}" OUTPUT_VARIABLE _torch_found OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET RESULT_VARIABLE _torch_status)
  if(_torch_status EQUAL 0)
    list(GET _torch_found 0 _torch_root)
    list(GET _torch_found 1 _torch_version)
    set(TorchWheel_ROOT ${_torch_root} CACHE PATH "Folder of the torch package")
    set(TorchWheel_PYTHON ${_python} CACHE STRING "Interpreter that has the torch package" FORCE)
    set(TorchWheel_VERSION ${_torch_version} CACHE STRING "Version of the torch package" FORCE)
    mark_as_advanced(TorchWheel_ROOT TorchWheel_VERSION TorchWheel_PYTHON)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
set(FPHSA_NAME_MISMATCHED TRUE)
find_package_handle_standard_args(TorchWheel REQUIRED_VARS TorchWheel_ROOT VERSION_VAR TorchWheel_VERSION)

if(TorchWheel_FOUND)
  file(STRINGS ${TorchWheel_ROOT}/version.py _torch_cuda REGEX "^cuda.*= '[0-9]+")
  string(REGEX REPLACE ".*= '([0-9]+).*" "\\1" TorchWheel_CUDA "${_torch_cuda}")
endif()

if(TorchWheel_FOUND AND NOT TARGET TorchWheel::cpu)
  foreach(_library c10 torch_cpu c10_cuda torch_cuda)
    if(EXISTS ${TorchWheel_ROOT}/lib/lib${_library}.so)
      add_library(TorchWheel::lib${_library} SHARED IMPORTED GLOBAL)
      set_target_properties(TorchWheel::lib${_library} PROPERTIES IMPORTED_LOCATION ${TorchWheel_ROOT}/lib/lib${_library}.so)
    endif()
  endforeach()

  add_library(TorchWheel::cpu INTERFACE IMPORTED GLOBAL)
  target_include_directories(TorchWheel::cpu SYSTEM INTERFACE
    ${TorchWheel_ROOT}/include ${TorchWheel_ROOT}/include/torch/csrc/api/include)
  # libtorch_cpu needs libraries in its own folder. The loader finds them at run time, so the linker may leave
  # their symbols unresolved.
  target_link_options(TorchWheel::cpu INTERFACE -Wl,--as-needed -Wl,--allow-shlib-undefined)
  target_link_libraries(TorchWheel::cpu INTERFACE TorchWheel::libtorch_cpu TorchWheel::libc10)

  if(TARGET TorchWheel::libtorch_cuda)
    add_library(TorchWheel::cuda INTERFACE IMPORTED GLOBAL)
    target_link_libraries(TorchWheel::cuda INTERFACE TorchWheel::cpu TorchWheel::libc10_cuda TorchWheel::libtorch_cuda)
  endif()
endif()
