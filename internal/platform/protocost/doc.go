// Package protocost says what a message of Protocol Buffers takes in memory, before it is read.
package protocost
