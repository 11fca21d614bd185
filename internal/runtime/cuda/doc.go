// Package cuda computes on NVIDIA GPUs: Open makes a Device, an engine.Accelerator. Detect looks what a machine offers and says
// why there is nothing.
//
// Memory of a Device is zeroed and aligned to 256 bytes. Its streams copy through page-locked staging memory, or directly from
// and to memory of Device.AllocHost. A program's operations are lowered to launches (package lower); a segment of them is issued
// one by one the first time for a batch size, captured as a graph the second time, and replayed from then on. Kernels that are
// generated for a program are compiled as one module, and kept in the user's cache directory.
//
// A fault that kernels find (an index out of range) comes from Synchronize and leaves variables as they were. An error after
// which the driver refuses all calls makes the device lost: device.ErrLost.
//
// Parts: dylib finds shared libraries, driver and its implementations talk to GPUs, nvrtc compiles, kernels holds the own
// kernels, lower turns operations into launches, cublaslt, cudnn and nccl use NVIDIA's libraries, emulate runs own kernels on
// the processor.
package cuda
