# sailor-trainer-gpu: the objects of sailor-trainer, and the half of LibTorch for GPUs with NCCL. Two files know of CUDA;
# all others are compiled once for both programs.
set(SAILOR_CUDA "${CMAKE_SOURCE_DIR}/.deps/cuda/nvidia")
if(NOT EXISTS "${SAILOR_CUDA}/nccl/include/nccl.h")
  message(FATAL_ERROR "no CUDA libraries in ${SAILOR_CUDA}: run make gpu, or scripts/setup.sh cuda")
endif()
file(GLOB SAILOR_CUDA_FOLDERS "${SAILOR_CUDA}/*/lib")
list(APPEND SAILOR_CUDA_FOLDERS "${SAILOR_LIBTORCH}/nvidia/cu13/lib")
list(JOIN SAILOR_CUDA_FOLDERS ":" SAILOR_CUDA_PATH)

# An object library: comm/nccl.cc comes before comm/no_nccl.cc of the archive, whatever the order of linking.
add_library(sailor_trainer_cuda OBJECT comm/nccl.cc device/cuda_flags.cc)
add_library(sailor::trainer_cuda ALIAS sailor_trainer_cuda)
execute_process(
  COMMAND grep -a -o -E -m1 "arch=compute_[0-9a-z]+,code=sm_[-0-9a-z_=,;]+" "${SAILOR_TORCH_LIB}/libtorch_cuda.so"
  OUTPUT_VARIABLE SAILOR_CUDA_FLAGS OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE ";" " " SAILOR_CUDA_FLAGS "${SAILOR_CUDA_FLAGS}")
target_compile_definitions(sailor_trainer_cuda PRIVATE USE_C10D_NCCL "SAILOR_CUDA_FLAGS=\"${SAILOR_CUDA_FLAGS}\"")
target_include_directories(sailor_trainer_cuda SYSTEM PRIVATE
  "${SAILOR_LIBTORCH}/nvidia/cu13/include" "${SAILOR_CUDA}/cu13/include" "${SAILOR_CUDA}/nccl/include")
target_link_libraries(sailor_trainer_cuda PRIVATE sailor_options sailor::torch)
# LibTorch's half registers itself when it is loaded, so the linker may not leave it out.
target_link_libraries(sailor_trainer_cuda INTERFACE
  -Wl,--no-as-needed "${SAILOR_TORCH_LIB}/libtorch_cuda.so" "${SAILOR_TORCH_LIB}/libc10_cuda.so" -Wl,--as-needed)
target_link_options(sailor_trainer_cuda INTERFACE "-Wl,--disable-new-dtags,-rpath-link,${SAILOR_CUDA_PATH}")

set_target_properties(sailor_trainer_cuda PROPERTIES SAILOR_CUDA_FOLDERS "${SAILOR_CUDA_FOLDERS}")

# In an image, the libraries lie below lib/sailor as in their wheels (docker/image_root.py).
set(SAILOR_CUDA_INSTALLED "$ORIGIN/../lib/sailor/torch/lib")
install(DIRECTORY "${SAILOR_TORCH_LIB}/" DESTINATION lib/sailor/torch/lib COMPONENT trainer EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.so*" PATTERN "libtorch_python.so" EXCLUDE)
foreach(folder IN LISTS SAILOR_CUDA_FOLDERS)
  string(REGEX REPLACE "^.*/nvidia/" "lib/sailor/nvidia/" installed "${folder}")
  list(APPEND SAILOR_CUDA_INSTALLED "$ORIGIN/../${installed}")
  install(DIRECTORY "${folder}/" DESTINATION "${installed}" COMPONENT trainer EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.so*")
endforeach()
list(REMOVE_DUPLICATES SAILOR_CUDA_INSTALLED)
set_target_properties(sailor_trainer_cuda PROPERTIES SAILOR_CUDA_INSTALLED "${SAILOR_CUDA_INSTALLED}")

# Lets a program that is linked with sailor::trainer_cuda find CUDA's libraries. They lie in folders of their own: an RPATH
# leads there from every library, a RUNPATH would only from the program. In the bundle (scripts/gpu_bundle.sh) there are no such
# folders, and run.sh finds the libraries of the machine's PyTorch.
function(sailor_find_cuda target)
  get_target_property(folders sailor_trainer_cuda SAILOR_CUDA_FOLDERS)
  get_target_property(installed sailor_trainer_cuda SAILOR_CUDA_INSTALLED)
  set_target_properties(${target} PROPERTIES BUILD_RPATH "${folders}" INSTALL_RPATH "${installed}" LINKER_LANGUAGE CXX)
  install(TARGETS ${target} RUNTIME DESTINATION bin COMPONENT gpu-bundle EXCLUDE_FROM_ALL)
endfunction()

sailor_executable(sailor-trainer-gpu
  SOURCES $<TARGET_OBJECTS:sailor-trainer>
  LINK sailor::trainer_cuda sailor::trainer_agent sailor::core_manifest sailor::core_command_line)
sailor_find_cuda(sailor-trainer-gpu)
install(TARGETS sailor RUNTIME DESTINATION bin COMPONENT gpu-bundle EXCLUDE_FROM_ALL)

install(TARGETS sailor-trainer-gpu RUNTIME COMPONENT trainer EXCLUDE_FROM_ALL)
