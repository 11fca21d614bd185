package session

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/internal/savedmodel"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// collectionAssets is where graphs of TensorFlow 1 name their files, each an AssetFileDef within an Any.
const collectionAssets = "saved_model_assets"

// assets returns the files that the graph reads: those of the MetaGraphDef, else those of its collection.
func assets(mg *savedmodel.MetaGraph) ([]savedmodel.Asset, error) {
	if len(mg.Assets) > 0 {
		return mg.Assets, nil
	}
	var out []savedmodel.Asset
	for _, x := range mg.Proto.GetCollectionDef()[collectionAssets].GetAnyList().GetValue() {
		def := &pb.AssetFileDef{}
		if err := x.UnmarshalTo(def); err != nil {
			return nil, fmt.Errorf("collection %s: %w", collectionAssets, err)
		}
		name := def.GetFilename()
		if !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
			return nil, fmt.Errorf("collection %s: asset %q: expected a file name below %s/", collectionAssets, name, savedmodel.AssetsDir)
		}
		out = append(out, savedmodel.Asset{Tensor: def.GetTensorInfo().GetName(), Path: filepath.Join(mg.Dir, savedmodel.AssetsDir, name)})
	}
	return out, nil
}
