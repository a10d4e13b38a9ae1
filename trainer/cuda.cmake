# The half of LibTorch for GPUs, with NCCL. Three files know of it; all others are the same in every build.
set(SAILOR_CUDA "${CMAKE_SOURCE_DIR}/.deps/cuda/nvidia")
if(NOT EXISTS "${SAILOR_CUDA}/nccl/include/nccl.h")
  message(FATAL_ERROR "no CUDA libraries in ${SAILOR_CUDA}: run make gpu, or scripts/setup.sh cuda")
endif()
target_sources(sailor_trainer_core PRIVATE comm/nccl.cc)
set_source_files_properties(comm/gloo_group.cc comm/nccl.cc device.cc PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON
  COMPILE_DEFINITIONS "SAILOR_WITH_CUDA;USE_C10D_NCCL"
  COMPILE_OPTIONS "-isystem;${SAILOR_LIBTORCH}/nvidia/cu13/include;-isystem;${SAILOR_CUDA}/cu13/include;-isystem;${SAILOR_CUDA}/nccl/include")

# LibTorch's half registers itself when it is loaded, so the linker may not leave it out. What that half needs lies in
# folders of its own: an RPATH leads there from every library, a RUNPATH would only from the program.
file(GLOB SAILOR_CUDA_FOLDERS "${SAILOR_CUDA}/*/lib")
list(APPEND SAILOR_CUDA_FOLDERS "${SAILOR_LIBTORCH}/nvidia/cu13/lib")
list(JOIN SAILOR_CUDA_FOLDERS ":" SAILOR_CUDA_PATH)
target_link_options(sailor_torch INTERFACE
  "-Wl,--disable-new-dtags,-rpath,${SAILOR_CUDA_PATH},-rpath-link,${SAILOR_CUDA_PATH}")
target_link_libraries(sailor_torch INTERFACE
  -Wl,--no-as-needed "${SAILOR_TORCH_LIB}/libtorch_cuda.so" "${SAILOR_TORCH_LIB}/libc10_cuda.so" -Wl,--as-needed)
