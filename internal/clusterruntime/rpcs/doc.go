// Package rpcs has the messages of TensorFlow's MasterService, WorkerService and EagerService, generated from master.proto, worker.proto and eager.proto.
//
// Field numbers are TensorFlow's. The messages are not registered under TensorFlow's package name, since other modules may register it.
package rpcs

//go:generate go -C ../../distributed/wire/gen run . -in ../../../clusterruntime/rpcs/master.proto -out ../../../clusterruntime/rpcs/master.pb.go
//go:generate go -C ../../distributed/wire/gen run . -in ../../../clusterruntime/rpcs/worker.proto -out ../../../clusterruntime/rpcs/worker.pb.go
//go:generate go -C ../../distributed/wire/gen run . -in ../../../clusterruntime/rpcs/eager.proto -out ../../../clusterruntime/rpcs/eager.pb.go
