# sailor-trainer-gpu: the objects of sailor-trainer, and the half of LibTorch for GPUs with NCCL. One file knows of CUDA;
# all others are compiled once for both programs.
set(SAILOR_CUDA "${CMAKE_SOURCE_DIR}/.deps/cuda/nvidia")
if(NOT EXISTS "${SAILOR_CUDA}/nccl/include/nccl.h")
  message(FATAL_ERROR "no CUDA libraries in ${SAILOR_CUDA}: run make gpu, or scripts/setup.sh cuda")
endif()
file(GLOB SAILOR_CUDA_FOLDERS "${SAILOR_CUDA}/*/lib")
list(APPEND SAILOR_CUDA_FOLDERS "${SAILOR_LIBTORCH}/nvidia/cu13/lib")
list(JOIN SAILOR_CUDA_FOLDERS ":" SAILOR_CUDA_PATH)

# An object library: comm/nccl.cc comes before comm/no_nccl.cc of the archive, whatever the order of linking.
add_library(sailor_trainer_cuda OBJECT comm/nccl.cc)
add_library(sailor::trainer_cuda ALIAS sailor_trainer_cuda)
target_compile_definitions(sailor_trainer_cuda PRIVATE USE_C10D_NCCL)
target_include_directories(sailor_trainer_cuda SYSTEM PRIVATE
  "${SAILOR_LIBTORCH}/nvidia/cu13/include" "${SAILOR_CUDA}/cu13/include" "${SAILOR_CUDA}/nccl/include")
target_link_libraries(sailor_trainer_cuda PRIVATE sailor_options sailor::torch)
# LibTorch's half registers itself when it is loaded, so the linker may not leave it out. What that half needs lies in
# folders of its own: an RPATH leads there from every library, a RUNPATH would only from the program.
target_link_libraries(sailor_trainer_cuda INTERFACE
  -Wl,--no-as-needed "${SAILOR_TORCH_LIB}/libtorch_cuda.so" "${SAILOR_TORCH_LIB}/libc10_cuda.so" -Wl,--as-needed)
target_link_options(sailor_trainer_cuda INTERFACE
  "-Wl,--disable-new-dtags,-rpath,${SAILOR_CUDA_PATH},-rpath-link,${SAILOR_CUDA_PATH}")

sailor_executable(sailor-trainer-gpu
  SOURCES $<TARGET_OBJECTS:sailor-trainer>
  LINK sailor::trainer_cuda sailor::trainer_agent sailor::core_manifest CLI11::CLI11)
set_target_properties(sailor-trainer-gpu PROPERTIES LINKER_LANGUAGE CXX)
