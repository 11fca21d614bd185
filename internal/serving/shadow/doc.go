// Package shadow sends copies of answered requests to another version of the model and compares the answers. The requests themselves
// never wait for this: copies for which there is no room are dropped and counted.
package shadow
