# Target autoperfect::autoperfect, from the folder of the installed Python package. MLX is looked for next to it first.
include(CMakeFindDependencyMacro)
get_filename_component(autoperfect_package "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(MLX CONFIG QUIET HINTS "${autoperfect_package}/../mlx/share/cmake/MLX")
if(NOT MLX_FOUND)
  find_dependency(MLX CONFIG)
endif()

if(NOT TARGET autoperfect::autoperfect)
  add_library(autoperfect::autoperfect SHARED IMPORTED)
  set_target_properties(autoperfect::autoperfect PROPERTIES
    IMPORTED_LOCATION "${autoperfect_package}/libautoperfect${CMAKE_SHARED_LIBRARY_SUFFIX}"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_INCLUDE_DIRECTORIES "${autoperfect_package}/include;${autoperfect_package}/include/autoperfect"
    INTERFACE_LINK_LIBRARIES mlx)
endif()
