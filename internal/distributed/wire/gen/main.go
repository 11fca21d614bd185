// Command gen writes the Go code of a .proto file. It combines protoc and protoc-gen-go, at the versions that its go.mod pins, so that nothing
// has to be installed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	_ "github.com/wamuir/graft/tensorflow/core/framework/device_attributes_go_proto" // TensorFlow's messages
	_ "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
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

// registered resolves imports among the files whose Go code is in this program.
func registered(path string) (protocompile.SearchResult, error) {
	d, err := protoregistry.GlobalFiles.FindFileByPath(path)
	return protocompile.SearchResult{Desc: d}, err
}

// generate returns the Go code of a .proto file. It may import registered files.
func generate(path string) (string, error) {
	name := filepath.Base(path)
	c := protocompile.Compiler{
		Resolver:       protocompile.CompositeResolver{&protocompile.SourceResolver{ImportPaths: []string{filepath.Dir(path)}}, protocompile.ResolverFunc(registered)},
		SourceInfoMode: protocompile.SourceInfoStandard, // comments
	}
	files, err := c.Compile(context.Background(), name)
	if err != nil {
		return "", err
	}
	parameter := "paths=source_relative"
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name}, Parameter: &parameter,
		ProtoFile: withImports(files[0], map[string]bool{}),
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

// withImports returns a file after all its imports.
func withImports(f protoreflect.FileDescriptor, seen map[string]bool) (all []*descriptorpb.FileDescriptorProto) {
	if seen[f.Path()] {
		return nil
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		all = append(all, withImports(f.Imports().Get(i).FileDescriptor, seen)...)
	}
	p := protodesc.ToFileDescriptorProto(f)
	if name, ok := strings.CutPrefix(p.GetOptions().GetGoPackage(), "github.com/tensorflow/tensorflow/tensorflow/go/"); ok {
		p.Options.GoPackage = proto.String("github.com/wamuir/graft/tensorflow/" + name) // the package with their Go code
	}
	return append(all, p)
}
