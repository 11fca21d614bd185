package main

import (
	"os"
	"testing"
)

func TestFilesAreWhatTheSchemasSay(t *testing.T) {
	for _, file := range []string{"../cluster", "../../../format/onnx/goestimator_onnx", "../../../clusterruntime/rpcs/master", "../../../clusterruntime/rpcs/worker"} {
		want, err := generate(file + ".proto")
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file + ".pb.go")
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s.pb.go is not what the schema gives: run go generate in its package", file)
		}
	}
}
