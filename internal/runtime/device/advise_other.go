//go:build !linux

package device

// adviseHugePages does nothing: other systems choose by themselves.
func adviseHugePages([]byte) {}

// discardPages does nothing: elsewhere advice may leave the contents, or the memory, as they are.
func discardPages([]byte) bool { return false }
