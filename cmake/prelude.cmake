# The preludes of kernels travel inside the library, each as one string.
set(prelude_cpp "")
function(embed_prelude target function)
  file(GLOB parts CONFIGURE_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../src/compile/${target}/prelude/*.h)
  list(SORT parts)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DFUNCTION=${function} -DHEADER=compile/${target}/compile.h "-DPARTS=${parts}"
      -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed_prelude.cmake
    DEPENDS ${parts} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed_prelude.cmake
    VERBATIM)
  set(prelude_cpp ${prelude_cpp} ${out} PARENT_SCOPE)
endfunction()
embed_prelude(cpu prelude_source)
embed_prelude(cuda cuda_prelude_source)
