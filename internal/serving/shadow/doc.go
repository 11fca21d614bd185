// Package shadow sends copies of answered requests to another version of the model and compares the answers. The requests themselves
// wait for none of it: a copy for which there is no room is dropped, and counted.
package shadow
