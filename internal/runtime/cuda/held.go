//go:build !nogpu

package cuda

// held reports whether this binary has the code for GPUs. Without it, no GPU is looked for.
const held = true
