// Package hostmemory reads from Linux how much memory this process may use.
package hostmemory
