// Command gen writes the Go code of a .proto file. It is protoc and protoc-gen-go
// in one, at the versions that its go.mod pins, so that nothing has to be installed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	in := flag.String("in", "../cluster.proto", "the .proto file")
	out := flag.String("out", "../cluster.pb.go", "the Go file")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	code, err := generate(in)
	if err != nil {
		return err
	}
	return os.WriteFile(out, []byte(code), 0o644)
}

// generate returns the Go code of a .proto file that imports nothing.
func generate(path string) (string, error) {
	name := filepath.Base(path)
	c := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{filepath.Dir(path)}},
		SourceInfoMode: protocompile.SourceInfoStandard, // comments
	}
	files, err := c.Compile(context.Background(), name)
	if err != nil {
		return "", err
	}
	parameter := "paths=source_relative"
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name}, Parameter: &parameter,
		ProtoFile: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(files[0])},
	})
	if err != nil {
		return "", err
	}
	plugin.SupportedFeatures, plugin.SupportedEditionsMinimum, plugin.SupportedEditionsMaximum =
		internal_gengo.SupportedFeatures, internal_gengo.SupportedEditionsMinimum, internal_gengo.SupportedEditionsMaximum
	internal_gengo.GenerateFile(plugin, plugin.FilesByPath[name])
	response := plugin.Response()
	if response.Error != nil {
		return "", errors.New(response.GetError())
	}
	return response.File[0].GetContent(), nil
}
