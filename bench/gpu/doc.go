// Command gpu tests and measures goestimator on an NVIDIA GPU:
//
//	gpu test              trainings against the processor's, precisions, memory
//	gpu bench -python python3 -out results
//	gpu tables            docs/performance.md's tables from bench/results/gpu.json
//
// bench runs every case side by side with PyTorch (torch.compile with CUDA graphs), in alternating blocks of steps.
// Both start from the same weights and data, which are functions of an index and so need no files;
// the losses of the first steps are compared before anything is timed. Times are measured on the GPU, with events.
//
// scripts/gpu-build makes a folder with this command, the tests that use a GPU and the scripts that run them: all that a
// machine with a GPU needs besides Python with PyTorch, whose wheels include NVRTC, cuBLASLt and cuDNN.
//
// Exit codes: 0 success, 1 something failed, 3 there is no usable GPU. -emulate runs on the emulated GPU with tiny
// sizes: it tests the code, and its times mean nothing.
package main
