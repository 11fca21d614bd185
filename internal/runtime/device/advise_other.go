//go:build !linux

package device

// adviseHugePages does nothing: other systems choose by themselves.
func adviseHugePages([]byte) {}

// discardPages does nothing: other systems may keep the contents, or the memory, despite such advice.
func discardPages([]byte) bool { return false }
