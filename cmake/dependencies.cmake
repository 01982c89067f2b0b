# MLX and nanobind come from the Python environment, the rest from the system.
find_package(Threads REQUIRED)
find_package(CURL QUIET)
find_package(Python 3.10 COMPONENTS Interpreter Development.Module REQUIRED)
execute_process(
  COMMAND ${Python_EXECUTABLE} -c "import importlib.util as u; print(list(u.find_spec('mlx').submodule_search_locations)[0])"
  OUTPUT_VARIABLE mlx_root OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
# MLX built with CUDA can only be found by a project that has the language.
file(READ ${mlx_root}/share/cmake/MLX/MLXConfig.cmake mlx_config)
if(mlx_config MATCHES "if\\(ON\\)[ \n]+find_dependency\\(CUDAToolkit")
  enable_language(CUDA)
endif()
find_package(MLX CONFIG REQUIRED HINTS ${mlx_root}/share/cmake/MLX)
if(AUTOPERFECT_PYTHON)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_root OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind CONFIG REQUIRED HINTS ${nanobind_root})
endif()
