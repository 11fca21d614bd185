//go:build nogpu

package cuda

const held = false
