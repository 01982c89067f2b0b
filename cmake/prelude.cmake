# The kernel prelude travels inside the library as one string.
file(GLOB prelude_parts CONFIGURE_DEPENDS src/compile/cpu/prelude/*.h)
list(SORT prelude_parts)
set(prelude_cpp ${CMAKE_CURRENT_BINARY_DIR}/prelude_source.cpp)
add_custom_command(
  OUTPUT ${prelude_cpp}
  COMMAND ${CMAKE_COMMAND} -DOUT=${prelude_cpp} "-DPARTS=${prelude_parts}" -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_prelude.cmake
  DEPENDS ${prelude_parts} cmake/embed_prelude.cmake
  VERBATIM)
