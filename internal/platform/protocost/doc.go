// Package protocost estimates the size of a protocol buffer message in memory before it is read.
package protocost
