// Package wire has the messages that the tasks of a job exchange.
//
// The schema is cluster.proto, protobuf package goestimator.cluster.v1; the Go code is
// generated from it by
//
//	go generate ./internal/distributed/wire
//
// whose gen/go.mod pins the versions of compiler and generator. All packages write and
// read messages with Encode and Decode:
//
//	frame.Header = wire.Encode(&wire.StatusRequest{Wait: true})
//	err := wire.Decode(frame.Header, &reply)
//
// A message is the header of a frame of package cluster, so its length is bounded by
// cluster.Config.MaxMessageBytes. Lists of numbers are packed fields, so that a
// message takes no more than eight times its length in memory; receivers check that
// lists that belong together have the same length, and every number before it is used.
//
// # Compatibility
//
// All tasks of a job run the same release. The greeting of package cluster has a version, and tasks of another version
// are refused with an error that says so. Within a version
//
//   - fields may be added: a task that does not know one skips it,
//   - a field that is removed leaves its number and name reserved,
//   - no field changes its number, its type or what it means, and a new field's
//     zero means what was meant without it.
//
// Any other change needs a new version. testdata/schema.txt is the schema of the
// present version; a test compares it.
package wire

//go:generate go -C gen run .
