package wire

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var update = flag.Bool("update", false, "write testdata/schema.txt; only to add fields, or with a new version of the greeting")

// schema lists messages, fields and values of enums.
func schema() string {
	var b strings.Builder
	messages := File_cluster_proto.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		fmt.Fprintf(&b, "message %s%s\n", m.Name(), reserved(m.ReservedRanges()))
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			of := f.Kind().String()
			switch f.Kind() {
			case protoreflect.MessageKind:
				of = string(f.Message().Name())
			case protoreflect.EnumKind:
				of = string(f.Enum().Name())
			}
			fmt.Fprintf(&b, "  %d %s %s %s\n", f.Number(), f.Cardinality(), of, f.Name())
		}
	}
	enums := File_cluster_proto.Enums()
	for i := range enums.Len() {
		e := enums.Get(i)
		fmt.Fprintf(&b, "enum %s\n", e.Name())
		for j := range e.Values().Len() {
			fmt.Fprintf(&b, "  %d %s\n", e.Values().Get(j).Number(), e.Values().Get(j).Name())
		}
	}
	return b.String()
}

func reserved(r protoreflect.FieldRanges) string {
	var b strings.Builder
	for i := range r.Len() {
		fmt.Fprintf(&b, " reserved %d to %d", r.Get(i)[0], r.Get(i)[1]-1)
	}
	return b.String()
}

func TestSchemaIsTheRecordedOne(t *testing.T) {
	const path = "testdata/schema.txt"
	if *update {
		if err := os.WriteFile(path, []byte(schema()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), schema()); d != "" {
		t.Errorf("the schema has changed (-recorded +now): a field may be added (go test ./internal/distributed/wire -update); "+
			"anything else needs a new version in cluster's greeting:\n%s", d)
	}
}
