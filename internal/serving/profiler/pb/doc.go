// Package pb has the messages of TensorFlow's ProfilerService, generated from profiler.proto, which describes them.
package pb

//go:generate go -C ../../../distributed/wire/gen run . -in ../../../serving/profiler/pb/profiler.proto -out ../../../serving/profiler/pb/profiler.pb.go
