# One layout for the build tree and the wheel: a package folder with the Python files, the module, the library, the CLI
# and the worker side by side, so that each finds the others next to itself. In the build tree it is python/autoperfect,
# and `./dev` puts build/release/python on the path of its environment.
set(package_dir ${CMAKE_CURRENT_BINARY_DIR}/python/autoperfect)
set(package_targets "")
foreach(target autoperfect autoperfect-cli autoperfect-worker _core)
  if(TARGET ${target})
    list(APPEND package_targets ${target})
  endif()
endforeach()

foreach(target ${package_targets})
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${package_dir}
    RUNTIME_OUTPUT_DIRECTORY ${package_dir}
    INSTALL_RPATH "$ORIGIN;$ORIGIN/../mlx/lib"
    INSTALL_RPATH_USE_LINK_PATH OFF)
  install(TARGETS ${target} LIBRARY DESTINATION autoperfect RUNTIME DESTINATION autoperfect)
endforeach()

# bin/autoperfect in the build tree is the CLI.
if(NOT EXISTS ${CMAKE_CURRENT_BINARY_DIR}/bin)
  file(CREATE_LINK ${package_dir} ${CMAKE_CURRENT_BINARY_DIR}/bin SYMBOLIC)
endif()

# Python files as links: an edit needs no build, a new file is linked by the next one.
file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/python/autoperfect
  python/autoperfect/*.py python/autoperfect/*.pyi python/autoperfect/py.typed)
foreach(file ${python_files})
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY ${package_dir}/${folder})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/python/autoperfect/${file} ${package_dir}/${file} SYMBOLIC)
endforeach()

# For C++ users: find_package(autoperfect) with the package folder as its root.
install(DIRECTORY src/ DESTINATION autoperfect/include/autoperfect FILES_MATCHING PATTERN "*.h" PATTERN "*.def"
  PATTERN "prelude" EXCLUDE PATTERN "cli" EXCLUDE PATTERN "python" EXCLUDE)
install(FILES include/autoperfect/autoperfect.h DESTINATION autoperfect/include/autoperfect)
configure_file(cmake/autoperfect-config-version.cmake.in autoperfect-config-version.cmake @ONLY)
install(FILES cmake/autoperfect-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/autoperfect-config-version.cmake
  DESTINATION autoperfect/share/cmake/autoperfect)
