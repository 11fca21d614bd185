package savedmodel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// FuzzRead: no bytes make Read panic, and assets stay below the model's directory.
func FuzzRead(f *testing.F) {
	root := filepath.Join(filepath.Dir(testkit.Root()), "shared", "golden", "tensorflow-serving")
	files, _ := filepath.Glob(filepath.Join(root, "*", "*", BinaryFile))
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil && len(b) < 10_000 {
			f.Add(b)
			f.Add(b[:len(b)/2])
		}
	}
	f.Add([]byte("\x08\x01\x12\x0a\x0a\x07\x22\x05serve\x12\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &Model{Dir: "/models/m/1", Proto: &pb.SavedModel{}, limits: Limits{}.orDefaults()}
		if err := m.parse(b, false); err != nil {
			return
		}
		for _, tags := range m.Tags() {
			g, err := m.MetaGraph(tags...)
			if err != nil {
				continue
			}
			for _, a := range g.Assets {
				if !strings.HasPrefix(a.Path, m.Dir+"/assets/") {
					t.Errorf("asset %s lies outside of the model", a.Path)
				}
			}
		}
		if _, err := proto.Marshal(m.Proto); err != nil {
			t.Error(err)
		}
	})
}
