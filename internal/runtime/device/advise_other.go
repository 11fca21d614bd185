//go:build !linux

package device

// adviseHugePages does nothing: other systems choose by themselves.
func adviseHugePages([]byte) {}
