// Package collective lets workers compute together: all-reduce, broadcast and
// all-gather over the streams of package cluster.
package collective
