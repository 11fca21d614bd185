//go:build !linux

package rawio

import "net"

// Wrap returns c.
func Wrap(c net.Conn) net.Conn { return c }
