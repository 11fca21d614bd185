// Package pb has the messages of the Open Inference Protocol, generated from openinference.proto, which describes them.
package pb

//go:generate go -C ../../../distributed/wire/gen run . -in ../../../serving/openinference/pb/openinference.proto -out ../../../serving/openinference/pb/openinference.pb.go
