// Package cuda computes on NVIDIA GPUs: Open makes a Device, an engine.Accelerator. Detect reports what a machine has, or why
// no GPU can be used.
//
// Memory of a Device is zeroed and aligned to 256 bytes. Its streams copy through page-locked staging memory, or directly from
// and to memory of Device.AllocHost. A program's operations are lowered to launches (package lower). The launches of a segment
// are issued one by one the first time for a batch size, captured as a graph the second time, and replayed from then on.
// Kernels generated for a program are compiled as one module, and kept in the user's cache directory.
//
// Synchronize returns a fault that kernels find (an index out of range), and the fault leaves variables unchanged. If the
// driver refuses all calls after an error, the device is lost: device.ErrLost.
//
// Packages: dylib finds shared libraries, driver and its implementations talk to GPUs, nvrtc compiles, kernels has the own
// kernels, lower turns operations into launches, cublaslt, cudnn and nccl use NVIDIA's libraries, and emulate runs own kernels
// on the processor.
package cuda
