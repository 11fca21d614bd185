//go:build !nogpu

package cuda

// held reports whether this binary holds what GPUs take; where it does not, none is looked for.
const held = true
