package main

import (
	"os"
	"testing"
)

func TestFileIsWhatTheSchemaSays(t *testing.T) {
	want, err := generate("../cluster.proto")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../cluster.pb.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("cluster.pb.go is not what cluster.proto gives: go generate ./internal/distributed/wire")
	}
}
