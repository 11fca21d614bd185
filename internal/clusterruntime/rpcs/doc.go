// Package rpcs has the messages of TensorFlow's MasterService, WorkerService and EagerService, generated from master.proto, worker.proto and eager.proto.
//
// Field numbers are TensorFlow's. The names of the messages are not registered under its package, which other
// modules may register.
package rpcs

//go:generate go -C ../../distributed/wire/gen run . -in ../../../clusterruntime/rpcs/master.proto -out ../../../clusterruntime/rpcs/master.pb.go
//go:generate go -C ../../distributed/wire/gen run . -in ../../../clusterruntime/rpcs/worker.proto -out ../../../clusterruntime/rpcs/worker.pb.go
//go:generate go -C ../../distributed/wire/gen run . -in ../../../clusterruntime/rpcs/eager.proto -out ../../../clusterruntime/rpcs/eager.pb.go
