package savedmodel_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// TestFingerprint: the values are those of TensorFlow 2.15's CreateFingerprintDef for the same directory.
func TestFingerprint(t *testing.T) {
	dir, err := savedmodel.Write(atomicfile.OS{}, t.TempDir(), 1, whole())
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, savedmodel.FingerprintFile))
	if err != nil {
		t.Fatal(err)
	}
	var got pb.FingerprintDef
	if err := proto.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := &pb.FingerprintDef{SavedModelChecksum: 15488346063294122802, GraphDefProgramHash: 6625011073589504085, SignatureDefHash: 6657679604214921714,
		CheckpointHash: 9975562226434989103, Version: &versions_go_proto.VersionDef{Producer: 1}}
	if !proto.Equal(&got, want) {
		t.Errorf("got %v, expected %v", &got, want)
	}
	m, err := savedmodel.Read(dir, savedmodel.Limits{})
	if err != nil || !proto.Equal(m.Proto, small()) {
		t.Errorf("read %v, %v, expected %v", m, err, small())
	}
}
